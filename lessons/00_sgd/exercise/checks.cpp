// What is asked of my/00_ranks.cpp, easy things first.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "00_sgd/exercise/part.h"
#include "00_sgd/exercise/watched_ranks.h"
#include "00_sgd/parts/path_plot.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

using What = RankCall::What;
using Samples = std::vector<std::int64_t>;

constexpr std::int64_t kSteps = 6;
constexpr std::int64_t kPoints = 60;
constexpr std::int64_t kBatch = 30;  // samples of all ranks: 1, 2, 3 and 5 divide it
constexpr double kRate = 0.4;
constexpr double kClose = 1e-12;

std::string words(const Line& line) {
  return fmt::format("slope {:.6g}, intercept {:.6g}", line.slope, line.intercept);
}

bool is_near(const Line& a, const Line& b) {
  return std::abs(a.slope - b.slope) <= kClose && std::abs(a.intercept - b.intercept) <= kClose;
}

/// What a wrong result points at.
struct Hunch {
  Line came;
  const char* look;
};

std::string look_for(const Line& came, const std::vector<Hunch>& hunches, const char* otherwise) {
  for (const Hunch& hunch : hunches)
    if (is_near(came, hunch.came)) return hunch.look;
  return otherwise;
}

/// The path that the part's steps walk over the page's points, by the gradient of all of them.
std::vector<Line> walked_path(const Part& part, const LinePoints& points) {
  Samples all(points.x.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Line> out = {first_line({}, 0, 0)};
  for (int step = 0; step < 60; ++step) {
    Line line = out.back();
    part.take_step(line, line_gradient(points, line, all), 0.5);  // the page's rate
    out.push_back(line);
  }
  return out;
}

void check_update(const Part& part) {
  Line line = {1, 2};
  const Line gradient = {0.5, -3};
  part.take_step(line, gradient, 0.1);
  const std::vector<Hunch> hunches = {{{1, 2}, "line, which is still where it was"},
                                      {{1.05, 1.7}, "the sign: that was a step uphill"},
                                      {{0.5, 5}, "lr: that was a step as long as the gradient"},
                                      {{0.95, 2}, "the intercept, which has stayed"},
                                      {{1, 2.3}, "the slope, which has stayed"}};
  expect(is_near(line, {0.95, 2.3}),
         {"slope 0.95, intercept 2.3 from slope 1, intercept 2 with gradient 0.5 and -3, lr 0.1", words(line),
          look_for(line, hunches, "take_step: lr times the gradient is taken off")});
  const LinePoints points = draw_points({});
  show(path_plot(points, walked_path(part, points)));
}

/// Runs `change` on the ranks' lines: what each has become.
std::vector<Line> changed(WatchedRanks& ranks, std::vector<Line> lines,
                          void (*change)(RankGroup& group, Line& line)) {
  ranks.run([&](int own) { change(*ranks.group(own), lines[static_cast<std::size_t>(own)]); });
  return lines;
}

/// Numbers that a rank handed over in its collectives of one kind.
std::size_t handed_over(const WatchedRanks& ranks, int own, What what) {
  std::size_t out = 0;
  for (const RankCall& call : ranks.calls(own, what)) out += call.values.size();
  return out;
}

void check_mean(const Part& part) {
  for (const int size : {2, 3, 5, 1}) {
    std::vector<Line> gradients;
    Line sum;
    for (int rank = 0; rank < size; ++rank) {
      gradients.push_back({1.0 + rank * rank, -0.3 * (rank + 1)});
      sum = {sum.slope + gradients.back().slope, sum.intercept + gradients.back().intercept};
    }
    const Line mean = {sum.slope / size, sum.intercept / size};
    WatchedRanks ranks(size);
    const std::vector<Line> came = changed(ranks, gradients, part.average);
    for (int rank = 0; rank < size; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const std::vector<Hunch> hunches = {
          {sum, "what the sum is divided by: that is a step as long as those of all ranks together"},
          {gradients[at], "where the sum goes: gradient is still the rank's own"}};
      expect(is_near(came[at], mean),
             {fmt::format("the mean over {} ranks on rank {}: {}", size, rank, words(mean)), words(came[at]),
              look_for(came[at], hunches, "average: the sum divided by the number of ranks, group.size()")});
      const std::size_t summed = handed_over(ranks, rank, What::sum);
      expect(size == 1 || summed == 2,
             {"average() to sum up each of the two numbers once", fmt::format("sums of {} numbers", summed),
              "how often average() calls sum, and what it hands over"});
    }
  }
}

void check_start(const Part& part) {
  for (const int size : {2, 3, 5, 1}) {
    std::vector<Line> starts;
    for (int rank = 0; rank < size; ++rank) starts.push_back({0.25 + rank, -1.0 + 2 * rank * rank});
    WatchedRanks ranks(size);
    const std::vector<Line> came = changed(ranks, starts, part.share_start);
    for (int rank = 0; rank < size; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const std::vector<Hunch> hunches = {{starts[at], "where the numbers go: that is the rank's own line"},
                                          {starts.back(), "the root: that is the line of the last rank"}};
      expect(came[at] == starts[0],
             {fmt::format("the line of rank 0 on rank {} of {}: {}", rank, size, words(starts[0])),
              words(came[at]),
              look_for(came[at], hunches,
                       "share_start: rank 0 has "
                       "what all begin with")});
      const std::size_t sent = handed_over(ranks, rank, What::broadcast);
      expect(size == 1 || sent == 2,
             {"share_start() to broadcast its two numbers", fmt::format("broadcasts of {} numbers", sent),
              "which collective hands on what one rank has"});
    }
  }
}

LinePoints made_points() {
  LinePoints out;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const double x = static_cast<double>(i) / kPoints;
    out.x.push_back(x);
    out.y.push_back(2 * x + 0.5 + 0.2 * std::sin(7.0 * static_cast<double>(i)));
  }
  return out;
}

