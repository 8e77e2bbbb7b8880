#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/lesson_parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

struct LessonRuns {
  int runs = 0;
  bool running = false;
  bool done = false;
  double best = 0;  ///< samples/s, measured here, without faults
};

/// The preset that rates of the ladder are of: rates of different sizes say nothing about each other.
std::string ladder_preset(const Data& data) {
  for (const auto& run : data.feed.runs->runs) {
    if (run->view.summary.samples_per_s > 0 && !run->foreign && run->view.is_measured_here())
      return run->view.preset;
  }
  return "";
}

LessonRuns runs_of(const Data& data, const std::string& lesson, const std::string& preset) {
  LessonRuns out;
  for (const auto& run : data.feed.runs->runs) {
    if (run->view.lesson != lesson || run->foreign || !run->view.is_measured_here()) continue;
    ++out.runs;
    out.running = out.running || run->view.state == RunState::running;
    out.done = out.done || run->view.state == RunState::done;
    const bool trained = marks_of(run->view).empty();
    if (trained && run->view.preset == preset) out.best = std::max(out.best, run->view.summary.samples_per_s);
  }
  return out;
}

struct LadderRates {
  std::string preset;
  std::vector<LessonRuns> runs;  ///< of each lesson, in their order
  double most_here = 0;          ///< greatest of them: the length of a full bar
};

LadderRates rates_of(const Data& data) {
  LadderRates out;
  out.preset = ladder_preset(data);
  for (const LessonCard& card : data.project.lessons) {
    out.runs.push_back(runs_of(data, card.info.name, out.preset));
    out.most_here = std::max(out.most_here, out.runs.back().best);
  }
  return out;
}

/// Where the second and third line of a card begin and end.
float left_of(const Canvas& canvas, const Box& row) { return row.x0 + 40 * canvas.scale(); }
float right_of(const Canvas& canvas, const Box& row) { return row.x1 - 8 * canvas.scale(); }

/// A rate that was measured here: only these have a bar, since bars are compared.
void draw_rate(Canvas& canvas, const Theme& theme, const Box& row, float y, double part,
               const std::string& words) {
  const float s = canvas.scale();
  const float left = left_of(canvas, row);
  const float width = std::max(2 * s, static_cast<float>(part) * (row.x1 - 122 * s - left));
  canvas.fill({left, y + 4 * s, left + width, y + 10 * s}, theme.accent, 2 * s);
  canvas.text(right_of(canvas, row), y - 1 * s, words, Face::small, theme.text, 1);
}

/// A rate of another machine: a grey number, and whose it is.
void draw_foreign_rate(Canvas& canvas, const Theme& theme, const Box& row, float y, const std::string& whose,
                       double rate) {
  const float s = canvas.scale(), left = left_of(canvas, row), right = right_of(canvas, row);
  const std::string number = engineering(rate, 3) + " /s";
  const float room = right - left - canvas.text_width(number, Face::small) - 8 * s;
  paint_fitted(canvas, left, y - 1 * s, room, whose, Face::small, theme.dim);
  canvas.text(right, y - 1 * s, number, Face::small, theme.dim, 1);
}

std::string state_text(const LessonCard& card, const LessonRuns& runs) {
  if (!card.recorded.empty()) {
    const RunView& view = card.recorded.front().view;
    return "no GPU: " + view.provenance + (view.provenance == "predicted" ? " for " : " on ") + view.device;
  }
  if (!card.cannot_run.empty()) return card.cannot_run;
  if (runs.running) return "running";
  if (runs.done) return "done, " + counted(runs.runs, "run");
  if (runs.runs > 0) return counted(runs.runs, "run") + ", none finished";
  return "never run";
}

/// Published rates answer questions of the lesson: they are shown once its guesses are revealed, and not
/// while nobody knows what it asks.
bool tells_published(const Data& data, const LessonCard& card) {
  const LessonProgress* const progress = progress_of(data, card.info.name);
  const bool is_known = progress != nullptr && data.course->problems.count(card.info.name) == 0;
  return !card.info.published.years.empty() && is_known && is_revealed(*progress);
}

std::string lesson_tip(const Data& data, const LessonCard& card) {
  const Published& published = card.info.published;
  std::string words = card.info.title;
  if (tells_published(data, card)) {
    for (std::size_t i = 0; i < published.years.size(); ++i) {
      words +=
          fmt::format("\n{}: {} samples/s, recorded on {} ({}) with the full-size preset", published.years[i],
                      engineering(published.samples_per_s[i], 4), published.device, published.stacks[i]);
    }
  } else if (!published.years.empty()) {
    words += "\nThe published rates are shown once the guesses of this lesson are revealed.";
  }
  if (!card.cannot_run.empty()) words += "\n" + card.cannot_run;
  for (const RecordedRun& run : card.recorded) {
    words += fmt::format("\n{} samples/s, {}{}", engineering(run.view.summary.samples_per_s, 4),
                         provenance_text(run.view), run.view.point.empty() ? "" : "; " + run.view.point);
  }
  if (const LessonProgress* const progress = progress_of(data, card.info.name))
    words += "\n" + goals_text(*progress);
  return words;
}

