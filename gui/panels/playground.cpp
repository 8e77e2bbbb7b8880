#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_prediction.h"
#include "core/find.h"
#include "core/text.h"
#include "draw/stage_bars.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "record/run_summary.h"
#include "widgets/plot_widget.h"

namespace isobar {
namespace {

constexpr float kKnobs = 300;
constexpr float kPlot = 190;
constexpr std::size_t kMostNamed = 3;

/// Works out again what the settings or the rates changed.
void keep_up(const Data& data, const LessonCard& card, AppState& state) {
  FormState& form = state.form();
  PlayState& mine = state.play;
  if (form.stale) check_form(data.project, form);
  const RunRequest request = request_of(form);
  const std::string made_of = fmt::format("{} {} {} {} {}", card.info.name, request.preset,
                                          joined(request.sets, " "), mine.turned, data.rates->measured);
  if (mine.made_of == made_of) return;
  mine.made_of = made_of;
  std::map<std::string, std::string> values = form.changed;
  values.insert(form.values.begin(), form.values.end());
  mine.knobs = knobs_of(card.info, values);
  mine.step = play(data.project, card.info, request.preset, request.sets, *data.rates);
  mine.plain = play(data.project, card.info, request.preset, {}, *data.rates);
  mine.curve.clear();
  if (const Knob* const knob = find_by(mine.knobs, &Knob::key, mine.turned))
    mine.curve = play_all(data.project, card.info, request.preset, request.sets, *data.rates, *knob);
}

std::string figures_of(double step_us, double samples_per_s) {
  return fmt::format("{:.1f} ms   {:.1f} samples/s", step_us * 1e-3, samples_per_s);
}

StageBar predicted_bar(const std::string& label, const PlayedStep& step) {
  return {label, figures_of(step.stages.step_us(), step.samples_per_s()), step.stages.named(), true};
}

/// The chosen run where it is one of this lesson, with what sets it apart from the settings.
void add_measured(const Data& data, const AppState& state, std::vector<StageBar>& bars) {
  const auto run = data.feed.runs->find(state.run);
  if (!run || !run->detail || run->view.lesson != state.lesson || !run->view.is_measured_here()) return;
  const RunSummary& summary = run->view.summary;
  if (!(summary.step_us > 0)) return;
  std::vector<std::string> differs = differing_settings(run->detail->config, state.play.step.config);
  if (differs.size() > kMostNamed) {
    const std::size_t more = differs.size() - kMostNamed;
    differs.resize(kMostNamed);
    differs.push_back(fmt::format("and {} more", more));
  }
  bars.push_back({"Measured: " + title_of(*run) +
                      (differs.empty() ? ", these settings" : ", with another " + joined(differs)),
                  figures_of(summary.step_us, summary.samples_per_s), summary.stages_us});
}

void draw_bars(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const PlayState& mine = state.play;
  std::vector<StageBar> bars = {predicted_bar("Predicted: these settings", mine.step)};
  if (!state.form().changed.empty() && mine.plain.is_known())
    bars.push_back(predicted_bar("Predicted: the preset as it is", mine.plain));
  add_measured(data, state, bars);
  ImGuiCanvas canvas = ui.canvas();
  const Box box = ui.panel(stage_bars_height(bars, canvas), "predicted stages");
  const auto paint = [&](Canvas& onto, const Box& in) { paint_stage_bars(onto, ui.theme(), bars, in); };
  paint(canvas, box);
  save_drawing(
      ui, box, "predicted-stages", [&] { return stage_bars_csv(bars); }, paint, ask);
}

std::string needs_text(const PlayedStep& step) {
  const std::int64_t ranks = step.config.run.ranks;
  std::string out = fmt::format("A rank needs {} of memory", human_bytes(step.memory.total()));
  if (const double bytes = step.stages.needed_bytes_per_s(ranks); bytes > 0)
    out += fmt::format("; {}/s of data keep the step from waiting",
                       human_bytes(static_cast<std::uint64_t>(bytes)));
  if (ranks > 1)
    out += fmt::format("; the link is busy for {:.1f} ms a step, and {:.1f} ms of that show",
                       step.stages.comm_total_us * 1e-3, step.stages.comm_us * 1e-3);
  return out + ".";
}

void draw_answer(Ui& ui, const Data& data, const PlayState& mine) {
  if (!mine.step.is_known()) {
    ui.wrapped("Nothing is predicted for these settings: " + mine.step.problem, Face::bold, ui.theme().warn);
    return;
  }
  const auto [stage, share] = mine.step.largest();
  ui.wrapped(fmt::format("Predicted: {:.1f} samples/s; {} takes {:.0f} % of the step.",
                         mine.step.samples_per_s(), stage, 100 * share),
             Face::bold, ui.theme().text);
  ui.note(needs_text(mine.step));
  if (data.rates->processor_wait > kCrowdedWait)
    ui.warning(fmt::format(
        "The rates of this machine are too low: other programs had the processors {:.0f} % of the "
        "time when they were measured.",
        100 * data.rates->processor_wait));
}

void draw_curve(Ui& ui, AppState& state, Requests& ask) {
  PlayState& mine = state.play;
  const Knob* const knob = find_by(mine.knobs, &Knob::key, mine.turned);
  PlotSpec spec;
  spec.id = "predicted-throughput";
  spec.title = "Predicted samples/s";
  spec.empty = "Turn a knob to see its whole range.";
  spec.legend = false;
  spec.from_zero = true;
  mine.link.log_x = true;
  if (knob != nullptr && mine.curve.size() > 1) {
    spec.title = "Predicted samples/s by " + knob->key;
    spec.x_title = knob->title + (knob->unit.empty() ? "" : ", " + knob->unit);
    PlotLine line = line_of("predicted", ui.theme().accent, mine.curve);
    line.dash = Dash::dotted;
    for (const auto& [place, rate] : mine.curve) spec.x_marks.push_back(place);
    spec.lines.push_back(std::move(line));
    const double place = std::strtod(state.form().text(knob->key).c_str(), nullptr);
    if (place > 0 && mine.step.is_known()) {
      spec.lines.push_back(line_of("here", ui.theme().text, {{place, mine.step.samples_per_s()}}));
      spec.lines.back().reach = {{mine.step.samples_per_s(), mine.step.samples_per_s()}};
    }
  }
  mine.link.fit_x = true;
  mine.link.begin_frame();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const ImVec2 size = {room.x, std::max(ui.px(kPlot), room.y)};
  save_plot(ui, show_plot(ui, spec, mine.view, mine.link, size), spec, mine.view, mine.link, "", ask);
}

void draw_actions(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  FormState& form = state.form();
  const RunRequest request = request_of(form);
  if (ui.button("Measure it", ButtonKind::primary,
                !data.starting && form.problem.empty() && state.play.step.is_known())) {
    ask.start = request;
    ask.view = View::watch;
  }
  ui.tip(command_text(request));
  if (ui.beside().button("Back to the preset", ButtonKind::quiet, !form.changed.empty(), "reset knobs"))
    reset_form(form, ask);
  ui.beside().framed().fitted(command_text(request), Face::mono_small, ui.theme().dim, 8);
}

/// Where there are no rates, how to get them.
void draw_without(Ui& ui, const Data& data, Requests& ask) {
  if (data.starting) {
    ui.empty_state(data.started.command() == "predict" ? "This machine is measured, for about half a minute."
                                                       : "Something is running.",
                   data.started.command() == "predict" ? "The console below says what."
                                                       : "The machine is measured once it is over.");
  } else if (ui.empty_state("What would a step take with a slow disk, twice the batch, four ranks?",
                            data.rates_problem.empty() ? "The formulas need what this machine reaches. That "
                                                         "is measured once, in about half a minute."
                                                       : data.rates_problem,
                            "Measure this machine")) {
    ask.measure_machine = true;
  }
}

void draw_here(Ui& ui, const Data& data, const LessonCard& card, AppState& state, Requests& ask) {
  if (card.info.needs == "cuda")
    return ui.nothing(card.info.title + " needs a GPU",
                      "What is predicted here are the processors of this machine. "
                      "./isobar predict " +
                          card.info.name + " predicts a GPU.");
  if (!data.rates) {
    draw_without(ui, data, ask);
    return;
  }
  keep_up(data, card, state);
  draw_answer(ui, data, state.play);
  if (state.play.step.is_known()) draw_bars(ui, data, state, ask);
  draw_actions(ui, data, state, ask);
  ui.gap(4);
  const float knobs = std::min(ui.px(kKnobs), ImGui::GetContentRegionAvail().x * 0.5F);
  ImGui::BeginChild("knobs", {knobs, 0}, true, ImGuiWindowFlags_AlwaysUseWindowPadding);
  if (std::string turned = draw_form_knobs(ui, state.form(), state.play.knobs); !turned.empty())
    state.play.turned = std::move(turned);
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(12));
  ImGui::BeginChild("curve", {0, 0});
  draw_curve(ui, state, ask);
  ImGui::EndChild();
}

}  // namespace

