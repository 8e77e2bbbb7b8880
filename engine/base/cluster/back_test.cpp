#include "cluster/back_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "cluster/terms.h"
#include "core/error.h"

namespace isobar {
namespace {

constexpr double kPerSecond = 1e6;
constexpr double kMoved = 0.05;
constexpr double kWithin = 0.25;
constexpr double kOutlier = 0.1;  ///< logarithm by which a point stands apart from its series
constexpr double kFaster = 0.03;  ///< so much faster than its anchor is more than noise
constexpr double kNear = 0.1;     ///< further off a point weighs ever less in the fit
constexpr double kSameRate = 0.005;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(at, 1, values.size()) - 1];
}

/// A rank's; the ranks of one model have its samples between them.
double samples_a_step(const TrainingJob& job) {
  return job.micro_batch * job.accumulate / (job.stages * job.tensor);
}

/// What a sample costs here, in units of what it costs in the anchor.
double work_ratio(const PublishedPoint& point, const PublishedPoint& anchor,
                  std::vector<std::string>& assumed) {
  double out = 1;
  const bool known = point.flops_per_sample > 0 && anchor.flops_per_sample > 0;
  if (known && point.flops_per_sample != anchor.flops_per_sample) {
    out *= point.flops_per_sample / anchor.flops_per_sample;
    assumed.push_back("a sample of its anchor takes other FLOPs: computing grows with them");
  } else if (!known && point.parameters != anchor.parameters) {
    out *= point.parameters / anchor.parameters;
    assumed.push_back("its anchor is of another model: computing grows with the parameters");
  }
  if (point.checkpoint != anchor.checkpoint) {
    out *= point.checkpoint ? 4.0 / 3 : 3.0 / 4;  // forward is computed twice
    assumed.push_back("checkpointing differs from its anchor's: a third more computing with it");
  }
  if (point.machine.gpu != anchor.machine.gpu && point.machine.peak_tflops > 0 &&
      anchor.machine.peak_tflops > 0) {
    out *= anchor.machine.peak_tflops / point.machine.peak_tflops;
    assumed.push_back("its anchor ran on another GPU: computing is as fast as the peaks are");
  }
  return out;
}

bool lacks_network(const PublishedPoint& point) {
  return point.gpus > point.machine.gpus_per_node && !knows_network(point.machine);
}

/// What is missing for a prediction; "" = nothing is.
std::string lacks(const PublishedPoint& point, const PublishedPoint& anchor) {
  if (point.parameters <= 0 || anchor.parameters <= 0) return "model.parameters is not stated";
  if (point.sample != anchor.sample) return "its anchor counts " + anchor.sample + "s";
  if (point.micro_batch <= 0 && anchor.micro_batch <= 0) return "job.micro_batch is not stated";
  if (point.tensor != anchor.tensor || anchor.context > 1) return "its anchor splits layers in another way";
  if (lacks_network(point)) return "machine.between_gb_s is not stated";
  return lacks_network(anchor) ? "machine.between_gb_s of its anchor is not stated" : "";
}

void predict(PointResult& out, const SimulationTerms& terms) {
  const PublishedPoint& point = *out.point;
  const PublishedPoint& anchor = *out.anchor;
  if (out.reason = lacks(point, anchor); !out.reason.empty()) return;
  std::vector<std::string> of_anchor;
  const TrainingJob from = job_of(anchor, of_anchor);
  TrainingJob job = job_of(point, out.assumed);
  if (point.micro_batch <= 0) {
    job.micro_batch = from.micro_batch;
    out.assumed.push_back("micro_batch is not stated: that of its anchor");
  }
  if (point.gpus > point.machine.gpus_per_node && point.gpus % point.machine.gpus_per_node != 0)
    out.assumed.push_back("its last node is not full: it is taken to be");
  if (point.machine.inside_gb_s <= 0 && point.machine.gpus_per_node > 1)
    out.assumed.push_back("inside_gb_s is not stated: links inside a node take no time");
  const double step_us = samples_a_step(from) / anchor.samples_per_s_per_gpu * kPerSecond;
  double of_anchor_us = calibrated_compute_us(anchor.machine, from, terms, step_us);
  double scale = 1;
  if (!(of_anchor_us > 0)) {  // links and updates alone take longer: they are quicker than stated, by so much
    of_anchor_us = step_us / from.accumulate / 2;
    scale = step_us / simulate_step(anchor.machine, from, terms, of_anchor_us).step_us();
    out.assumed.push_back(
        "its anchor is faster than its links and its update allow: both are taken to be as fast");
  }
  const double work = work_ratio(point, anchor, out.assumed);
  const double compute_us = of_anchor_us / from.micro_batch * job.micro_batch * work;
  const SimulatedStep step = simulate_step(point.machine, job, terms, compute_us);
  out.terms = step.terms;
  out.terms.scale(scale);
  out.predicted = samples_a_step(job) / (step.step_us() * scale) * kPerSecond;
  out.error = *out.predicted / point.samples_per_s_per_gpu - 1;
  out.null_error = anchor.samples_per_s_per_gpu / work / point.samples_per_s_per_gpu - 1;
}

