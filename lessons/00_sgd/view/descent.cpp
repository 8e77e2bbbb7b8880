#include "00_sgd/view/descent.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "config/load.h"
#include "config/with_fault.h"
#include "core/error.h"
#include "core/text.h"
#include "log/event.h"
#include "log/run_files.h"
#include "record/run_folder.h"
#include "ring/ring_plan.h"

namespace isobar::lesson_00 {
namespace {

constexpr const char* kDescentLesson = "00_sgd";

Config config_of_run(const std::filesystem::path& run, const std::filesystem::path& home) {
  Settings settings;
  settings.config_files = {RunFolder{run}.config_file()};
  return read_config(home, read_lesson(home, kDescentLesson), settings, "cpu").config;
}

/// As the ring adds it: who begins a chunk, and in which order it goes round (ring/ring_plan.h).
double ring_sum(const std::vector<double>& values, std::int64_t element, std::int64_t elements) {
  const int ranks = static_cast<int>(values.size());
  const RingCut cut{.elements = elements, .chunks = ranks};
  int chunk = 0;
  while (element >= cut.chunk(chunk).begin + cut.chunk(chunk).count) ++chunk;
  double sum = values[static_cast<std::size_t>(chunk)];
  for (int i = 1; i < ranks; ++i) sum += values[static_cast<std::size_t>((chunk + i) % ranks)];
  return sum;
}

double over_ranks(const std::vector<double>& values, std::int64_t element, std::int64_t elements,
                  bool divides) {
  if (values.size() == 1) return values.front();
  const double sum = ring_sum(values, element, elements);
  return divides ? sum / static_cast<double>(values.size()) : sum;
}

double degrees_between(const Line& one, const Line& other) {
  const double cross = one.slope * other.intercept - one.intercept * other.slope;
  const double along = one.slope * other.slope + one.intercept * other.intercept;
  return std::abs(std::atan2(cross, along)) * 180 / std::numbers::pi;
}

}  // namespace

std::vector<Line> RankDescent::path() const {
  std::vector<Line> out = {start};
  for (const DescentStep& step : steps) out.push_back(step.line);
  return out;
}

std::size_t Descent::steps() const {
  std::size_t out = ranks.empty() ? 0 : ranks.front().steps.size();
  for (const RankDescent& rank : ranks) out = std::min(out, rank.steps.size());
  return out;
}

Descent read_descent(const std::filesystem::path& run, const std::filesystem::path& home) {
  check_run_folder(run);
  Descent out;
  for (const int rank : ranks_in(run)) {
    RankDescent& made = out.ranks.emplace_back();
    std::string lesson;
    bool has_start = false;
    EventLog(RunFolder{run}.stream_file(rank)).read_all([&](const Event& event) {
      const auto line = [&](const char* slope, const char* intercept) {
        return Line{event.number(slope), event.number(intercept)};
      };
      if (event.kind() == "run") lesson = event.text("lesson");
      if (event.kind() == "note" && event.text("text") == "start") {
        made.start = line("slope", "intercept");
        has_start = true;
      }
      if (event.kind() != "step") return;
      made.steps.push_back({.line = line("slope", "intercept"),
                            .own = line("own_slope_gradient", "own_intercept_gradient"),
                            .taken = line("slope_gradient", "intercept_gradient"),
                            .loss = event.number("loss")});
    });
    if (!lesson.empty() && lesson != kDescentLesson)
      throw Error("this is a run of " + printable(lesson, 40) + ", which fits no line", run.string(),
                  std::string("a run of ") + kDescentLesson);
    if (has_start) continue;
    out.ranks.pop_back();
    break;
  }
  if (out.ranks.empty())
    throw Error("the run recorded no start", run.string(), std::string("./isobar run ") + kDescentLesson);
  out.config = config_of_run(run, home);
  out.points = draw_points(out.config.data);
  return out;
}

DescentWalk::DescentWalk(const Config& config) {
  descent_.config = config;
  descent_.points = draw_points(config.data);
  const auto ranks = static_cast<std::size_t>(config.run.ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const RunConfig& run = config.run;
    const FaultSetting fault{run.fault,      run.fault_ms,   run.fault_stage,
                             run.fault_step, run.fault_rank, static_cast<std::int64_t>(rank)};
    pages_.push_back(with_fault(config, fault));
    const Config& page = pages_.back();
    const Sampler sampler(descent_.points.size(), page.data.shuffle, page.data.seed,
                          static_cast<std::int64_t>(rank), config.run.ranks, page.data.shard);
    orders_.push_back(std::make_unique<BatchOrder>(sampler, page.train.global_batch / config.run.ranks));
    const bool draws_own = run.fault == Fault::no_broadcast;
    descent_.ranks.push_back(
        {.start = first_line(config.model, config.train.seed, draws_own ? static_cast<int>(rank) : 0)});
  }
}

void DescentWalk::step() {
  const auto index = static_cast<std::int64_t>(descent_.steps());
  const std::size_t count = descent_.ranks.size();
  std::vector<Line> own(count);
  std::vector<double> losses(count), slopes(count), intercepts(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const Line& line = descent_.ranks[rank].before(static_cast<std::size_t>(index));
    const std::vector<std::int64_t> batch = orders_[rank]->samples(index);
    losses[rank] = line_loss(descent_.points, line, batch);
    own[rank] = line_gradient(descent_.points, line, batch);
    slopes[rank] = own[rank].slope;
    intercepts[rank] = own[rank].intercept;
  }
  const double loss = over_ranks(losses, 0, 1, /*divides=*/true);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const bool divides = pages_[rank].run.fault != Fault::sum_not_mean;
    const Line taken = pages_[rank].comm.sync == SyncKind::none
                           ? own[rank]
                           : Line{over_ranks(slopes, 0, 2, divides), over_ranks(intercepts, 1, 2, divides)};
    const double lr = descent_.config.optim.lr;
    RankDescent& of = descent_.ranks[rank];
    const Line& line = of.before(static_cast<std::size_t>(index));
    of.steps.push_back({.line = {line.slope - lr * taken.slope, line.intercept - lr * taken.intercept},
                        .own = own[rank],
                        .taken = taken,
                        .loss = loss});
  }
}

