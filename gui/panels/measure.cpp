#include <algorithm>

#include "panels/lesson_parts.h"
#include "panels/run_form.h"

namespace isobar {
namespace {

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
  const float width = ImGui::GetContentRegionAvail().x;
  const std::size_t first = lines->size() - std::min(kTail, lines->size());
  for (std::size_t i = first; i < lines->size(); ++i) {
    ui.text(ui.canvas().fitted((*lines)[i], Face::mono_small, width), Face::mono_small, ui.theme().text);
    ui.readable((*lines)[i], Face::mono_small);
  }
}

}  // namespace

void draw_measure(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask) {
  CourseState& course = state.course;
  const FormState& form = state.form();
  const bool good = form.problem.empty() && card.cannot_run.empty();
  std::string& sweep = course.sweeps.try_emplace(card.info.name, first_sweep(card)).first->second;
  ui.gap(4);
  ImGui::AlignTextToFramePadding();
  ui.text("Measure", Face::bold);
  ImGui::SameLine(ImGui::GetContentRegionMax().x - ui.button_width("Stop"));
  if (ui.button("Stop", ButtonKind::danger, data.starting, "stop measuring")) ask.stop_started = true;
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

}  // namespace isobar
