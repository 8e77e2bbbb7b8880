#include "state/theatre.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_files.h"
#include "core/error.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace {

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
    if (std::find(all.begin(), all.end(), state.chosen) == all.end()) state.chosen = all.front();
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