Descent walk_descent(const Config& config, std::int64_t steps) {
  DescentWalk walk(config);
  for (std::int64_t i = 0; i < steps; ++i) walk.step();
  return walk.so_far();
}

double mean_turn(const std::vector<Line>& path) {
  double sum = 0;
  int turns = 0;
  Line last;
  bool has_last = false;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Line step{path[i].slope - path[i - 1].slope, path[i].intercept - path[i - 1].intercept};
    if (step == Line{}) continue;
    if (has_last) {
      sum += degrees_between(last, step);
      ++turns;
    }
    last = step;
    has_last = true;
  }
  return turns == 0 ? 0 : sum / turns;
}

std::int64_t steps_until(const LinePoints& points, const std::vector<Line>& path, double factor) {
  const LossBowl bowl(points);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (bowl.loss(path[i]) <= factor * bowl.least_loss()) return static_cast<std::int64_t>(i);
  }
  return -1;
}

double rest_above_least(const Descent& descent) {
  const LossBowl bowl(descent.points);
  const std::size_t half = descent.steps() / 2;
  double sum = 0;
  for (std::size_t step = half; step < descent.steps(); ++step)
    sum += bowl.loss(descent.ranks.front().steps[step].line);
  return sum / static_cast<double>(descent.steps() - half) / bowl.least_loss() - 1;
}

double path_distance(const std::vector<Line>& one, const std::vector<Line>& other) {
  double out = 0;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    out = std::max(
        {out, std::abs(one[i].slope - other[i].slope), std::abs(one[i].intercept - other[i].intercept)});
  }
  return out;
}

}  // namespace isobar::lesson_00
