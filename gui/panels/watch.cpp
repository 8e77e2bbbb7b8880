#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/find.h"
#include "core/stage.h"
#include "core/text.h"
#include "draw/colour.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "plot/lesson_view.h"
#include "widgets/places.h"
#include "widgets/stack.h"

namespace isobar {
namespace {

constexpr float kSpark = 64;  // height

bool goes_on(const RunEntry& run) {
  return run.view.state == RunState::running || run.view.state == RunState::empty;
}

/// What stands in a plot without a curve; a run that only measures, or that is over, will not get one.
std::string empty_text(const RunEntry& run, const std::string& not_yet) {
  if (!run.view.summary.measure.empty()) return "This run only measures.";
  return goes_on(run) ? not_yet : "Nothing was recorded.";
}

PlotSpec spec_of(const AppState& state, std::string id, std::string title, std::string empty) {
  PlotSpec spec;
  spec.id = std::move(id);
  spec.title = std::move(title);
  set_x_axis(spec, state.x_axis());
  spec.empty = std::move(empty);
  return spec;
}

void add_line(PlotSpec& spec, const AppState& state, const std::shared_ptr<const RunEntry>& run,
              const char* curve, const char* label, Colour colour, Mark mark) {
  spec.lines.push_back(line_of(run, curve, state.x_axis(), label, colour, mark));
}

StackSpec stack_of(const Ui& ui, const AppState& state, const RunEntry& run) {
  StackSpec spec;
  spec.id = "anatomy";
  spec.title = "Where a step's time goes";
  set_x_axis(spec, state.x_axis());
  spec.rest_colour = stage_colour(ui.theme(), "rest");
  spec.empty = run.foreign                ? "Event files hold no stage times."
               : !run.view.source.empty() ? "The log has no times of stages."
                                          : empty_text(run, "No step was recorded yet.");
  if (!run.detail) return spec;
  const RunSeries& series = run.detail->series;
  for (const std::string stage : kStageNames) {
    const CurveRef curve = series.find("train/" + stage + "_us");
    if (curve) spec.stages.push_back({stage, stage_colour(ui.theme(), stage), curve.curve});
  }
  // What no stage takes is the rest only where there are stages.
  if (const CurveRef total = series.find("train/step_us"); total && !spec.stages.empty()) {
    spec.total = total.curve;
    spec.places = &total.places->of(state.x_axis());
  }
  return spec;
}

}  // namespace

std::string watched_channel(const AppState& state, const RunEntry& run) {
  const auto& channels = run.view.channels;
  if (holds(channels, state.watch.channel)) return state.watch.channel;
  return !run.view.summary.headline.empty() ? run.view.summary.headline
         : channels.empty()                 ? "u10m"
                                            : channels.front();
}

PlotSpec rmse_plot(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run,
                   const std::string& channel) {
  const Theme& theme = ui.theme();
  const bool headline = channel == run->view.summary.headline;
  const std::string percent = headline && run->view.summary.has_scores
                                  ? skill_text(run->view.summary.rmse, run->view.summary.persistence_rmse)
                                  : "";
  const std::string skill = percent.empty() ? "" : ": " + percent;
  PlotSpec spec = spec_of(state, "rmse " + channel, channel + " RMSE" + (skill.empty() ? " (σ)" : skill),
                          empty_text(*run, "Scores come after the first validation."));
  add_line(spec, state, run, ("valid/rmse_" + channel).c_str(), "forecast", theme.series[0], Mark::circle);
  spec.legend = false;
  spec.from_zero = true;
  if (!run->detail) return spec;
  if (run->detail->series.find("valid/spread_" + channel)) {  // an ensemble: its mean's error is the skill
    spec.lines.front().label = "error of the mean";
    add_line(spec, state, run, ("valid/spread_" + channel).c_str(), "spread", theme.series[1], Mark::square);
    add_line(spec, state, run, ("valid/crps_" + channel).c_str(), "CRPS", theme.series[2], Mark::none);
    spec.legend = true;
  }
  for (std::size_t lead = 2; lead + 1 < theme.series.size(); ++lead) {  // a rollout has them
    const std::string curve = fmt::format("valid/lead{}_rmse_{}", lead, channel);
    if (!run->detail->series.find(curve)) break;
    if (lead == 2) spec.lines.front().label = "lead 1";
    add_line(spec, state, run, curve.c_str(), fmt::format("lead {}", lead).c_str(), theme.series[lead + 1],
             Mark::none);
    spec.legend = true;
  }
  for (const char* const other : {"persistence", "climatology"}) {
    const CurveRef curve = run->detail->series.find(fmt::format("valid/{}_rmse_{}", other, channel));
    if (curve && curve.curve->y.back() > 0) {
      spec.levels.push_back({other, curve.curve->y.back(),
                             other[0] == 'p' ? theme.dim : mixed(theme.dim, theme.text, 0.3F),
                             other[0] == 'p' ? Dash::dashed : Dash::dotted});
    }
  }
  return spec;
}

namespace {

PlotSpec plain_plot(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run, const char* id,
                    const std::string& title, const std::string& empty, const char* curve, const char* label,
                    std::size_t colour) {
  PlotSpec spec = spec_of(state, id, title, empty);
  add_line(spec, state, run, curve, label, ui.theme().series[colour], Mark::circle);
  spec.legend = false;
  spec.from_zero = true;
  return spec;
}

/// The plots that every run has, behind whose second stands where the step's time goes, and those of a
/// technique.
std::vector<PlotSpec> main_plots(Ui& ui, AppState& state, const std::shared_ptr<const RunEntry>& run) {
  std::vector<PlotSpec> out;
  const auto add = [&](const char* id, const std::string& title, const std::string& empty, const char* curve,
                       const char* label, std::size_t colour) {
    out.push_back(plain_plot(ui, state, run, id, title, empty, curve, label, colour));
  };
  const auto add_second = [&](const char* curve, const char* label, std::size_t colour) {
    add_line(out.back(), state, run, curve, label, ui.theme().series[colour], Mark::square);
    out.back().legend = true;
  };
  const bool has_members = run->detail && run->detail->series.find("valid/members");
  add("loss", has_members ? "Loss: CRPS, in validation relative L2" : "Loss (relative L2)",
      empty_text(*run, "The first loss comes with the first step."), "train/loss", "training", 0);
  add_second("valid/loss", "validation", 1);
  out.back().from_zero = false;
  add("throughput", throughput_title(), empty_text(*run, "It is measured step by step."),
      "train/samples_per_s", "samples/s", 2);
  show_as_band(out.back().lines.front(), ui.bands());
  out.push_back(rmse_plot(ui, state, run, watched_channel(state, *run)));
  out.back().id = "rmse";
  if (!run->detail) return out;
  const RunSeries& series = run->detail->series;
  const CurveRef skipped = series.find("train/skipped");
  const double skips = skipped ? skipped.curve->y.back() : 0;
  if (series.find("train/scale")) {
    PlotView& view = state.watch.views["loss scale"];
    if (!view.drawn) view.log_y = true;  // it moves by factors
    add("loss scale", std::string("Loss scale") + (skipped && skips == 0 ? ", no step skipped" : ""), "",
        "train/scale", "scale", 5);
    out.back().from_zero = false;
  }
  if (skips > 0)
    add("skipped", "Steps skipped so far, gradients overflowed", "", "train/skipped", "skipped", 6);
  if (series.find("train/comm_total_us")) {
    add("communication", "Communication, microseconds a step", "", "train/comm_total_us", "under way", 4);
    add_second("train/comm_us", "exposed", 6);
  }
  if (series.find("train/grad_norm"))
    add("gradient norm", "Norm of the gradient", "", "train/grad_norm", "norm", 7);
  for (const LessonPlot& plot : plots_of(run->view.lesson))
    add(plot.curve, plot.title, empty_text(*run, "It comes with the first step."), plot.curve, "", 0);
  return out;
}

/// What hardly changes in a way that surprises: small below the others.
std::vector<PlotSpec> small_plots(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run) {
  std::vector<PlotSpec> out = {plain_plot(ui, state, run, "learning rate", "Learning rate", "not recorded",
                                          "train/lr", "learning rate", 3),
                               plain_plot(ui, state, run, "memory", "Peak memory, bytes", "not recorded",
                                          "train/peak_bytes", "peak", 4)};
  for (PlotSpec& spec : out) spec.lines.front().mark = Mark::none;  // their points would hide so small a line
  return out;
}

bool has_data(const PlotSpec& spec) {
  return std::ranges::any_of(spec.lines, [](const PlotLine& line) { return line.curve != nullptr; });
}

/// Scores of further channels, as many as there are cells left in the last row of `count` plots.
std::vector<PlotSpec> filling_plots(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run,
                                    int count) {
  const int columns = cell_columns(ui, ImGui::GetContentRegionAvail().x);
  const auto free = static_cast<std::size_t>((columns - count % columns) % columns);
  std::vector<PlotSpec> out;
  for (const std::string& channel : run->view.channels) {
    if (out.size() == free) break;
    if (channel == watched_channel(state, *run)) continue;
    if (PlotSpec spec = rmse_plot(ui, state, run, channel); has_data(spec)) out.push_back(std::move(spec));
  }
  return out;
}

void draw_anatomy(Ui& ui, AppState& state, const RunEntry& run, ImVec2 size, Requests& ask) {
  WatchState& watch = state.watch;
  const StackSpec stack = stack_of(ui, state, run);
  const PlotAsk plot = show_stack(ui, stack, watch.views["anatomy"], watch.link, size);
  if (!plot.save) return;
  ask.save = SaveRequest{run.name + "-anatomy", *plot.save,
                         stack_file(ui, *plot.save, stack, watch.views["anatomy"], watch.link,
                                    plot.box.width(), plot.box.height())};
}

/// The end of its line, in words.
std::string last_of(const PlotSpec& spec) {
  const PlotLine& line = spec.lines.front();
  if (line.curve == nullptr || line.curve->y.empty()) return "";
  const double last = line.curve->y.back();
  if (spec.id != "memory") return fmt::format("{:.3g}", last);
  return std::isfinite(last) && last >= 0 ? human_bytes(static_cast<std::uint64_t>(last)) : "";
}

void draw_plots(Ui& ui, AppState& state, const std::shared_ptr<const RunEntry>& run, Requests& ask) {
  WatchState& watch = state.watch;
  std::vector<PlotSpec> plots = main_plots(ui, state, run);
  std::vector<PlotSpec> small = small_plots(ui, state, run);
  // What steps so far did not record, a run that is over, or one of another machine, will not come; scores
  // may.
  const bool has_steps = run->detail->series.step_rows() > 0;
  const bool is_whole = !goes_on(*run) || !run->view.provenance.empty();
  for (auto* const some : {&plots, &small})
    std::erase_if(*some, [&](const PlotSpec& spec) {
      return !has_data(spec) && (is_whole || (has_steps && spec.id != "rmse"));
    });
  const bool no_steps = is_whole && !has_steps;
  const std::size_t anatomy = no_steps ? SIZE_MAX : std::min<std::size_t>(plots.size(), 2);
  int count = static_cast<int>(plots.size()) + (no_steps ? 0 : 1);
  for (PlotSpec& spec : filling_plots(ui, state, run, count)) plots.push_back(std::move(spec));
  count = static_cast<int>(plots.size()) + (no_steps ? 0 : 1);
  if (count == 0) return ui.nothing("Nothing was recorded", "The run ended before its first step.");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(kCellGap), ui.px(kCellGap)});
  const float width = ImGui::GetContentRegionAvail().x;
  const auto save = [&](const PlotAsk& plot, const PlotSpec& spec) {
    save_plot(ui, plot, spec, watch.views[spec.id], watch.link, run->name, ask);
  };
  Cells cells(ui, std::max(1, count), small.empty() ? 0 : ui.px(kSpark + kCellGap));
  for (std::size_t i = 0; i <= plots.size(); ++i) {
    if (i == anatomy) draw_anatomy(ui, state, *run, cells.next(), ask);
    if (i == plots.size()) break;
    save(show_plot(ui, plots[i], watch.views[plots[i].id], watch.link, cells.next()), plots[i]);
  }
  const float each = (width + ui.px(kCellGap)) / static_cast<float>(std::max<std::size_t>(1, small.size())) -
                     ui.px(kCellGap);
  for (const PlotSpec& spec : small) {
    if (&spec != &small.front()) ImGui::SameLine(0, ui.px(kCellGap));
    save(show_spark(ui, spec, watch.views[spec.id], watch.link, {each, ui.px(kSpark)}, last_of(spec)), spec);
  }
  ImGui::PopStyleVar();
}

}  // namespace