void draw_lesson(Ui& ui, const Data& data, const LessonCard& card, const LessonRuns& runs,
                 const LadderRates& rates, AppState& state, Requests& ask) {
  const Published& published = card.info.published;
  const bool has_rate = runs.best > 0 || !card.recorded.empty();
  const bool has_published = tells_published(data, card);
  const float height = ui.px(44.0F + (has_rate ? 18 : 0) + (has_published ? 18 : 0));
  Box row;
  if (ui.row("lesson " + card.info.name, state.lesson == card.info.name, height, &row))
    ask.show_lesson = card.info.name;
  if (state.lesson == card.info.name && state.ladder_at != state.lesson) {
    const float top = ImGui::GetWindowPos().y;
    if (row.y0 < top || row.y1 > top + ImGui::GetWindowHeight()) ImGui::SetScrollHereY();
    state.ladder_at = state.lesson;
  }
  ui.tip(lesson_tip(data, card));
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const float s = ui.px(1);
  if (const LessonProgress* const progress = progress_of(data, card.info.name))
    paint_parts(canvas, theme, *progress, {right_of(canvas, row), row.y0 + 11 * s});
  canvas.text(row.x0 + 10 * s, row.y0 + 7 * s, card.number, Face::mono, theme.dim);
  const float left = left_of(canvas, row);
  paint_fitted(canvas, left, row.y0 + 6 * s, row.width() - 112 * s, card.short_title, Face::bold, theme.text);
  const Colour colour = !card.cannot_run.empty() ? theme.warn
                        : runs.running           ? theme.accent
                        : runs.done              ? theme.good
                                                 : theme.dim;
  paint_fitted(canvas, left, row.y0 + 25 * s, row.width() - 50 * s, state_text(card, runs), Face::small,
               colour);
  float y = row.y0 + 44 * s;
  if (runs.best > 0) {
    draw_rate(canvas, theme, row, y, runs.best / rates.most_here,
              engineering(runs.best, 3) + " /s " + rates.preset);
  } else if (has_rate) {
    const RunView& view = card.recorded.front().view;
    draw_foreign_rate(canvas, theme, row, y, view.provenance, view.summary.samples_per_s);
  }
  if (has_rate) y += 18 * s;
  if (has_published) {
    draw_foreign_rate(canvas, theme, row, y, "published, " + published.device,
                      published.samples_per_s.back());
  }
}

bool matches(const RunEntry& run, const std::string& filter) {
  const std::string all =
      lowered(run.name + " " + run.view.lesson + " " + run.view.preset + " " + state_name(run.view.state) +
              " " + run.view.device + " " + run.view.host + " " + run.view.fault + " " +
              measure_text(run.view) + " " + run.view.group + " " + run.note);
  const std::vector<std::string> words = split(lowered(filter), ' ');
  return std::ranges::all_of(words, [&](const std::string& word) { return all.find(word) != all.npos; });
}

std::string result_text(const RunEntry& run) {
  const RunSummary& summary = run.view.summary;
  if (run.foreign) return "events";
  const bool is_measure = !summary.measure.empty();
  if (!is_measure && summary.has_scores)
    return fmt::format("{} {}", summary.headline, engineering(summary.rmse, 3));
  if (is_measure || !summary.has_losses)
    return summary.samples_per_s > 0 ? engineering(summary.samples_per_s, 3) + " samples/s" : "";
  return summary.steps > 0 ? "loss " + engineering(summary.last_loss, 3) : "";
}

/// How the run stands, before its words; true where there is something to say: what is done as it should be
/// has none. A ring is for one that is not of this machine.
bool draw_dot(Canvas& canvas, const Theme& theme, const RunEntry& run, PlotPoint at) {
  const bool elsewhere = !run.view.provenance.empty();
  if (run.view.state == RunState::done && !elsewhere && !run.gone && run.problem.empty()) return false;
  const Colour colour = run.gone                            ? theme.dim
                        : !run.problem.empty() || elsewhere ? theme.warn
                                                            : state_colour(theme, run.view.state);
  canvas.circle(at, 4 * canvas.scale(), colour, run.view.state != RunState::empty && !elsewhere);
  return true;
}

