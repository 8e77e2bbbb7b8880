#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analyse/figure.h"
#include "core/text.h"
#include "panels/parts.h"
#include "plot/run_drawings.h"

namespace isobar {
namespace {

const RunEntry& entry_of(const ComparedRuns& compared, std::size_t index) {
  return *compared.cases[index].run;
}

const std::string& label_of(const ComparedRuns& compared, const Labels& labels, std::size_t index) {
  return labels.at(entry_of(compared, index).id);
}

std::string facts_of(const ComparedRuns& compared, std::size_t index) {
  const RunCase& one = compared.cases[index].figures;
  const RunView& view = one.view();
  std::vector<std::string> out;
  const bool is_common = std::ranges::all_of(compared.cases, [&](const ComparedCase& other) {
    return compared.cases.size() > 1 && origin_of(other.figures.view()).from == origin_of(view).from;
  });
  if (!view.is_measured_here() && !is_common) out.push_back(provenance_text(view));
  if (view.state != RunState::done) out.push_back(state_name(view.state));
  out.push_back(counted(static_cast<std::int64_t>(one.repeats.size()), "run"));
  if (view.summary.is_crowded()) out.emplace_back("beside other programs");
  std::vector<const Figure*> figures = reported_in(FigureTable::runs, {&one.repeats});
  std::ranges::stable_sort(figures, std::greater(), &Figure::worth);  // what has no room is worth least
  for (const Figure* const figure : figures) {
    const bool is_drawn =
        std::string_view(figure->name) == "samples_per_s" || std::string_view(figure->name) == "step_us";
    if (!is_drawn) out.push_back(std::string(figure->head) + " " + figure_cell(*figure, one.repeats));
  }
  if (compared.loss && least_loss(view))
    out.push_back(
        fmt::format("{:.3g} after {}", *compared.loss, human_seconds(seconds_to(view, *compared.loss))));
  return joined(out, "  ");
}

ScoreRow row_of(Ui& ui, const ComparedRuns& compared, const Labels& labels, std::size_t index,
                AppState& state) {
  const RunCase& one = compared.cases[index].figures;
  const RunEntry& entry = entry_of(compared, index);
  ScoreRow out = score_row(one.repeats);
  out.label = label_of(compared, labels, index);
  out.facts = facts_of(compared, index);
  out.colour = run_colour(ui, state, entry);
  out.mark = run_mark(state, entry);
  out.has_bar = one.view().is_measured_here();
  out.versus = index == 0 ? "base" : "";
  if (index > 0) {
    const RunComparison& found = compared.against[index - 1];
    if (found.speed && found.no_ratio.empty()) {
      out.versus = ratio_text(*found.speed);
      out.strong = found.speed->is_told();
    } else if (found.repeats) {
      out.versus = "repeats the base";
    }
  }
  return out;
}

/// The case that stands against the base: the one that was chosen, else the last.
std::size_t other_of(const ComparedRuns& compared, const AppState& state) {
  for (std::size_t i = 1; i < compared.cases.size(); ++i) {
    if (entry_of(compared, i).id == state.compare.other) return i;
  }
  return compared.cases.size() - 1;
}

/// With all that is ticked of its case.
void untick(const ComparedRuns& compared, const RunEntry& run, AppState& state) {
  for (const ComparedCase& one : compared.cases) {
    if (one.run->id != run.id) continue;
    for (const std::string& id : one.ticked) state.compared.erase(id);
  }
}

/// Which curves lie on each other.
void draw_identical(Ui& ui, const ComparedRuns& compared, const Labels& labels) {
  for (const std::vector<std::size_t>& group : compared.identical) {
    std::vector<std::string> names;
    for (const std::size_t i : group) names.push_back(label_of(compared, labels, i));
    const bool all = group.size() == compared.cases.size() && group.size() > 2;
    ui.wrapped((all ? "All of them" : joined(names, " = ")) + ": losses identical to the last bit",
               Face::small, ui.theme().good);
  }
}

void draw_sentence(Ui& ui, const ComparedRuns& compared, const Labels& labels, std::size_t other,
                   Requests& ask) {
  if (compared.cases.size() < 2) {
    const bool several = !compared.cases.empty() && compared.cases.front().figures.repeats.size() > 1;
    ui.wrapped(several
                   ? "These runs repeat one another. Tick one with other settings to compare it with them."
                   : "Tick another run to compare it with this one.",
               Face::text, ui.theme().dim);
    return;
  }
  const std::string sentence = comparison_sentence(compared.against[other - 1], label_of(compared, labels, 0),
                                                   label_of(compared, labels, other));
  const std::size_t answer = sentence.find("; ");
  ui.wrapped(sentence.substr(0, answer) + (answer == std::string::npos ? "" : "."), Face::bold,
             ui.theme().text);
  if (answer != std::string::npos) {
    ui.sentence(sentence_case(sentence.substr(answer + 2)));
  }
  const std::string command = repeats_command(compared.cases.front().figures, compared.cases[other].figures,
                                              compared.against[other - 1]);
  if (command.empty()) return;
  if (ui.button("Copy the command that makes the missing runs")) ask.copy = command;
  ui.tip(command);
}

void draw_board(Ui& ui, const ComparedRuns& compared, const Labels& labels, AppState& state, Requests& ask) {
  ScoreSpec spec;
  spec.title = "Samples/s, and a step by stage";
  spec.empty = "No run here has recorded a step.";
  for (std::size_t i = 0; i < compared.cases.size(); ++i)
    spec.rows.push_back(row_of(ui, compared, labels, i, state));
  ImGuiCanvas canvas = ui.canvas();
  const Box box = ui.panel(scoreboard_height(spec, canvas));
  const ImVec2 below = ImGui::GetCursorScreenPos();
  const std::size_t other = compared.cases.size() > 1 ? other_of(compared, state) : 0;
  const std::vector<Box> rows = paint_scoreboard(canvas, ui.theme(), spec, box);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RunEntry& entry = entry_of(compared, i);
    if (i == other && i > 0)
      canvas.fill({rows[i].x0, rows[i].y0 + ui.px(6), rows[i].x0 + ui.px(3), rows[i].y1 - ui.px(6)},
                  ui.theme().accent, ui.px(1.5F));
    ImGui::PushID(static_cast<int>(i));
    const float links = canvas.text_width("Watch", Face::small) + canvas.text_width("Remove", Face::small);
    ImGui::SetCursorScreenPos({rows[i].x1 - ui.px(18) - links, rows[i].y0 + ui.px(25)});
    if (ui.link("Watch", "watch " + entry.name)) ask.show_run = entry.id;
    if (ui.beside(10).link("Remove", "remove " + entry.name)) untick(compared, entry, state);
    ImGui::SetCursorScreenPos(least_of(rows[i]));
    if (ui.area("score " + entry.name, {rows[i].width(), rows[i].height()}).clicked)
      state.compare.other = entry.id;
    ui.tip(entry.name + "\n" + run_line(entry) +
           (i == 0 ? "\nThe base: the lowest lesson here" : "\nClick to compare it with the base below"));
    ImGui::PopID();
  }
  ImGui::SetCursorScreenPos(below);
  const auto paint = [&](Canvas& onto, const Box& in) { paint_scoreboard(onto, ui.theme(), spec, in); };
  save_drawing(
      ui, box, "compare-throughput", [&] { return scoreboard_csv(spec); }, paint, ask);
}

void draw_waterfall(Ui& ui, const ComparedRuns& compared, const Labels& labels, std::size_t other,
                    AppState& state, Requests& ask) {
  const RunComparison& found = compared.against[other - 1];
  if (found.stages.empty()) return;
  WaterfallSpec spec = waterfall_of(found, label_of(compared, labels, 0), label_of(compared, labels, other));
  spec.base_colour = run_colour(ui, state, entry_of(compared, 0));
  spec.other_colour = run_colour(ui, state, entry_of(compared, other));
  ImGuiCanvas canvas = ui.canvas();
  const Box box = ui.panel(waterfall_height(spec, canvas), "waterfall");
  const auto paint = [&](Canvas& onto, const Box& in) { paint_waterfall(onto, ui.theme(), spec, in); };
  paint(canvas, box);
  save_drawing(
      ui, box, "compare-waterfall", [&] { return waterfall_csv(spec); }, paint, ask);
}

}  // namespace

Colour run_colour(const Ui& ui, AppState& state, const RunEntry& run) {
  return ui.theme().series[state.slot(run.id) % ui.theme().series.size()];
}

Mark run_mark(AppState& state, const RunEntry& run) { return static_cast<Mark>(state.slot(run.id) / 8 % 8); }

void draw_scoreboard(Ui& ui, const ComparedRuns& compared, const Labels& labels, AppState& state,
                     Requests& ask) {
  const std::size_t other = compared.cases.size() > 1 ? other_of(compared, state) : 0;
  draw_sentence(ui, compared, labels, other, ask);
  if (!state.compare.common.empty()) ui.note("All of them: " + state.compare.common);
  draw_board(ui, compared, labels, state, ask);
  draw_identical(ui, compared, labels);
  if (other > 0) draw_waterfall(ui, compared, labels, other, state, ask);
}

}  // namespace isobar