PointResult result_of(const PublishedFile& file, const PublishedPoint& point, const SimulationTerms& terms) {
  PointResult out{.point = &point, .anchor = file.find(point.anchor)};
  if (!point.is_modelled()) {
    const bool is_split = point.kind == PointClass::dp || point.kind == PointClass::fsdp;
    out.reason =
        fmt::format("{}{} is not modelled yet", name_of(point.kind), is_split ? " with split models" : "");
  } else if (out.anchor == nullptr) {
    out.reason = "it has no anchor; others may have it as theirs";
  } else if (!out.anchor->is_modelled()) {
    out.reason = fmt::format("its anchor is {}, which is not modelled yet", name_of(out.anchor->kind));
  } else {
    try {
      predict(out, terms);
    } catch (const Error& error) {
      out.reason = error.what();
    }
  }
  return out;
}

/// Points of one anchor that differ in the number of GPUs only.
using Series = std::map<std::pair<const PublishedPoint*, std::string>, std::vector<PointResult*>>;

void flag_suspects(std::vector<PointResult>& results) {
  Series series;
  for (PointResult& result : results)
    if (result.predicted) series[{result.anchor, result.point->series}].push_back(&result);
  for (auto& [key, members] : series) {
    for (PointResult* const one : members) {
      const PublishedPoint& point = *one->point;
      const PublishedPoint* const anchor = key.first;
      const double faster = 1 / (1 + one->null_error) - 1;  // than the anchor, of equal work
      const bool same_work =
          point.micro_batch == anchor->micro_batch && point.accumulate == anchor->accumulate;
      if (point.gpus > anchor->gpus && same_work && faster > kFaster && one->error < -kFaster) {
        one->suspect =
            fmt::format("{:.0f} % faster a GPU on {} than its anchor on {}: other hardware, or another day",
                        100 * faster, point.gpus, anchor->gpus);
        continue;
      }
      if (members.size() < 2) continue;
      std::vector<double> others = {0};  // the anchor's
      for (const PointResult* const other : members)
        if (other != one) others.push_back(std::log1p(other->error));
      const double apart = std::log1p(one->error) - median_of(others);
      const bool others_agree = std::ranges::all_of(
          others, [&](double error) { return std::fabs(error - median_of(others)) < kOutlier / 2; });
      if (others_agree && std::fabs(apart) > kOutlier)
        one->suspect = fmt::format("{:.0f} % {} than the others of its series let expect",
                                   100 * std::fabs(std::expm1(-apart)), apart > 0 ? "slower" : "faster");
    }
  }
}

void count_pairs(const std::vector<const PointResult*>& results, ErrorFigures& out) {
  struct Rate {
    double published = 0, predicted = 0;
  };
  std::map<std::pair<const PublishedPoint*, std::string>, std::vector<Rate>> series;
  for (const PointResult* const one : results) {
    std::vector<Rate>& rates = series[{one->anchor, one->point->series}];
    if (rates.empty())
      rates.push_back({one->anchor->samples_per_s_per_gpu, one->anchor->samples_per_s_per_gpu});
    rates.push_back({one->point->samples_per_s_per_gpu, *one->predicted});
  }
  for (const auto& [key, rates] : series) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      for (std::size_t j = i + 1; j < rates.size(); ++j) {
        const double published = std::log(rates[i].published / rates[j].published);
        if (std::fabs(published) < kSameRate) continue;
        ++out.pairs;
        if (published * std::log(rates[i].predicted / rates[j].predicted) > 0) ++out.pairs_right;
      }
    }
  }
}