/// Every size-th sample of a step's batch.
Samples batch_of(std::int64_t step, int rank, int size) {
  expect(step >= 0 && step < kSteps && rank >= 0 && rank < size,
         {fmt::format("batches of steps 0 to {} and of ranks that there are", kSteps - 1),
          fmt::format("batch({}, {}, {})", step, rank, size), "what batch() is asked for"});
  Samples out;
  for (std::int64_t i = rank; i < kBatch; i += size) out.push_back((step * kBatch + i) * 7 % kPoints);
  return out;
}

Line start_of(int rank) { return {0.25 + rank, -1.0 + 2 * rank}; }

/// A whole training, with all that its ranks called and the paths that they returned.
struct Trained {
  Trained(const Part& part, int size)
      : ranks(size), points(made_points()), paths(static_cast<std::size_t>(size)) {
    ranks.run([&](int own) { paths[static_cast<std::size_t>(own)] = part.train_rank(task(own)); });
    for (const std::vector<Line>& path : paths)
      expect(path.size() == kSteps + 1,
             {fmt::format("a path of {} lines: the start, and one a step", kSteps + 1),
              fmt::format("{}", path.size()), "what train_rank returns"});
  }

  RankTask task(int own) {
    return {.rank = own,
            .size = ranks.size(),
            .join = [this, own](int rank, int size) { return ranks.join(own, rank, size); },
            .open_log = [this, own](const std::string& name) { return ranks.open_log(own, name); },
            .points = points,
            .batch =
                [this, own](std::int64_t step, int rank, int size) {
                  ranks.note(own, {.what = What::batch, .rank = rank, .size = size, .step = step});
                  return batch_of(step, rank, size);
                },
            .start = start_of(own),
            .lr = kRate,
            .steps = kSteps};
  }

  const std::vector<Line>& path(int rank) const { return paths[static_cast<std::size_t>(rank)]; }

  WatchedRanks ranks;
  LinePoints points;
  std::vector<std::vector<Line>> paths;
};

/// Looks at each rank of trainings of several sizes.
void for_ranks(const Part& part, const std::vector<int>& sizes,
               const std::function<void(const Trained& trained, int rank)>& look) {
  for (const int size : sizes) {
    const Trained trained(part, size);
    for (int rank = 0; rank < size; ++rank) look(trained, rank);
  }
}

void check_join(const Part& part) {
  for_ranks(part, {2, 3, 5, 1}, [](const Trained& trained, int rank) {
    const std::size_t times = trained.ranks.calls(rank, What::join).size();
    expect(times == 1, {fmt::format("rank {} to join once", rank), fmt::format("{} times", times),
                        "where join is called: before the loop"});
  });
}

