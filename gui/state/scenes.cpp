#include "state/scenes.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_files.h"
#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

constexpr std::size_t kNamedRanks = 4;

std::string pair_text(const Line& line) {
  return fmt::format("({:.4f}, {:.4f})", line.slope, line.intercept);
}

constexpr double kLookEvery_s = 3;  // reading holds up the window

/// Of the ranks that the theatre has room for, and one more.
std::vector<Stamp> stamps_of(const std::filesystem::path& folder) {
  std::vector<Stamp> out;
  for (const int rank : ranks_in(folder)) {
    if (rank <= kMostTheatreRanks) out.push_back(stamp_of(RunFolder{folder}.spans_file(rank)));
  }
  return out;
}

void read_run(TheatreState& state) {
  state.recorded.reset();
  state.choices.clear();
  state.made_of.clear();
  state.run_problem = "no run is chosen";
  state.run_hint = "choose one on the left";
  if (state.run.id.empty()) return;
  try {
    state.recorded = std::make_unique<const TheatreRun>(state.run.folder,
                                                        state.run.goes_on ? RunGoesOn::yes : RunGoesOn::no);
    state.run_problem.clear();
    for (const TheatreChoice& choice : state.recorded->choices())
      state.choices.push_back(choice_text(choice));
  } catch (const Error& error) {
    state.run_problem = printable(error.what(), 200);
    state.run_hint = printable(error.hint(), 200);
  }
}

}  // namespace

void walk_on(DescentState& state) {
  while (state.walk->so_far().steps() <= state.shown) state.walk->step();
}

std::vector<std::string> step_text(const DescentState& state) {
  const Descent& descent = state.walk->so_far();
  const Config& config = *state.config;
  const std::size_t ranks = descent.ranks.size();
  const RankDescent& first = descent.ranks.front();
  const DescentStep& step = first.steps.at(state.shown);
  const Line& line = first.before(state.shown);
  const double lr = config.optim.lr;
  const auto batch = static_cast<std::int64_t>(state.walk->batch_of(0, state.shown).size());
  std::vector<std::string> out = {
      fmt::format("step {}:  m = {:.4f}, n = {:.4f}", state.shown + 1, line.slope, line.intercept),
      fmt::format("loss       L = 1/{} sum (m x + n - y)^2 = {:.5g}", config.train.global_batch, step.loss)};
  if (ranks == 1) {
    out.push_back(fmt::format("gradients  dL/dm = 2/{} sum (m x + n - y) x = {:.4f}", batch, step.own.slope));
    out.push_back(
        fmt::format("           dL/dn = 2/{} sum (m x + n - y)   = {:.4f}", batch, step.own.intercept));
  } else {
    for (std::size_t rank = 0; rank < std::min(ranks, kNamedRanks); ++rank)
      out.push_back(fmt::format("rank {}     (dL/dm, dL/dn) of its {} samples = {}", rank, batch,
                                pair_text(descent.ranks[rank].steps.at(state.shown).own)));
    if (ranks > kNamedRanks) out.push_back(fmt::format("           and {} ranks more", ranks - kNamedRanks));
    const char* const made = config.comm.sync == SyncKind::none ? "own" : "mean";
    out.push_back(fmt::format("{:<11}taken by rank 0 = {}", made, pair_text(step.taken)));
  }
  out.push_back(fmt::format("update     m = {:.4f} - {:g} x {:.4f} = {:.4f}", line.slope, lr,
                            step.taken.slope, step.line.slope));
  out.push_back(fmt::format("           n = {:.4f} - {:g} x {:.4f} = {:.4f}", line.intercept, lr,
                            step.taken.intercept, step.line.intercept));
  return out;
}

void keep_theatre_run(TheatreState& state, const ChosenRun& run, double now_s) {
  const bool was_read = state.recorded || !state.run_problem.empty();
  const bool is_other = !was_read || run.id != state.run.id;
  if (!is_other && (run.id.empty() || now_s < state.looked_s + kLookEvery_s)) return;
  const std::vector<Stamp> stamps = run.id.empty() ? std::vector<Stamp>{} : stamps_of(run.folder);
  state.looked_s = now_s;
  if (!is_other && run == state.run && stamps == state.stamps) return;
  if (is_other) {
    state.chosen = {.step = -1, .of = ""};
    if (state.of_run.value_or(true)) state.shown = 0;
  }
  state.run = run;
  state.stamps = stamps;
  read_run(state);
}

void keep_theatre(TheatreState& state) {
  if (state.shows_run() && state.recorded) {
    const std::vector<TheatreChoice>& all = state.recorded->choices();
    if (!holds(all, state.chosen)) state.chosen = all.front();
  }
  const std::string made_of =
      state.shows_run() ? fmt::format("{} {} {}", state.run.id, state.chosen.step, state.chosen.of)
                        : fmt::format("{} {} {} {} {} {}", name_of(state.kind), state.ranks, state.chunks,
                                      state.bytes, state.latency_us, state.gbit_per_s);
  if (state.made_of == made_of) return;
  state.made_of = made_of;
  state.theatre.reset();
  state.problem.clear();
  if (state.shows_run() && !state.recorded) {
    state.problem = state.run_problem;
    state.hint = state.run_hint;
    return;
  }
  try {
    state.theatre = state.shows_run() ? state.recorded->theatre(state.chosen)
                                      : plan_theatre(state.kind, static_cast<int>(state.ranks),
                                                     static_cast<int>(state.chunks), state.bytes,
                                                     link_of(state.latency_us, state.gbit_per_s));
    state.shown = std::min(state.shown, state.theatre->steps.size());
  } catch (const Error& error) {
    state.problem = printable(error.what(), 200);
    state.hint = printable(error.hint(), 200);
  }
}

std::string choice_text(const TheatreChoice& choice) {
  return fmt::format("step {}, {}", choice.step, choice.of);
}

}  // namespace isobar