void draw_run(Ui& ui, const std::shared_ptr<const RunEntry>& run, AppState& state, Requests& ask) {
  Box row;
  const bool chosen = state.run == run->id;
  const ImVec2 at = ImGui::GetCursorPos();
  ImGui::PushID(run->id.c_str());  // two folders may have the same name
  if (ui.row("run " + run->name, chosen, ui.px(44), &row)) ask.show_run = run->id;
  ui.tip(run->name + "\n" + run_line(*run) + (run->problem.empty() ? "" : "\n" + run->problem) +
         (run->note.empty() ? "" : "\n" + run->note));
  const ImVec2 after = ImGui::GetCursorPos();
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const float s = ui.px(1);
  const bool compared = state.compared.count(run->id) != 0;
  // The box on the left puts the run into the comparison.
  ImGui::SetCursorPos({at.x + ui.px(4), at.y + ui.px(10)});
  if (ui.area("compare " + run->name, {ui.px(24), ui.px(24)}).clicked && state.compared.erase(run->id) == 0)
    state.compared.insert(run->id);
  ui.tip(compared ? "Take it out of the comparison" : "Put it into the comparison");
  ImGui::PopID();
  ImGui::SetCursorPos(after);
  paint_check(canvas, theme, {row.x0 + 9 * s, row.y0 + 15 * s}, compared ? CheckMark::held : CheckMark::open,
              theme.series[state.slot(run->id) % theme.series.size()]);
  const std::string right = result_text(*run);
  const float right_width = canvas.text_width(right, Face::mono_small);
  canvas.text(row.x1 - 8 * s, row.y0 + 6 * s, right, Face::mono_small, theme.text, 1);
  const std::string name =
      run->view.lesson.empty() ? run->name : run->view.lesson.substr(0, 2) + "  " + short_run_name(*run);
  paint_fitted(canvas, row.x0 + 34 * s, row.y0 + 5 * s, row.width() - right_width - 50 * s, name, Face::text,
               theme.text);
  std::string words;
  for (const std::string& mark : marks_of(run->view)) words += mark + " · ";
  words += (run->view.preset.empty() ? "" : run->view.preset + " · ") +
           (run->gone                       ? "deleted"
            : run->foreign                  ? "TensorBoard"
            : !run->view.provenance.empty() ? provenance_text(run->view)
                                            : state_name(run->view.state)) +
           (run->note.empty() ? "" : " · " + run->note);
  const bool dot = draw_dot(canvas, theme, *run, {row.x0 + 38 * s, row.y0 + 32 * s});
  const float left = row.x0 + (dot ? 48 : 34) * s;
  const bool is_bad = run->view.state == RunState::failed || run->view.state == RunState::died;
  paint_fitted(canvas, left, row.y0 + 24 * s, row.x1 - 10 * s - left, words, Face::small,
               is_bad ? theme.bad : theme.dim);
}

}  // namespace

void draw_ladder(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  ui.dim("LADDER");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(2)});
  const LadderRates rates = rates_of(data);
  for (std::size_t i = 0; i < rates.runs.size(); ++i)
    draw_lesson(ui, data, data.project.lessons[i], rates.runs[i], rates, state, ask);
  ImGui::PopStyleVar();
  for (const std::string& problem : data.project.problems) ui.problem(problem);
}

void draw_runs(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const StoreSnapshot& runs = *data.feed.runs;
  Runs shown;
  std::ranges::copy_if(runs.runs, std::back_inserter(shown),
                       [&](const auto& run) { return matches(*run, state.run_filter); });
  ui.dim(fmt::format("RUNS  {}", shown.size() == runs.runs.size()
                                     ? human_count(static_cast<std::int64_t>(shown.size()))
                                     : fmt::format("{} of {}", shown.size(), runs.runs.size())));
  if (std::exchange(state.focus_filter, false)) ui.focus_here();
  ui.input("filter runs", state.run_filter, "Filter  ( / )", -1);
  for (const std::string& problem : runs.problems) ui.warning(problem);
  if (runs.unread > 0) ui.dim(fmt::format("reading {} more ...", runs.unread));
  if (shown.empty() && data.feed.first_look_done) {
    ui.note(runs.runs.empty() ? "No run yet. Press Space to run the chosen lesson."
                              : "No run matches. Words may be in the name, preset, state, device or note.");
  }
  ImGui::BeginChild("runs list");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(2)});
  const float each = ui.px(46);
  const auto chosen = std::ranges::find_if(shown, [&](auto& run) { return run->id == state.run; });
  if (state.list_at != state.run && chosen != shown.end() && data.feed.first_look_done) {
    const float top = each * static_cast<float>(chosen - shown.begin());
    const float room = ImGui::GetWindowHeight() - each;
    if (top < ImGui::GetScrollY() || top > ImGui::GetScrollY() + room) ImGui::SetScrollY(top - room / 2);
    state.list_at = state.run;
  }
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(shown.size()), each);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_run(ui, shown[static_cast<std::size_t>(i)], state, ask);
  }
  ImGui::PopStyleVar();
  ImGui::EndChild();
}

}  // namespace isobar