void check_begin(const Part& part) {
  for_ranks(part, {2, 3, 5}, [](const Trained& trained, int rank) {
    const char* const look = "train_rank before its loop, where share_start(*group, line) belongs";
    std::vector<RankCall> calls = trained.ranks.calls(rank);
    std::erase_if(calls, [](auto& call) { return call.what != What::sum && call.what != What::broadcast; });
    const std::size_t sent = handed_over(trained.ranks, rank, What::broadcast);
    expect(sent > 0, {fmt::format("rank {} to broadcast before its first step", rank), "no broadcast", look});
    expect(calls.front().what == What::broadcast, {fmt::format("rank {} to broadcast first of all", rank),
                                                   "a sum first, and the broadcast later", look});
    const Line first = trained.path(rank).front();
    expect(first == start_of(0),
           {fmt::format("the path of rank {} to begin at the start of rank 0, {}", rank, words(start_of(0))),
            words(first), look});
    expect(sent == 2,
           {fmt::format("rank {} to broadcast two numbers, once", rank), fmt::format("{} numbers", sent),
            "the loop: lines that begin alike and take the same steps need no second broadcast"});
  });
}

void check_own_batch(const Part& part) {
  for_ranks(part, {2, 3, 5, 1}, [](const Trained& trained, int rank) {
    Samples steps;
    for (const RankCall& call : trained.ranks.calls(rank, What::batch)) {
      expect(call.rank == rank && call.size == trained.ranks.size(),
             {fmt::format("rank {} of {} to take its own part of the batch", rank, trained.ranks.size()),
              fmt::format("that of rank {} of {}", call.rank, call.size), "what batch() is asked for"});
      steps.push_back(call.step);
    }
    Samples wanted(kSteps);
    std::iota(wanted.begin(), wanted.end(), 0);
    expect(steps == wanted, {fmt::format("batches of steps {}, each once", joined(wanted)), joined(steps),
                             "what batch() is asked for"});
  });
}

/// The numbers that the rank has summed up in each step, between its batch and the next one.
std::vector<std::vector<double>> sums_by_step(const WatchedRanks& ranks, int rank) {
  std::vector<std::vector<double>> out;
  for (const RankCall& call : ranks.calls(rank)) {
    if (call.what == What::batch) out.emplace_back();
    if (call.what == What::sum && !out.empty())
      out.back().insert(out.back().end(), call.values.begin(), call.values.end());
  }
  return out;
}

void check_average(const Part& part) {
  for_ranks(part, {2, 3, 5}, [](const Trained& trained, int rank) {
    const int size = trained.ranks.size();
    const auto sums = sums_by_step(trained.ranks, rank);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto at = static_cast<std::size_t>(step);
      const std::vector<double>& summed = sums.at(at);
      expect(!summed.empty(), {fmt::format("step {} to average the gradients of {} ranks", step, size),
                               "no sum over the ranks: each walks alone", "average(*group, gradient)"});
      expect(summed.size() == 2, {fmt::format("the gradient of step {} to be averaged once", step),
                                  fmt::format("{} numbers in sums, not 2", summed.size()),
                                  "the loop: a mean of means costs a message and changes nothing"});
      const Line came = {summed[0], summed[1]};
      const Line own = line_gradient(trained.points, trained.path(rank)[at], batch_of(step, rank, size));
      const Line share = {own.slope / size, own.intercept / size};  // divided before it is summed
      const bool is_line = is_near(came, trained.path(rank)[at]) ||
                           is_near(came, {trained.path(rank)[at].slope - kRate * own.slope,
                                          trained.path(rank)[at].intercept - kRate * own.intercept});
      expect(
          is_near(came, own) || is_near(came, share),
          {fmt::format("rank {} to average its gradient in step {}: {}", rank, step, words(own)),
           words(came) + (is_line ? ", which is its line" : ""),
           is_line ? "what is averaged: lines walk the same path only as long as the update is a plain step"
                   : "what is averaged: the gradient as it comes from line_gradient"});
    }
  });
}

std::string steps_words(std::size_t steps) { return counted(static_cast<std::int64_t>(steps), "step"); }

