#include "panels/lesson_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "core/text.h"
#include "draw/chart.h"
#include "draw/colour.h"
#include "panels/parts.h"

namespace isobar {
namespace {

/// A disc with a tick where it is done, else a ring, with the number of a goal.
void draw_disc(Canvas& canvas, const Theme& theme, const LessonPart& part, PlotPoint middle, bool shown) {
  const float radius = 10 * canvas.scale();
  if (part.ticked) {
    canvas.circle(middle, radius, theme.good, true);
    return paint_tick(canvas, middle, theme.panel);
  }
  canvas.circle(middle, radius, shown ? theme.accent : mixed(theme.panel, theme.dim, 0.6F), true);
  canvas.circle(middle, radius - (shown ? 2 : 1.25F) * canvas.scale(), theme.panel, true);
  if (part.kind == PartKind::goal)
    canvas.text(middle.x, middle.y - canvas.line_height(Face::small) / 2, std::to_string(part.goal),
                Face::small, shown ? theme.text : theme.dim, 0.5F);
}

constexpr std::size_t kTail = 8;  // lines of what it says

/// The lesson and the settings of its form behind another command than `run`.
RunRequest measured(const std::string& command, const FormState& form, const std::vector<std::string>& more) {
  const RunRequest run = request_of(form);
  RunRequest out{.lesson = form.lesson, .words = {command, form.lesson}};
  out.words.insert(out.words.end(), more.begin(), more.end());
  if (!run.preset.empty()) out.words.insert(out.words.end(), {"--preset", run.preset});
  for (const std::string& set : run.sets) out.words.insert(out.words.end(), {"--set", set});
  return out;
}

/// A key that this lesson brings, with places worth trying; to begin with.
std::string first_sweep(const LessonCard& card) {
  if (honours(card.info, "comm.bucket_order")) return "comm.bucket_mb=0.25,1,5,25";
  if (honours(card.info, "data.workers")) return "data.workers=0,1,2,4";
  return "train.global_batch=4,8,16";
}

void draw_tail(Ui& ui, const Data& data) {
  const auto& lines = data.feed.log;
  if (!lines || lines->empty()) return;
  const std::string command = command_text(data.started);
  ui.dim(command);
  ui.readable(command, Face::small);
  const std::size_t first = lines->size() - std::min(kTail, lines->size());
  for (std::size_t i = first; i < lines->size(); ++i) {
    ui.fitted((*lines)[i], Face::mono_small, ui.theme().text);
    ui.readable((*lines)[i], Face::mono_small);
  }
}

constexpr std::size_t kLeastPoints = 3;
/// Powers of ten around all numbers, the same on both axes: a right guess lies on the diagonal.
Axis calibration_axis(const Calibration& calibration) {
  double least = 1e300, most = 0;
  for (const auto* const points : {&calibration.you, &calibration.formulas}) {
    for (const CalibrationPoint& point : *points) {
      if (!(point.predicted > 0) || !(point.measured > 0)) continue;
      least = std::min({least, point.predicted, point.measured});
      most = std::max({most, point.predicted, point.measured});
    }
  }
  if (!(most > 0)) least = most = 1;
  const double low = std::floor(std::log10(least));
  const double high = std::max(std::ceil(std::log10(most)), low + 1);
  return {.least = std::pow(10, low), .most = std::pow(10, high), .log = true};
}

}  // namespace

const LessonProgress* progress_of(const Data& data, const std::string& lesson) {
  const LessonProgress* const found = find_in(data.course->lessons, lesson);
  return found == nullptr || found->parts.empty() ? nullptr : found;
}

bool is_revealed(const LessonProgress& progress) {
  return std::ranges::all_of(progress.parts,
                             [](const LessonPart& part) { return part.kind != PartKind::goal || part.done; });
}

std::optional<std::size_t> draw_part_strip(Ui& ui, const LessonProgress& progress, std::size_t shown) {
  std::optional<std::size_t> clicked;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto count = static_cast<float>(progress.parts.size());
  const float each = ImGui::GetContentRegionAvail().x / count;
  const float height = ui.px(62);
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const float y = at.y + ui.px(16);
  for (std::size_t i = 0; i < progress.parts.size(); ++i) {
    const LessonPart& part = progress.parts[i];
    const float left = at.x + each * static_cast<float>(i);
    const float x = left + each / 2;
    ImGui::SetCursorScreenPos({left, at.y});
    const Area place = ui.area("part " + part.name(), {each, height});
    if (place.clicked) clicked = i;
    const bool is_shown = i == shown;
    const Box cell = {left + ui.px(2), at.y, left + each - ui.px(2), at.y + height};
    if (is_shown || place.hovered) canvas.fill(cell, is_shown ? theme.selected : theme.hover, ui.px(6));
    if (i + 1 < progress.parts.size()) {
      paint_stroke(canvas, {x + ui.px(14), y}, {x + each - ui.px(14), y},
                   part.ticked ? theme.good : theme.line, ui.px(1.5F));
    }
  }
  for (std::size_t i = 0; i < progress.parts.size(); ++i) {
    const LessonPart& part = progress.parts[i];
    const float x = at.x + each * (static_cast<float>(i) + 0.5F);
    const bool is_shown = i == shown;
    draw_disc(canvas, theme, part, {x, y}, is_shown);
    canvas.text(x, at.y + ui.px(29), sentence_case(part.name()), Face::small,
                is_shown ? theme.text : theme.dim, 0.5F);
    if (part.of > 0)
      canvas.text(x, at.y + ui.px(44), fmt::format("{}/{}", part.so_far, part.of), Face::small, theme.dim,
                  0.5F);
  }
  ImGui::SetCursorScreenPos(at);
  ui.space(height);
  return clicked;
}

void paint_parts(Canvas& canvas, const Theme& theme, const LessonProgress& progress, PlotPoint at) {
  const float s = canvas.scale();
  float x = at.x - static_cast<float>(progress.parts.size()) * 11 * s + 3 * s;
  for (const LessonPart& part : progress.parts) {
    const Box box = {x, at.y, x + 8 * s, at.y + 8 * s};
    if (part.ticked) {
      canvas.fill(box, theme.good, 2 * s);
    } else {
      canvas.frame(box, mixed(theme.panel, theme.dim, 0.6F));
    }
    x += 11 * s;
  }
}

std::string goals_text(const LessonProgress& progress) {
  std::string out = fmt::format("{} of {} goals", progress.earned(), progress.goals.size());
  if (const std::size_t again = progress.to_try_again(); again > 0)
    out += "; " + counted(static_cast<std::int64_t>(again), "question") + " to try again";
  return out;
}

Box draw_check(Ui& ui, CheckMark mark) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiCanvas canvas = ui.canvas();
  return paint_check(canvas, ui.theme(), {at.x + ui.px(1), at.y + ui.px(3)}, mark, ui.theme().good);
}

