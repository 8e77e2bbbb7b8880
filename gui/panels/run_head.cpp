#include "panels/run_head.h"

#include <fmt/format.h>

#include <cmath>

#include "core/clock.h"
#include "core/text.h"
#include "draw/axis.h"

namespace isobar {

void draw_run_head(Ui& ui, const RunEntry& run) {
  const Theme& theme = ui.theme();
  ui.text(title_of(run), Face::title);
  const std::string line = run_line(run);
  const bool elsewhere = !run.view.provenance.empty();
  const Colour colour = run.gone || elsewhere ? theme.warn : state_colour(theme, run.view.state);
  const float left = ImGui::GetItemRectMax().x + ui.px(12);
  if (left + ui.canvas().text_width(line, Face::text) < ImGui::GetWindowPos().x + ImGui::GetWindowWidth()) {
    ImGui::SameLine(0, ui.px(12));
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui.px(5));
    ui.text(line, Face::text, colour);
  } else {
    ui.wrapped(line, Face::text, colour);
  }
  std::string facts = run.view.preset.empty() ? "" : "preset " + run.view.preset + "   ";
  if (!run.view.device.empty())
    facts += "on " + run.view.device + (run.view.host.empty() ? "" : " of " + run.view.host) + "   ";
  if (!run.view.started.empty())
    facts +=
        (run.view.provenance == "predicted" ? "made " : "started ") + minute_text(run.view.started) + "   ";
  if (run.view.summary.samples_per_s > 0) {
    facts += engineering(run.view.summary.samples_per_s, 4) + " samples/s";
    if (run.view.summary.world > 1) facts += fmt::format(" on {} ranks", run.view.summary.world);
    const double mfu = run.view.summary.mfu();
    if (mfu > 0) facts += fmt::format(", MFU {:.1f} %", 100 * mfu);
    if (run.view.summary.peak_is_too_low()) facts += ", MFU not known";
    facts += "   ";
  }
  if (!run.view.provenance.empty() && !run.view.point.empty()) facts += "with " + run.view.point + "   ";
  ui.wrapped(facts.empty() ? run.folder.string() : facts, Face::small, theme.dim);
  if (run.view.summary.is_crowded())
    ui.wrapped(crowded_sentence(run.view.summary.processor_wait), Face::small, theme.warn);
  if (!run.view.replay_of.empty())
    ui.wrapped(fmt::format("a replay of {} at {:g}x", run.view.replay_of, run.view.replay_speed), Face::small,
               theme.warn);
  if (!run.view.fault.empty())
    ui.wrapped("with the fault " + run.view.fault + ": a mistake on purpose", Face::small, theme.warn);
  if (run.view.throttle_mb_per_s > 0)
    ui.wrapped(fmt::format("on a disk that was made slow: {} MB/s", run.view.throttle_mb_per_s), Face::small,
               theme.warn);
  if (run.view.data_source == "synthetic") ui.wrapped("on data that was made up", Face::small, theme.warn);
  if (const std::string& measure = run.view.summary.measure; !measure.empty())
    ui.wrapped(measure_text(run.view) + ": " + measure_sentence(measure), Face::small, theme.dim);
  if (!run.problem.empty()) ui.wrapped(run.problem, Face::small, theme.warn);
  if (run.detail && run.detail->ranks) {
    const RanksView& ranks = *run.detail->ranks;
    if (ranks.straggler) ui.wrapped(straggler_sentence(ranks), Face::small, theme.warn);
    for (const std::string& line : lost_rank_sentences(ranks, 2)) ui.wrapped(line, Face::small, theme.bad);
  }
  if (run.view.unread_lines > 0) {
    ui.wrapped(fmt::format("{} lines of the stream could not be read", run.view.unread_lines), Face::small,
               theme.warn);
  }
  LeftOut left_out = run.view.left_out;
  if (run.detail) left_out.add(run.detail->series.left_out());
  for (const std::string& sentence : left_out.sentences()) ui.wrapped(sentence, Face::small, theme.warn);
  for (const std::string& remark : run.view.remarks) ui.wrapped(remark, Face::small, theme.dim);
}

std::string skill_text(double rmse, double persistence) {
  if (!(persistence > 0)) return "";
  const double part = 100 * (rmse / persistence - 1);
  return fmt::format("{:.1f} % {} persistence", std::abs(part), part < 0 ? "below" : "above");
}

}  // namespace isobar
