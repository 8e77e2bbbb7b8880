#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "analyse/run_prediction.h"
#include "core/text.h"
#include "draw/axis.h"
#include "panels/parts.h"
#include "plot/bars.h"
#include "plot/memory_picture.h"

namespace isobar {
namespace {

constexpr float kMemoryKnobs = 250, kWordsHeight = 116, kPictureMargin = 14;

/// Works out again what the settings changed.
void ask_memory(const Data& data, const LessonCard& card, FormState& form, MemoryPlay& mine) {
  if (form.stale) check_form(data.project, form);
  const RunRequest request = request_of(form);
  MemoryAsk ask{.home = data.project.home,
                .lesson = card.info.name,
                .preset = request.preset,
                .sets = request.sets,
                .on_gpu = mine.on_gpu,
                .rates = data.rates};
  if (mine.asked == ask) return;
  std::map<std::string, std::string> values = form.changed;
  values.insert(form.values.begin(), form.values.end());
  mine.knobs = memory_knobs_of(card.info, values);
  mine.played = play_memory(ask, card.info);
  mine.asked = std::move(ask);
}

std::string need_words(const PlayedMemory& played) {
  const MemoryTimeline& course = played.course;
  return fmt::format("A rank needs {} at its peak ({}{}); most of its tensors: {}.",
                     human_bytes(played.plan.total()), course.peak_stage,
                     course.peak_module.empty() ? "" : ", " + course.peak_module,
                     name_of(course.peak_owner()));
}

/// Settings of the form as a way has them.
void set_way(FormState& form, const MemoryWay& way) {
  std::istringstream words(way.change);
  for (std::string option, value; words >> option >> value;) {
    if (option == "--ranks") value = "run.ranks=" + value;
    form.set(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
  }
}

void draw_fit(Ui& ui, const PlayedMemory& played, FormState& form) {
  if (played.limit_bytes == 0) return ui.note("Turn the cap to see what would fit below it.");
  const auto total = static_cast<double>(played.plan.total());
  const std::string cap = human_bytes(played.limit_bytes);
  if (played.is_within())
    return ui.wrapped(fmt::format("Fits into {}, {:.0f} % of it.", cap,
                                  100 * total / static_cast<double>(played.limit_bytes)),
                      Face::bold, ui.theme().good);
  ui.wrapped(fmt::format("Does not fit into {}: {:.1f} times as much.", cap,
                         total / static_cast<double>(played.limit_bytes)),
             Face::bold, ui.theme().bad);
  if (played.fits.empty())
    return ui.note("No change of this lesson's settings makes it fit: a smaller model or batch does.");
  const MemoryWay& way = played.fits.front();
  if (ui.button("Set it", ButtonKind::plain, true, "cheapest change")) set_way(form, way);
  const std::string price = way.computing > 1 ? fmt::format(", {:.2f} x the computing", way.computing) : "";
  ui.beside().framed().fitted(
      fmt::format("Cheapest change: {} ({} a rank{})", way.change, human_bytes(way.plan.total()), price),
      Face::text, ui.theme().text);
}

/// The memory that the chosen run took, where it had these settings.
void draw_measured(Ui& ui, const Data& data, const AppState& state, const PlayedMemory& played) {
  const auto run = data.feed.runs->find(state.run);
  if (!run || !run->detail || run->view.lesson != state.lesson || run->view.summary.peak_bytes == 0) return;
  if (!run->view.is_measured_here() || !differing_settings(run->detail->config, played.config).empty())
    return;
  const auto measured = static_cast<double>(run->view.summary.peak_bytes);
  ui.note(fmt::format("{} measured {}: predicted {:+.1f} %.", title_of(*run),
                      human_bytes(run->view.summary.peak_bytes),
                      100 * (static_cast<double>(played.plan.total()) / measured - 1)));
}

/// In the words of recorded timelines.
CountedBytes counted_bytes(const MemoryPlan& plan) {
  CountedBytes out;
  const auto held = held_bytes(plan);
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i] > 0) out.emplace_back(kMemoryCategories[i], held[i]);
  out.emplace_back(name_of(MemoryCategory::program), plan.program);
  return out;
}

/// The plan by category, with a line at the cap.
Drawing plan_drawing(const PlayedMemory& played) {
  Drawing out{.title = "", .note = "", .alt = played.plan.text(), .body = {}};
  out.body = [&played](Sketch& sketch, PlotPoint at, float width) {
    const bool near = played.limit_bytes < 2 * played.plan.total();
    StackedBar bar = memory_bar(sketch.theme(), "The plan of a rank at its peak", counted_bytes(played.plan));
    if (near) bar.mark = static_cast<double>(played.limit_bytes);
    if (near && played.limit_bytes > 0)
      bar.mark_words = "the line is the cap, " + human_bytes(played.limit_bytes);
    if (played.plan.host > 0)
      bar.mark_words += (bar.mark_words.empty() ? "" : "; ") + human_bytes(played.plan.host) +
                        " lie in host memory beside it";
    return paint_stacked_bar(sketch, bar, at, width);
  };
  return out;
}

std::string plan_csv(const PlayedMemory& played) {
  std::string out = "category,bytes\n";
  for (const auto& [name, bytes] : counted_bytes(played.plan)) out += fmt::format("{},{}\n", name, bytes);
  return out;
}

void draw_step(Ui& ui, const PlayedMemory& played, Requests& ask) {
  const MemoryRun run{
      .label = "", .timeline = played.course, .predicted = true, .limit_bytes = played.limit_bytes};
  const auto csv = [&] { return plan_csv(played); };
  show_drawing(ui, "predicted-memory", memory_drawing({run}), csv, ask);
  show_drawing(ui, "memory-plan", plan_drawing(played), csv, ask);
}

std::string front_csv(const MemoryFront& front) {
  std::string out = "way,bytes,samples_per_s\n";
  for (const PredictedWay& way : front.ways)
    out += fmt::format("{},{},{}\n", csv_quoted(way_words(way_kind(way.way.config))), way.way.plan.total(),
                       way.samples_per_s);
  return out;
}

void draw_front(Ui& ui, const LessonCard& card, MemoryPlay& mine, Requests& ask) {
  mine.fronts.take(mine.asked, card.info, [](const MemoryAsk& of, const LessonInfo& lesson, auto*) {
    return answer_front(of, lesson);
  });
  if (mine.fronts.is_busy()) ui.ask_frame();
  const FrontAnswer* const answer = mine.fronts.last().get();
  if (answer == nullptr || answer->of.lesson != card.info.name) return ui.note("Ways are worked out.");
  if (!answer->problem.empty()) return ui.problem(answer->problem);
  const auto csv = [&] { return front_csv(answer->front); };
  show_drawing(ui, "memory-front", front_drawing(answer->front), csv, ask);
}

}  // namespace