void draw_goals(Ui& ui, const LessonCard& card, const LessonProgress& progress) {
  const std::vector<std::string>& goals = card.info.goals;
  if (goals.empty()) return;
  ui.gap(4);
  ui.text("Goals", Face::bold);
  ui.beside(8).dim(goals_text(progress));
  for (std::size_t i = 0; i < goals.size(); ++i) {
    const bool done = i < progress.goals.size() && progress.goals[i].earned;
    const Box box = draw_check(ui, done ? CheckMark::held : CheckMark::open);
    if (done) ui.record(fmt::format("reached goal {}", i + 1), box);
    ImGui::Indent(ui.px(26));
    ui.wrapped(goals[i], Face::text, done ? ui.theme().text : ui.theme().dim);
    ImGui::Unindent(ui.px(26));
  }
}

void draw_measure(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask) {
  CourseState& course = state.course;
  const FormState& form = state.form();
  const bool good = form.problem.empty() && card.cannot_run.empty();
  std::string& sweep = course.sweeps.try_emplace(card.info.name, first_sweep(card)).first->second;
  ui.gap(4);
  ui.framed().text("Measure", Face::bold);
  if (ui.at_x(ImGui::GetContentRegionMax().x - ui.button_width("Stop"))
          .button("Stop", ButtonKind::danger, data.starting, "stop measuring"))
    ask.stop_started = true;
  /// A button in the left column; what stands beside it is drawn next.
  const auto row = [&](const char* label, bool enabled, const RunRequest& request) {
    const float left = ImGui::GetCursorPosX();
    if (ui.button(label, ButtonKind::plain, !data.starting && enabled, std::string("measure ") + label))
      ask.start = request;
    ui.tip(command_text(request));
    ImGui::SameLine(left + ui.px(92));
    ImGui::AlignTextToFramePadding();
  };
  row("Run", good, request_of(form));
  ui.note("once, with the settings beside this tab");
  row("Quartet", good, measured("quartet", form, {}));
  ui.note("what bounds it: data, copying, computing");
  row("Sweep", good && sweep.find('=') != std::string::npos, measured("sweep", form, {sweep}));
  ui.input("sweep", sweep, "key=a,b", -1);
  if (honours(card.info, "run.ranks")) {
    row("Scale", good && !course.ranks.empty(), measured("scale", form, {"--ranks", course.ranks}));
    ui.input("scale ranks", course.ranks, "1,2", -1);
  }
  row("Ladder", true, {.lesson = card.info.name, .words = {"ladder"}});
  ui.note("every lesson that this machine can run, in turn");
  if (data.started.command() != "quiz") draw_tail(ui, data);
}

void draw_calibration(Ui& ui, const Data& data) {
  const Calibration& calibration = data.course->calibration;
  ui.gap(4);
  ui.text("How close your numbers are", Face::bold);
  if (calibration.you.size() < kLeastPoints) {
    ui.note(
        fmt::format("{} of {} numbers so far. From three on they are drawn here: what you said against "
                    "what was measured, beside the same of the formulas.",
                    calibration.you.size(), kLeastPoints));
    return;
  }
  ui.note(sentence_case(calibration_sentence(calibration)) + ".");
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::min(ImGui::GetContentRegionAvail().x, ui.px(420));
  Sketch sketch(canvas, theme);
  std::vector<LegendEntry> legend = {{.words = "you", .colour = theme.series[0], .mark = Mark::circle}};
  if (!calibration.formulas.empty())
    legend.push_back({.words = "the formulas", .colour = theme.series[1], .mark = Mark::ring});
  const float below = sketch.legend(point_of(at), width, legend);
  ChartSpec spec;
  spec.x = spec.y = calibration_axis(calibration);
  spec.x_title = "measured";
  spec.y_title = "predicted";
  spec.height = 0.6F * width / canvas.scale();
  const ChartArea area = paint_chart(sketch, spec, {at.x, below + ui.px(4)}, width);
  sketch.line(area.at(spec.x.least, spec.y.least), area.at(spec.x.most, spec.y.most), theme.dim, 1.5F);
  const auto paint = [&](const std::vector<CalibrationPoint>& points, Mark mark, Colour colour) {
    for (const CalibrationPoint& point : points) {
      if (point.predicted > 0 && point.measured > 0)
        sketch.mark(area.at(point.measured, point.predicted), mark, colour, 4.5F);
    }
  };
  paint(calibration.formulas, Mark::ring, theme.series[1]);
  paint(calibration.you, Mark::circle, theme.series[0]);
  ui.record("calibration", ui.space(area.end - at.y));
}

}  // namespace isobar