/// One term after the other to the best of its values, until none changes.
double walk_down(SimulationTerms& terms, const std::function<double(const SimulationTerms&)>& loss) {
  double least = loss(terms);
  const auto walk = [&](double& term, std::initializer_list<double> values) {
    double kept = term;
    for (const double value : values) {
      term = value;
      if (const double now = loss(terms); now < least - 1e-12) {
        least = now;
        kept = value;
      }
    }
    term = kept;
  };
  for (int round = 0; round < 6; ++round) {
    const double before = least;
    walk(terms.update, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    walk(terms.link.efficiency, {0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1});
    walk(terms.link.falloff, {0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2});
    walk(terms.link.gather_efficiency, {0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1});
    walk(terms.link.gather_falloff, {0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3});
    walk(terms.jitter, {0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.045, 0.05});
    walk(terms.sharing, {0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1});
    walk(terms.contention, {0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4});
    if (least > before - 1e-9) break;
  }
  return least;
}

}  // namespace

bool PointResult::is_moved() const { return std::fabs(null_error) > kMoved; }

std::optional<ErrorFigures> BackTest::errors(PointSplit split, std::optional<PointClass> kind) const {
  std::vector<const PointResult*> chosen;
  for (const PointResult& one : results)
    if (one.predicted && one.point->split == split && (!kind || one.point->kind == *kind))
      chosen.push_back(&one);
  if (chosen.empty()) return std::nullopt;
  std::vector<double> errors, null_errors, moved, moved_null;
  for (const PointResult* const one : chosen) {
    errors.push_back(std::fabs(one->error));
    null_errors.push_back(std::fabs(one->null_error));
    if (!one->is_moved()) continue;
    moved.push_back(errors.back());
    moved_null.push_back(null_errors.back());
  }
  ErrorFigures out{.points = chosen.size(),
                   .median = median_of(errors),
                   .nine_of_ten = quantile_of(errors, 0.9),
                   .null_median = median_of(null_errors),
                   .moved = moved.size(),
                   .moved_median = median_of(moved),
                   .moved_null_median = median_of(moved_null)};
  const auto near = std::ranges::count_if(errors, [](double error) { return error <= kWithin; });
  out.within_25 = static_cast<double>(near) / static_cast<double>(errors.size());
  count_pairs(chosen, out);
  return out;
}

BackTest back_test(const PublishedFile& file, const SimulationTerms& terms) {
  BackTest out;
  for (const PublishedPoint& point : file.points) out.results.push_back(result_of(file, point, terms));
  flag_suspects(out.results);
  return out;
}

std::vector<std::string> machines_of(const PublishedFile& file, PointSplit split) {
  std::set<std::string> out;
  for (const PublishedPoint& point : file.points)
    if (point.split == split) out.insert(point.machine.name);
  return {out.begin(), out.end()};
}

SimulationTerms fit_terms(const PublishedFile& file, const std::string& hidden) {
  PublishedFile known;
  for (const PublishedPoint& point : file.points)
    if (point.split == PointSplit::calibration && point.kind != PointClass::pp &&
        point.machine.name != hidden)
      known.points.push_back(point);  // no term is the pipelines' own
  const auto loss = [&](const SimulationTerms& terms) {
    double out = 0;
    for (const PointResult& one : back_test(known, terms).results)
      if (one.anchor != nullptr && one.point->is_modelled())
        out += std::log1p((one.predicted ? std::fabs(std::log1p(one.error)) : 1) / kNear);
    return out;
  };
  SimulationTerms best = fitted_terms();
  double least = loss(best);
  // Terms stand in for each other, so that one walk ends near where it began: several do, from afar.
  for (const double jitter : {0.01, 0.04}) {
    SimulationTerms terms = best;
    terms.jitter = jitter;
    terms.link.efficiency = 1;
    const double found = walk_down(terms, loss);
    if (found < least - 1e-12) {
      least = found;
      best = terms;
    }
  }
  return best;
}

}  // namespace isobar