void draw_memory_play(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask) {
  MemoryPlay& mine = state.play.memory;
  FormState& form = state.form();
  if (ui.choice("Processors", !mine.on_gpu)) mine.on_gpu = false;
  ui.tip("A rank on the processors of this machine.");
  if (ui.beside(2).choice("GPU", mine.on_gpu)) mine.on_gpu = true;
  ui.tip("A rank on a GPU of its own; times are those of an H200.");
  if (ui.beside(18).choice("One step", !mine.front)) mine.front = false;
  if (ui.beside(2).choice("All ways by speed", mine.front)) mine.front = true;
  if (ui.beside(18).button("Back to the preset", ButtonKind::quiet, !form.changed.empty(), "reset knobs"))
    reset_form(form, ask);
  ask_memory(data, card, form, mine);
  const float knobs = std::min(ui.px(kMemoryKnobs), ImGui::GetContentRegionAvail().x * 0.4F);
  ImGui::BeginChild("memory knobs", {knobs, 0}, true, ImGuiWindowFlags_AlwaysUseWindowPadding);
  draw_form_knobs(ui, form, mine.knobs);
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(12));
  ImGui::BeginChild("memory answer", {0, 0});
  if (!mine.played.is_known()) {
    ui.wrapped("Nothing is planned for these settings: " + mine.played.problem, Face::bold, ui.theme().warn);
  } else {
    // Its height leaves room for all words: what is below stays in its place.
    ImGui::PushStyleColor(ImGuiCol_ChildBg, Colour{0});
    ImGui::BeginChild("memory words", {0, ui.px(kWordsHeight)});
    ui.gap(4);
    ImGui::Indent(ui.px(kPictureMargin));
    ui.wrapped(need_words(mine.played), Face::bold, ui.theme().text);
    draw_fit(ui, mine.played, form);
    draw_measured(ui, data, state, mine.played);
    ImGui::EndChild();
    ImGui::PopStyleColor();
    if (mine.front)
      draw_front(ui, card, mine, ask);
    else
      draw_step(ui, mine.played, ask);
  }
  ImGui::EndChild();
}

}  // namespace isobar