void draw_playground(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const LessonCard* const card = data.project.find(state.lesson);
  if (card == nullptr) return ui.nothing("No lesson", "Choose one on the left.");
  if (!suits(View::predict, card->info))
    return ui.nothing("Nothing to predict",
                      "The formulas are about the weather model, which this lesson does not train.");
  ClusterPlay& cluster = state.play.cluster;
  MemoryPlay& memory = state.play.memory;
  PipelinePlay& pipeline = state.play.pipeline;
  const bool has_pipeline = honours(card->info, "mesh.pp");
  const bool elsewhere = cluster.shown || memory.shown || (pipeline.shown && has_pipeline);
  const auto show = [&](bool* chosen) {
    cluster.shown = memory.shown = pipeline.shown = false;
    if (chosen != nullptr) *chosen = true;
  };
  if (ui.choice("This machine", !elsewhere)) show(nullptr);
  if (ui.beside(2).choice("On a cluster", cluster.shown)) {
    show(&cluster.shown);
    cluster.looked = false;  // a profile may have been imported
  }
  if (ui.beside(2).choice("Its memory", memory.shown)) show(&memory.shown);
  if (has_pipeline && ui.beside(2).choice("Its pipeline", pipeline.shown)) show(&pipeline.shown);
  if (pipeline.shown && has_pipeline)
    draw_pipeline_play(ui, state, *card, ask);
  else if (memory.shown)
    draw_memory_play(ui, data, *card, state, ask);
  else if (cluster.shown)
    draw_clusters(ui, data, *card, state, ask);
  else
    draw_here(ui, data, *card, state, ask);
}

}  // namespace isobar