/// Whether the rank came to line `i` by the gradient of its own samples alone: the update took another Line
/// than the averaged one, or came before it.
bool is_own_step(const Trained& trained, int rank, std::size_t i) {
  if (i == 0) return false;
  const Line& before = trained.path(rank)[i - 1];
  const Samples batch = batch_of(static_cast<std::int64_t>(i) - 1, rank, trained.ranks.size());
  const Line own = line_gradient(trained.points, before, batch);
  return is_near(trained.path(rank)[i],
                 {before.slope - kRate * own.slope, before.intercept - kRate * own.intercept});
}

void check_paths(const Part& part) {
  for_ranks(part, {2, 3, 5}, [](const Trained& trained, int rank) {
    for (std::size_t i = 0; i <= kSteps; ++i) {
      const Line &wanted = trained.path(0)[i], &came = trained.path(rank)[i];
      expect(came == wanted,
             {fmt::format("rank {} to stand where rank 0 stands after {}: {}", rank, steps_words(i),
                          words(wanted)),
              words(came) + (is_near(came, wanted) ? ", another one in its last bits" : ""),
              is_own_step(trained, rank, i)
                  ? "average and take_step: that was a step by the rank's own gradient; which of "
                    "the two comes first, and which Line does each get?"
                  : "take_step: it takes what came out of average, and nothing of the rank's own"});
    }
  });
}

/// Gradient descent of one rank on the joint batch.
std::vector<Line> joint_path(const LinePoints& points) {
  std::vector<Line> out = {start_of(0)};
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Line line = out.back();
    const Line gradient = line_gradient(points, line, batch_of(step, 0, 1));
    out.push_back({line.slope - kRate * gradient.slope, line.intercept - kRate * gradient.intercept});
  }
  return out;
}

void check_joint(const Part& part) {
  for_ranks(part, {1, 2, 3, 5}, [](const Trained& trained, int rank) {
    const std::vector<Line> wanted = joint_path(trained.points);
    for (std::size_t i = 0; i <= kSteps; ++i)
      expect(is_near(trained.path(rank)[i], wanted[i]),
             {fmt::format("{} to stand where one rank with the joint batch stands after {}: {}",
                          counted(trained.ranks.size(), "rank"), steps_words(i), words(wanted[i])),
              words(trained.path(rank)[i]),
              "what take_step is given: this step's mean gradient, and task.lr as it is"});
  });
}

void check_log(const Part& part) {
  for_ranks(part, {2, 3, 5, 1}, [](const Trained& trained, int rank) {
    const std::string name = fmt::format("rank-{}", rank);
    std::vector<std::string> names;
    for (const RankCall& call : trained.ranks.calls(rank, What::open_log)) names.push_back(call.log);
    expect(names == std::vector<std::string>{name},
           {fmt::format("rank {} to open one log, {}", rank, name), names.empty() ? "none" : joined(names),
            "open_log: on every rank, before the loop, with the rank in the name"});
    const std::vector<RankCall> writes = trained.ranks.calls(rank, What::write_log);
    Samples steps, wanted(kSteps);
    for (const RankCall& call : writes) steps.push_back(call.step);
    std::iota(wanted.begin(), wanted.end(), 0);
    expect(steps == wanted,
           {fmt::format("rank {} to log steps {}, each once", rank, joined(wanted)),
            steps.empty() ? "no step" : joined(steps), "log->write: in the loop, on every rank"});
    for (std::size_t step = 0; step < kSteps; ++step) {
      const Line came = {writes[step].values[0], writes[step].values[1]};
      const Line behind = trained.path(rank)[step + 1];
      expect(came == behind,
             {fmt::format("the line behind the update in the log of step {}: {}", step, words(behind)),
              words(came) + (came == trained.path(rank)[step] ? ", the one before the update" : ""),
              "where log->write stands"});
    }
  });
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"update", exercise::check_update},
                                           {"mean", exercise::check_mean},
                                           {"start", exercise::check_start},
                                           {"join", exercise::check_join},
                                           {"begin", exercise::check_begin},
                                           {"own_batch", exercise::check_own_batch},
                                           {"average", exercise::check_average},
                                           {"paths", exercise::check_paths},
                                           {"joint", exercise::check_joint},
                                           {"log", exercise::check_log}});
}

}  // namespace isobar
