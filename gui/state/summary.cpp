#include "state/summary.h"

#include <fmt/format.h>

#include "core/text.h"
#include "draw/axis.h"

namespace isobar {
namespace {

constexpr std::size_t kMostForeign = 200;  // bytes of what is not ours: names and reasons
constexpr std::int64_t kLook_us = 500'000, kWords_us = 5'000'000, kFigures_us = 60'000'000;

std::string short_name(const RunEntry& run) {
  return printable(run.view.lesson.empty() ? run.name : run.view.lesson, kMostForeign);
}

std::string step_words(const RunSummary& summary) {
  const std::string wanted = summary.wanted_steps > 0 ? fmt::format("/{}", summary.wanted_steps) : "";
  return fmt::format("{}{}", summary.steps, wanted);
}

/// What stands before " - Isobar".
std::string title_words(const AppState& state, const Data& data, const RunEntry* run) {
  if (run == nullptr) return data.starting ? "starting: " + data.started.lesson : state.lesson;
  const std::string name = short_name(*run);
  if (run->gone || run->foreign || run->view.state == RunState::empty) return name;
  if (!run->view.provenance.empty()) return printable(run->view.provenance, kMostForeign) + ": " + name;
  if (run->view.state == RunState::running) return step_words(run->view.summary) + " " + name;
  return state_name(run->view.state) + (": " + name);
}

/// How a run stands, without what changes as it goes.
std::string state_words(const RunEntry& run) {
  if (run.gone || run.foreign) return run_line(run);
  if (run.view.state == RunState::running) return "running";
  if (run.view.state == RunState::died) return "died at step " + human_count(run.view.summary.steps);
  return run_line(run);
}

std::string figure_words(const RunEntry& run) {
  const RunSummary& summary = run.view.summary;
  std::vector<std::string> out;
  if (run.view.state == RunState::running && !run.gone) out.push_back(run_line(run));
  if (summary.has_losses) out.push_back(fmt::format("loss {:.4g}", summary.last_loss));
  if (summary.samples_per_s > 0) out.push_back(engineering(summary.samples_per_s, 4) + " samples/s");
  return out.empty() ? "" : sentence_case(joined(out) + ".");
}

std::string view_words(const AppState& state) {
  const std::string title = view_title(state.view);
  if (state.view != View::compare || state.compared.empty()) return title + " view";
  return title + " view of " + counted(static_cast<std::int64_t>(state.compared.size()), "run");
}

}  // namespace

PageWords page_words(const AppState& state, const Data& data) {
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  PageWords out;
  const std::string title = title_words(state, data, run.get());
  out.title = title.empty() ? "Isobar" : title + " - Isobar";
  const std::string view = view_words(state);
  if (run) {
    out.shows = fmt::format("{}, {}: {}.", view, title_of(*run), state_words(*run));
    out.figures = figure_words(*run);
  } else {
    out.shows = view + (data.starting ? ", starting " + data.started.lesson : ", no run is chosen") + ".";
  }
  out.shows = printable(out.shows, 2 * kMostForeign);
  return out;
}

bool PageWordsPace::take(PageWords now, std::int64_t now_us) {
  if (!is_due(now_us)) return false;
  if (now.shows == told_.shows && now_us < figures_at_us_) now.figures = told_.figures;
  const bool is_new = now != told_;
  look_at_us_ = now_us + (is_new ? kWords_us : kLook_us);
  if (!is_new) return false;
  if (now.summary() != told_.summary()) figures_at_us_ = now_us + kFigures_us;
  told_ = std::move(now);
  return true;
}

}  // namespace isobar
