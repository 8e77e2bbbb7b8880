#include "state/theatre.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

void keep_theatre_run(TheatreState& state, const std::string& id, const std::filesystem::path& folder,
                      double now_s) {
  constexpr double kReadEvery_s = 1;
  const Stamp stamp = id.empty() ? Stamp{} : stamp_of(RunFolder{folder}.spans_file(0));
  const bool is_read = state.run == id && (state.recorded || !state.run_problem.empty());
  if (is_read && (state.stamp == stamp || now_s < state.read_s + kReadEvery_s)) return;
  if (state.run != id) {
    state.chosen = {.step = -1, .of = ""};
    if (state.of_run.value_or(true)) state.shown = 0;
  }
  state.read_s = now_s;
  state.run = id;
  state.stamp = stamp;
  state.recorded.reset();
  state.made_of.clear();
  state.run_problem = "no run is chosen";
  state.run_hint = "choose one on the left";
  if (id.empty()) return;
  try {
    state.recorded = std::make_unique<const TheatreRun>(folder);
    state.run_problem.clear();
  } catch (const Error& error) {
    state.run_problem = printable(error.what(), 200);
    state.run_hint = printable(error.hint(), 200);
  }
}

void keep_theatre(TheatreState& state) {
  if (state.shows_run() && state.recorded) {
    const std::vector<TheatreChoice>& all = state.recorded->choices();
    if (std::find(all.begin(), all.end(), state.chosen) == all.end()) state.chosen = all.front();
  }
  const std::string made_of =
      state.shows_run() ? fmt::format("{} {} {}", state.run, state.chosen.step, state.chosen.of)
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
                                      : plan_theatre(state.kind, state.ranks, state.chunks, state.bytes,
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