void draw_plot_controls(Ui& ui, AppState& state, PlotLink& link) {
  ui.label("x", 4);
  for (const char* const axis : kAxisTitles) {
    if (ui.choice(axis, state.settings.x_axis == axis)) {
      state.settings.x_axis = axis;
      link.fit_x = true;
    }
    ImGui::SameLine(0, 0);
  }
  if (ui.beside(12).checkbox("log x", &state.settings.log_x, "log x")) link.fit_x = true;
  ui.beside(16).label("smooth");
  ui.slider("smoothing", &state.settings.smoothing, 0, 0.99, ui.px(80));
  ui.tip("Weight of the past in an exponential moving average; the raw line stays, faint. 0 = off");
  if (!link.fit_x) {
    if (ui.beside(12).button("Fit")) link.fit_x = true;
    ui.tip("F over a plot, or a double click");
  }
  link.log_x = state.settings.log_x;
  link.smoothing = state.settings.smoothing;
}

void draw_watch(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  if (!run) {
    const LessonCard* const card = data.project.find(state.lesson);
    if (data.starting) {
      ui.empty_state("Starting " + data.started.lesson,
                     "The program is being built and the data made, if that is needed. "
                     "The console below says what happens; the plots appear with the first step.");
    } else if (card != nullptr && !card->cannot_run.empty()) {
      const bool any = !card->recorded.empty();
      if (ui.empty_state(card->info.name + " cannot run here",
                         "It " + card->cannot_run + "." + (any ? "" : " Nothing was recorded of it yet."),
                         any ? "Show a run of another machine" : ""))
        ask.show_lesson = card->info.name;
    } else if (card != nullptr &&
               ui.empty_state(data.feed.runs->runs.empty() ? "No run yet" : "No run is chosen",
                              data.feed.runs->runs.empty()
                                  ? "Press Space to run " + card->info.name +
                                        " with its own settings, or change them under Settings first."
                                  : "Choose one on the left, or press Space for a new one.",
                              "Run " + card->info.name)) {
      ask.start = RunRequest{state.lesson, "", {}};
    }
    return;
  }
  state.watch.link.begin_frame();
  draw_run_head(ui, *run);
  draw_verdict(ui, data, run, state, ask);
  draw_plot_controls(ui, state, state.watch.link);
  if (run->view.channels.size() > 1) {
    if (ImGui::GetItemRectMax().x + ui.px(170) < ImGui::GetWindowPos().x + ImGui::GetWindowWidth())
      ImGui::SameLine(0, ui.px(16));
    ui.label("RMSE of");
    std::string channel = watched_channel(state, *run);
    if (ui.combo("channel", run->view.channels, channel, ui.px(90))) {
      state.watch.channel = channel;
      state.maps.channel = -1;
    }
  }
  if (!run->detail)
    return ui.nothing("Reading the run ...", run->problem.empty() ? "This takes a moment." : run->problem);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme().ground);
  ImGui::BeginChild("plots");
  draw_plots(ui, state, run, ask);
  ImGui::EndChild();
  ImGui::PopStyleColor();
}

}  // namespace isobar
