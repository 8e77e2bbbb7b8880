#include "panels/verdict_strip.h"

#include "analyse/run_prediction.h"
#include "core/cpu_instructions.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "state/comparison.h"

namespace isobar {
namespace {

RunFacts facts_of(const Data& data, const RunEntry& run) {
  RunFacts out;
  for (const LessonCard& card : data.project.lessons) {
    if (card.cannot_run.empty()) out.lessons.push_back(card.info.name);
    if (card.info.name == run.view.lesson) out.honours = card.info.honours;
  }
  static const bool computes_16_bit = has_nvidia_driver() || cpu_instructions().multiplies_bf16();
  out.computes_16_bit = computes_16_bit;
  if (data.rates) out.memory_bytes_per_s = memory_rate(run.detail->config, *data.rates);
  return out;
}

const RunVerdict& verdict_of(const Data& data, const std::shared_ptr<const RunEntry>& run,
                             WatchState& watch) {
  if (watch.judged != run) {
    watch.judged = run;
    watch.verdict = judge_run(case_of(*run), std::nullopt, facts_of(data, *run));
  }
  return watch.verdict;
}

/// The run that the command names, as the window starts one; nothing for another command.
std::optional<RunRequest> request_of(const RunVerdict& verdict, const RunView& view) {
  if (verdict.next_lesson.empty()) return std::nullopt;
  RunRequest out{.lesson = verdict.next_lesson, .preset = view.preset, .sets = {}};
  if (view.summary.world > 1) out.sets.push_back("run.ranks=" + std::to_string(view.summary.world));
  if (view.throttle_mb_per_s > 0)
    out.sets.push_back("data.throttle_mb_per_s=" + std::to_string(view.throttle_mb_per_s));
  return out;
}

void draw_next(Ui& ui, const Data& data, const RunVerdict& verdict, const RunView& view, Requests& ask) {
  const std::optional<RunRequest> request = request_of(verdict, view);
  const LessonCard* const card = request ? data.project.find(request->lesson) : nullptr;
  if (card != nullptr) {
    if (ui.button("Next: run " + card->number + " " + card->short_title, ButtonKind::plain, !data.starting,
                  "next step")) {
      ask.show_lesson = request->lesson;
      ask.start = *request;
    }
  } else if (ui.button("Copy what to try next", ButtonKind::plain, true, "next step")) {
    ask.copy = verdict.next;
  }
  ui.tip(verdict.next);
}

}  // namespace

void draw_verdict(Ui& ui, const Data& data, const std::shared_ptr<const RunEntry>& run, AppState& state,
                  Requests& ask) {
  if (!run->detail || run->foreign) return;
  const RunVerdict& verdict = verdict_of(data, run, state.watch);
  if (!verdict.is_known && run->view.source.empty()) return;  // a run of ours may just have begun
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Indent(ui.px(12));
  std::string sentence = verdict_sentence(verdict);
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  ui.wrapped(sentence, Face::bold, ui.theme().text);
  if (!verdict.notice.empty()) ui.wrapped("Notice: " + verdict.notice + ".", Face::small, ui.theme().dim);
  if (!verdict.next.empty()) draw_next(ui, data, verdict, run->view, ask);
  ImGui::Unindent(ui.px(12));
  const float bottom = ImGui::GetItemRectMax().y;
  ui.canvas().fill({at.x, at.y, at.x + ui.px(3), bottom}, ui.theme().accent, ui.px(1.5F));
  ui.gap(2);
}

}  // namespace isobar
