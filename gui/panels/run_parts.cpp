#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/run_prediction.h"
#include "core/clock.h"
#include "core/cpu_instructions.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/parts.h"

namespace isobar {
namespace {

RunFacts facts_of(const Data& data, const RunEntry& run) {
  RunFacts out;
  for (const LessonCard& card : data.project.lessons) {
    if (card.cannot_run.empty()) out.lessons[card.info.name] = card.info.helps;
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

constexpr std::size_t kMostRows = 8;

/// Where the columns of figures end, in pixels of scale 1 from the left edge; the bar takes what is left.
constexpr std::array<float, kRankColumns.size()> kFigureRights = {236, 306, 376, 450, 512, 586};
constexpr float kBar = 610, kLeastBar = 60;

/// What `text_of` gives of each column.
template <class TextOf>
void paint_figures(Canvas& canvas, const TextOf& text_of, float x, float y, Face face, Colour colour) {
  for (std::size_t i = 0; i < kFigureRights.size(); ++i)
    canvas.text(x + canvas.scale() * kFigureRights[i], y, text_of(kRankColumns[i]), face, colour, 1);
}

void draw_header(Ui& ui, ImGuiCanvas& canvas, const Box& box) {
  const Colour dim = ui.theme().dim;
  canvas.text(box.x0 + ui.px(8), box.y0, "rank", Face::small, dim);
  paint_figures(canvas, std::mem_fn(&RankColumn::head), box.x0, box.y0, Face::small, dim);
  const float left = box.x0 + ui.px(kBar);
  if (box.x1 - left < ui.px(kLeastBar)) return;
  paint_fitted(canvas, left, box.y0, box.x1 - left, "own work, then exposed comm", Face::small, dim);
}

void draw_bar(Ui& ui, ImGuiCanvas& canvas, const RanksView& view, const RankFigures& rank, const Box& box) {
  const float left = box.x0 + ui.px(kBar);
  const float width = box.x1 - ui.px(12) - left;
  double most_us = 1;
  for (const RankFigures& one : view.ranks) most_us = std::max(most_us, one.step_us.value_or(0));
  if (width < ui.px(kLeastBar) || !(rank.step_us > 0)) return;
  const double step_us = *rank.step_us, comm_us = std::min(rank.comm_us.value_or(0), step_us);
  const auto at = [&](double time_us) { return left + width * static_cast<float>(time_us / most_us); };
  const float top = box.y0 + ui.px(7);
  const float bottom = box.y1 - ui.px(7);
  canvas.fill({left, top, at(step_us - comm_us), bottom}, stage_colour(ui.theme(), "backward"));
  canvas.fill({at(step_us - comm_us), top, at(step_us), bottom}, stage_colour(ui.theme(), "comm"));
}

void draw_row(Ui& ui, ImGuiCanvas& canvas, const RanksView& view, const RankFigures& rank, const Box& box) {
  const Theme& theme = ui.theme();
  const float y = box.y0 + ui.px(5);
  const bool slow = view.straggler && view.straggler->rank == rank.rank;
  const Colour colour = rank.is_lost() ? theme.bad : slow ? theme.warn : theme.text;
  const std::string state = !rank.has_stream ? "no stream" : slow ? "straggler" : state_name(rank.state);
  canvas.text(box.x0 + ui.px(8), y, fmt::format("{}", rank.rank), Face::bold, colour);
  const std::string where = rank.host.empty() ? state : state + ", " + rank.host;
  paint_fitted(canvas, box.x0 + ui.px(40), y, ui.px(140), where, Face::small,
               rank.is_lost() || slow ? colour : theme.dim);
  const auto text_of = [&](const RankColumn& column) { return column.text_of(rank); };
  paint_figures(canvas, text_of, box.x0, y, Face::text, theme.text);
  draw_bar(ui, canvas, view, rank, box);
}

}  // namespace

void draw_verdict(Ui& ui, const Data& data, const std::shared_ptr<const RunEntry>& run, AppState& state,
                  Requests& ask) {
  if (!run->detail || run->foreign) return;
  const RunVerdict& verdict = verdict_of(data, run, state.watch);
  if (!verdict.is_known && run->view.source.empty()) return;  // a run of ours may just have begun
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Indent(ui.px(12));
  ui.wrapped(sentence_case(verdict_sentence(verdict)), Face::bold, ui.theme().text);
  if (!verdict.notice.empty()) ui.note("Notice: " + verdict.notice + ".");
  if (!verdict.next.empty()) draw_next(ui, data, verdict, run->view, ask);
  ImGui::Unindent(ui.px(12));
  const float bottom = ImGui::GetItemRectMax().y;
  ui.canvas().fill({at.x, at.y, at.x + ui.px(3), bottom}, ui.theme().accent, ui.px(1.5F));
  ui.gap(2);
}

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
  const RunView& view = run.view;
  const RunSummary& summary = view.summary;
  std::vector<std::string> facts;
  if (!view.preset.empty()) facts.push_back("preset " + view.preset);
  if (!view.device.empty())
    facts.push_back("on " + view.device + (view.host.empty() ? "" : " of " + view.host));
  if (!view.started.empty())
    facts.push_back((view.provenance == "predicted" ? "made " : "started ") + minute_text(view.started));
  if (summary.samples_per_s > 0) {
    std::string& rate = facts.emplace_back(engineering(summary.samples_per_s, 4) + " samples/s");
    if (summary.world > 1) rate += fmt::format(" on {} ranks", summary.world);
    if (summary.mfu() > 0) rate += fmt::format(", MFU {:.1f} %", 100 * summary.mfu());
    if (summary.hfu() > summary.mfu()) rate += fmt::format(", HFU {:.1f} %", 100 * summary.hfu());
    if (summary.peak_is_too_low()) rate += ", MFU not known";
  }
  if (!view.provenance.empty() && !view.point.empty()) facts.push_back("with " + view.point);
  ui.note(facts.empty() ? run.folder.string() : joined(facts, "   "));
  if (summary.is_crowded()) ui.warning(crowded_sentence(summary.processor_wait));
  for (const std::string& mark : marks_of(view)) ui.warning(mark);
  if (!summary.measure.empty()) ui.note(sentence_case(measure_sentence(summary.measure)));
  if (!run.problem.empty()) ui.warning(run.problem);
  if (run.detail && run.detail->ranks) {
    const RanksView& ranks = *run.detail->ranks;
    if (ranks.straggler) ui.warning(straggler_sentence(ranks));
    for (const std::string& line : lost_rank_sentences(ranks, 2)) ui.problem(line);
  }
  if (view.unread_lines > 0)
    ui.warning(fmt::format("{} lines of the stream could not be read", view.unread_lines));
  LeftOut left_out = view.left_out;
  if (run.detail) left_out.add(run.detail->series.left_out());
  for (const std::string& sentence : left_out.sentences()) ui.warning(sentence);
  for (const std::string& remark : view.remarks) ui.note(remark);
}

std::string skill_text(double rmse, double persistence) {
  if (!(persistence > 0)) return "";
  const double part = 100 * (rmse / persistence - 1);
  return fmt::format("{:.1f} % {} persistence", std::abs(part), part < 0 ? "below" : "above");
}

std::optional<int> draw_ranks(Ui& ui, const RanksView& view, int chosen) {
  std::optional<int> clicked;
  const Theme& theme = ui.theme();
  const int hosts = view.hosts();
  ui.text(fmt::format("{} ranks on {}", view.world,
                      hosts > 1 ? fmt::format("{} machines", hosts) : "one machine"),
          Face::bold);
  if (view.steps > 0) {
    ui.beside(12).dim(fmt::format("means of all ranks, steps {} to {}{}", view.first_step, view.last_step,
                                  view.steady ? "" : ", still within the warm-up"));
  }
  if (view.straggler) ui.wrapped(straggler_sentence(view), Face::text, theme.warn);
  for (const std::string& line : lost_rank_sentences(view, 3)) ui.wrapped(line, Face::text, theme.bad);
  if (const std::string comm = comm_sentence(view); !comm.empty()) ui.note("Communication " + comm);
  ImGuiCanvas canvas = ui.canvas();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, ui.px(2)});
  draw_header(ui, canvas, ui.space(ui.px(18)));
  const std::vector<const RankFigures*> shown = shown_ranks(view, kMostRows);
  for (const RankFigures* const rank : shown) {
    Box box;
    if (ui.row(fmt::format("rank {}", rank->rank), rank->rank == chosen, ui.px(28), &box))
      clicked = rank->rank;
    draw_row(ui, canvas, view, *rank, box);
  }
  ImGui::PopStyleVar();
  const std::int64_t others = view.world - static_cast<std::int64_t>(shown.size());
  if (others > 0) ui.dim(fmt::format("and {} more, none of which failed or came last more often", others));
  return clicked;
}

}  // namespace isobar
