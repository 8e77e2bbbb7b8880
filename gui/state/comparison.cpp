#include "state/comparison.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "analyse/run_keys.h"

namespace isobar {
namespace {

constexpr std::size_t kMostTicked = 12;  // of more runs no repeats are looked for
constexpr std::size_t kMostBeside = 8;   // of one run

bool is_whole(const RunEntry& run) {
  return !run.foreign && run.view.state == RunState::done && run.view.attempt == 0 &&
         run.view.is_measured_here();
}

bool may_repeat(const RunEntry& one, const RunEntry& other) {
  const auto facts = [](const RunEntry& run) {
    const RunView& view = run.view;
    return std::tuple(view.lesson, view.preset, view.device, view.host, view.fault, view.data_source,
                      view.throttle_mb_per_s, view.summary.measure, view.summary.precision, view.summary.world,
                      view.summary.wanted_steps, view.summary.is_crowded());
  };
  return is_whole(one) && is_whole(other) && one.folder.parent_path() == other.folder.parent_path() &&
         facts(one) == facts(other);
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

bool belongs(const ComparedCase& to, const Runs& ticked, const RunEntry& run) {
  return may_repeat(*ticked[to.ticked.front()], run) && is_repeat(to.figures.config, run.detail->config);
}

void make_cases(ComparedRuns& out) {
  for (std::size_t i = 0; i < out.ticked.size(); ++i) {
    const RunEntry& run = *out.ticked[i];
    if (run.foreign || !run.detail) continue;
    const auto found = std::find_if(out.cases.begin(), out.cases.end(),
                                    [&](const ComparedCase& one) { return belongs(one, out.ticked, run); });
    if (found != out.cases.end()) {
      found->ticked.push_back(i);
      add_repeat(found->figures, run);
      out.case_of[i] = static_cast<std::size_t>(found - out.cases.begin());
      continue;
    }
    out.case_of[i] = out.cases.size();
    ComparedCase& made = out.cases.emplace_back();
    made.ticked.push_back(i);
    made.figures.folder = run.folder;
    made.figures.config = run.detail->config;
    made.figures.series = run.detail->series;
    add_repeat(made.figures, run);
  }
  for (const auto& run : out.beside) {
    for (ComparedCase& one : out.cases) {
      if (run->detail && belongs(one, out.ticked, *run)) add_repeat(one.figures, *run);
    }
  }
}

void find_identical(ComparedRuns& out) {
  for (std::size_t i = 0; i < out.ticked.size(); ++i) {
    const RunEntry& run = *out.ticked[i];
    if (!run.detail || run.foreign) continue;
    const auto same = [&](const std::vector<std::size_t>& group) {
      const RunEntry& first = *out.ticked[group.front()];
      const LossesCompared losses =
          compare_losses(first.view, first.detail->series, run.view, run.detail->series);
      return losses.parity == Parity::bit_equal && losses.values > 1;
    };
    const auto found = std::find_if(out.identical.begin(), out.identical.end(), same);
    if (found == out.identical.end()) {
      out.identical.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  std::erase_if(out.identical, [](const auto& group) { return group.size() < 2; });
}

}  // namespace

Runs ticked_runs(const StoreSnapshot& all, const std::set<std::string>& ticked) {
  Runs out;
  for (const auto& run : all.runs) {
    if (ticked.count(run->id) != 0) out.push_back(run);
  }
  const auto order = [](const RunEntry& run) {
    return std::tie(run.foreign, run.view.lesson, run.view.preset, run.started_ns);
  };
  std::stable_sort(out.begin(), out.end(), [&](auto& a, auto& b) { return order(*a) < order(*b); });
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
  // Until a case is found, none: the count of cases is not known yet.
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  out.case_of.assign(out.ticked.size(), kNone);
  make_cases(out);
  std::replace(out.case_of.begin(), out.case_of.end(), kNone, out.cases.size());
  for (std::size_t i = 1; i < out.cases.size(); ++i)
    out.against.push_back(compare_runs(out.cases.front().figures, out.cases[i].figures));
  find_identical(out);
  for (const ComparedCase& one : out.cases) {
    if (const std::optional<double> least = least_loss(one.figures.view()))
      out.loss = std::max(out.loss.value_or(*least), *least);
  }
  return out;
}

}  // namespace isobar
