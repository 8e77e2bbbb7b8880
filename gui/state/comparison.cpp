#include "state/comparison.h"

#include <algorithm>
#include <tuple>

#include "core/text.h"
#include "log/run_files.h"

namespace isobar {
namespace {

constexpr std::size_t kMostTicked = 12;  // of more runs no repeats are looked for
constexpr std::size_t kMostBeside = 8;   // of one run

bool may_repeat(const RunEntry& one, const RunEntry& other) {
  const auto facts = [](const RunEntry& run) {
    const RunView& view = run.view;
    return std::tuple(view.lesson, view.provenance, view.preset, view.device, view.host, view.fault,
                      view.data_source, view.throttle_mb_per_s, view.summary.measure, view.summary.precision,
                      view.summary.world, view.summary.wanted_steps, view.summary.is_crowded());
  };
  return !one.foreign && !other.foreign && is_whole(one.view) && is_whole(other.view) &&
         one.folder.parent_path() == other.folder.parent_path() && facts(one) == facts(other);
}

SteadyFigures figures_of(const RunEntry& run) {
  std::optional<RanksView> ranks;
  if (run.detail->ranks) ranks = *run.detail->ranks;
  return steady_figures(run.view, run.detail->series, std::move(ranks));
}

void add_repeat(RunCase& to, const RunEntry& run) {
  if (to.repeats.size() == kMostRunRepeats) return;
  to.repeats.push_back(figures_of(run));
  to.folders.push_back(run.folder);
}

bool belongs(const ComparedCase& to, const RunEntry& run) {
  return may_repeat(*to.run, run) && is_repeat(to.figures.config, run.detail->config);
}

void make_cases(ComparedRuns& out) {
  Runs in_none;
  for (const auto& run : out.ticked) {
    if (run->foreign || !run->detail) {
      in_none.push_back(run);
      continue;
    }
    auto found = std::ranges::find_if(out.cases, [&](const ComparedCase& one) { return belongs(one, *run); });
    if (found == out.cases.end()) {
      found = out.cases.insert(out.cases.end(), {.run = run, .figures = case_of(*run), .ticked = {}});
      out.shown.push_back(run);
    } else {
      add_repeat(found->figures, *run);
    }
    found->ticked.push_back(run->id);
  }
  out.shown.insert(out.shown.end(), in_none.begin(), in_none.end());
  for (const auto& run : out.beside) {
    for (ComparedCase& one : out.cases) {
      if (run->detail && belongs(one, *run)) add_repeat(one.figures, *run);
    }
  }
}

void find_identical(ComparedRuns& out) {
  for (std::size_t i = 0; i < out.cases.size(); ++i) {
    const RunCase& run = out.cases[i].figures;
    const auto same = [&](const std::vector<std::size_t>& group) {
      const RunCase& first = out.cases[group.front()].figures;
      const LossesCompared losses = compare_losses(first.view(), first.series, run.view(), run.series);
      return losses.parity == Parity::bit_equal && losses.values > 1;
    };
    const auto found = std::ranges::find_if(out.identical, same);
    if (found == out.identical.end()) {
      out.identical.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  std::erase_if(out.identical, [](const auto& group) { return group.size() < 2; });
}

}  // namespace

RunCase case_of(const RunEntry& run) {
  RunCase out;
  out.folder = run.folder;
  out.config = run.detail->config;
  out.series = run.detail->series;
  out.repeats = {figures_of(run)};
  out.folders = {run.folder};
  return out;
}

Runs ticked_runs(const StoreSnapshot& all, const std::set<std::string>& ticked) {
  Runs out;
  for (const auto& run : all.runs) {
    if (ticked.count(run->id) != 0) out.push_back(run);
  }
  const auto order = [](const RunEntry& run) {
    return std::tie(run.foreign, run.view.lesson, run.view.preset, run.started_ns);
  };
  std::ranges::stable_sort(out, [&](auto& a, auto& b) { return order(*a) < order(*b); });
  return out;
}

std::set<std::string> possible_repeats(const StoreSnapshot& all, const Runs& ticked) {
  std::set<std::string> out;
  if (ticked.size() > kMostTicked) return out;
  for (const auto& one : ticked) {
    std::size_t found = 0;
    for (const auto& run : all.runs) {
      if (found == kMostBeside) break;
      if (run->id == one->id || !may_repeat(*one, *run)) continue;
      out.insert(run->id);
      ++found;
    }
  }
  for (const auto& one : ticked) out.erase(one->id);
  return out;
}

ComparedRuns compare_ticked(Runs ticked, Runs beside) {
  ComparedRuns out;
  out.ticked = std::move(ticked);
  out.beside = std::move(beside);
  make_cases(out);
  for (std::size_t i = 1; i < out.cases.size(); ++i)
    out.against.push_back(compare_runs(out.cases.front().figures, out.cases[i].figures));
  find_identical(out);
  for (const ComparedCase& one : out.cases) {
    if (const std::optional<double> least = least_loss(one.figures.view()))
      out.loss = std::max(out.loss.value_or(*least), *least);
  }
  return out;
}

RunOrigin origin_of(const RunView& view) {
  RunOrigin out;
  if (!view.provenance.empty())
    out.from = view.provenance + " " + (view.source.empty() ? view.device : "with " + source_text(view));
  out.measure = measure_text(view);
  if (!view.fault.empty()) out.fault = "fault " + view.fault;
  return out;
}

std::string common_origin(const Runs& runs) {
  std::vector<std::string> out;
  for (const auto part : {&RunOrigin::from, &RunOrigin::measure, &RunOrigin::fault}) {
    std::set<std::string> found;
    std::size_t ours = 0;
    for (const auto& run : runs) {
      if (run->foreign) continue;
      found.insert(origin_of(run->view).*part);
      ++ours;
    }
    if (ours > 1 && found.size() == 1 && !found.begin()->empty()) out.push_back(*found.begin());
  }
  return joined(out);
}

}  // namespace isobar
