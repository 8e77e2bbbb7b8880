#include "panels/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "colour.h"
#include "core/text.h"
#include "plot/stack.h"

namespace isobar {
namespace {

constexpr float kGap = 8;

/// What stands in a plot without a curve; a run that only measures will not get one.
std::string empty_text(const RunEntry& run, const std::string& not_yet) {
  return run.view.summary.measure.empty() ? not_yet : "This run only measures.";
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
              const char* curve, const char* label, ImU32 colour, Mark mark) {
  spec.lines.push_back(line_of(run, curve, state.x_axis(), label, colour, mark));
}

/// The plots of the view, in order; drawn one after the other into cells.
class Cells {
 public:
  Cells(Ui& ui, int count) : ui_(ui) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    columns_ = room.x > ui.px(600) ? 2 : 1;
    const int rows = (count + columns_ - 1) / columns_;
    const float gap = ui.px(kGap);
    width_ = (room.x - gap * static_cast<float>(columns_ - 1)) / static_cast<float>(columns_);
    const float fits = (room.y - gap * static_cast<float>(rows - 1)) / static_cast<float>(rows);
    height_ = std::max(ui.px(190), fits);
  }
  ImVec2 next() {
    if (index_ > 0 && index_ % columns_ != 0) ImGui::SameLine(0, ui_.px(kGap));
    ++index_;
    return {width_, height_};
  }

 private:
  Ui& ui_;
  int columns_ = 1;
  int index_ = 0;
  float width_ = 0, height_ = 0;
};

StackSpec stack_of(const Ui& ui, const AppState& state, const RunEntry& run) {
  StackSpec spec;
  spec.id = "anatomy";
  spec.title = "Where a step's time goes";
  set_x_axis(spec, state.x_axis());
  spec.rest_colour = stage_colour(ui.theme(), "rest");
  spec.empty = run.foreign ? "Event files hold no stage times." : "No step was recorded yet.";
  if (!run.detail) return spec;
  const RunSeries& series = run.detail->series;
  for (const std::string& stage : stage_names()) {
    const CurveRef curve = series.find("train/" + stage + "_us");
    if (curve) spec.stages.push_back({stage, stage_colour(ui.theme(), stage), curve.curve});
  }
  if (const CurveRef total = series.find("train/step_us")) {
    spec.total = total.curve;
    spec.places = &total.places->of(state.x_axis());
  }
  return spec;
}

void draw_head(Ui& ui, const RunEntry& run) {
  const Theme& theme = ui.theme();
  ui.text(run.view.lesson.empty() ? run.name : run.view.lesson + "  " + short_run_name(run), Face::title);
  const std::string line = run_line(run);
  const ImU32 colour = run.gone ? theme.warn : state_colour(theme, run.view.state);
  const float left = ImGui::GetItemRectMax().x + ui.px(12);
  if (left + ui.canvas().text_width(line, Face::text) < ImGui::GetWindowPos().x + ImGui::GetWindowWidth()) {
    ImGui::SameLine(0, ui.px(12));
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui.px(5));
    ui.text(line, Face::text, colour);
  } else {
    ui.wrapped(line, Face::text, colour);
  }
  std::string facts = run.view.preset.empty() ? "" : "preset " + run.view.preset + "   ";
  if (!run.view.device.empty()) facts += "on " + run.view.device + " of " + run.view.host + "   ";
  if (!run.view.started.empty()) facts += "started " + run.view.started.substr(0, 16) + "   ";
  if (run.view.summary.samples_per_s > 0) {
    facts += engineering(run.view.summary.samples_per_s, 4) + " samples/s";
    const double mfu = run.view.summary.mfu();
    if (mfu > 0) facts += fmt::format(", MFU {:.0f} %", 100 * mfu);
    facts += "   ";
  }
  if (!run.view.provenance.empty()) facts += run.view.provenance + "   ";
  ui.dim(facts.empty() ? run.folder.string() : facts);
  if (!run.view.fault.empty())
    ui.text("with the fault " + run.view.fault + ": a mistake on purpose", Face::small, theme.warn);
  if (run.view.throttle_mb_per_s > 0)
    ui.text(fmt::format("on a disk that was made slow: {} MB/s", run.view.throttle_mb_per_s), Face::small,
            theme.warn);
  if (run.view.data_source == "synthetic") ui.text("on data that was made up", Face::small, theme.warn);
  if (const std::string& measure = run.view.summary.measure; !measure.empty())
    ui.text(measure_text(run.view) + ": " + measure_sentence(measure), Face::small, theme.dim);
  if (!run.problem.empty()) ui.wrapped(run.problem, Face::small, theme.warn);
  if (run.view.unread_lines > 0) {
    ui.text(fmt::format("{} lines of the stream could not be read", run.view.unread_lines), Face::small,
            theme.warn);
  }
  if (run.detail && run.detail->series.left_out() > 0) {
    ui.text(fmt::format("{} values were left out: steps that go back, or more names than can be kept",
                        run.detail->series.left_out()),
            Face::small, theme.warn);
  }
}

std::string percent_text(const RunSummary& summary) {
  if (!(summary.persistence_rmse > 0)) return "";
  const double part = 100 * (summary.rmse / summary.persistence_rmse - 1);
  return fmt::format("{:.1f} % {} persistence", std::abs(part), part < 0 ? "below" : "above");
}

PlotSpec rmse_spec(Ui& ui, const AppState& state, const std::shared_ptr<const RunEntry>& run,
                   const std::string& channel) {
  const Theme& theme = ui.theme();
  const bool headline = channel == run->view.summary.headline;
  const std::string skill =
      headline && run->view.summary.has_scores ? ": " + percent_text(run->view.summary) : "";
  PlotSpec spec = spec_of(state, "rmse", channel + " RMSE" + (skill.empty() ? " (σ)" : skill),
                          empty_text(*run, "Scores come after the first validation."));
  add_line(spec, state, run, ("valid/rmse_" + channel).c_str(), "forecast", theme.series[0], Mark::circle);
  spec.legend = false;
  spec.from_zero = true;
  if (!run->detail) return spec;
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

std::string channel_of(const AppState& state, const RunEntry& run) {
  const auto& channels = run.view.channels;
  if (std::find(channels.begin(), channels.end(), state.watch.channel) != channels.end())
    return state.watch.channel;
  return !run.view.summary.headline.empty() ? run.view.summary.headline
         : channels.empty()                 ? "u10m"
                                            : channels.front();
}

void draw_plots(Ui& ui, AppState& state, const std::shared_ptr<const RunEntry>& run, Requests& ask) {
  const Theme& theme = ui.theme();
  WatchState& watch = state.watch;
  const auto show = [&](const PlotSpec& spec, Cells& cells) {
    const ImVec2 size = cells.next();
    const PlotAsk plot = show_plot(ui, spec, watch.views[spec.id], watch.link, size);
    if (auto save = save_of_plot(ui, plot, spec, watch.views[spec.id], watch.link, run->name))
      ask.save = std::move(save);
  };
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(kGap), ui.px(kGap)});
  Cells cells(ui, 6);
  PlotSpec loss = spec_of(state, "loss", "Loss (relative L2)",
                          empty_text(*run, "The first loss comes with the first step."));
  add_line(loss, state, run, "train/loss", "training", theme.series[0], Mark::circle);
  add_line(loss, state, run, "valid/loss", "validation", theme.series[1], Mark::square);
  show(loss, cells);
  PlotSpec speed =
      spec_of(state, "throughput", "Throughput, samples a second", "It is measured step by step.");
  add_line(speed, state, run, "train/samples_per_s", "samples/s", theme.series[2], Mark::circle);
  speed.legend = false;
  speed.from_zero = true;
  show(speed, cells);
  const StackSpec stack = stack_of(ui, state, *run);
  const ImVec2 size = cells.next();
  const PlotAsk plot = show_stack(ui, stack, watch.views["anatomy"], watch.link, size);
  if (plot.export_wanted) {
    ask.save = SaveRequest{run->name + "-anatomy", plot.kind,
                           stack_file(ui, plot.kind, stack, watch.views["anatomy"], watch.link,
                                      plot.box.width(), plot.box.height())};
  }
  show(rmse_spec(ui, state, run, channel_of(state, *run)), cells);
  PlotSpec rate = spec_of(state, "learning rate", "Learning rate", "This run recorded no learning rate.");
  add_line(rate, state, run, "train/lr", "learning rate", theme.series[3], Mark::circle);
  rate.legend = false;
  rate.from_zero = true;
  show(rate, cells);
  PlotSpec memory = spec_of(state, "memory", "Peak memory, bytes", "This run recorded no memory figures.");
  add_line(memory, state, run, "train/peak_bytes", "peak", theme.series[4], Mark::circle);
  memory.legend = false;
  memory.from_zero = true;
  show(memory, cells);
  ImGui::PopStyleVar();
}

}  // namespace

std::optional<SaveRequest> save_of_plot(Ui& ui, const PlotAsk& ask, const PlotSpec& spec,
                                        const PlotView& view, const PlotLink& link, const std::string& run) {
  if (!ask.export_wanted) return std::nullopt;
  return SaveRequest{run + "-" + spec.id, ask.kind,
                     plot_file(ui, ask.kind, spec, view, link, ask.box.width(), ask.box.height())};
}

void draw_plot_controls(Ui& ui, AppState& state, PlotLink& link) {
  ImGui::AlignTextToFramePadding();
  ui.dim("x");
  ImGui::SameLine(0, ui.px(4));
  for (const char* const axis : {"step", "epoch", "time", "samples"}) {
    if (ui.choice(axis, state.settings.x_axis == axis)) {
      state.settings.x_axis = axis;
      link.fit_x = true;
    }
    ImGui::SameLine(0, 0);
  }
  ImGui::SameLine(0, ui.px(12));
  if (ui.checkbox("log x", &state.settings.log_x, "log x")) link.fit_x = true;
  ImGui::SameLine(0, ui.px(16));
  ImGui::AlignTextToFramePadding();
  ui.dim("smooth");
  ImGui::SameLine(0, ui.px(6));
  ui.slider("smoothing", &state.settings.smoothing, 0, 0.99, ui.px(80));
  ui.tip("Weight of the past in an exponential moving average; the raw line stays, faint. 0 = off");
  if (!link.fit_x) {
    ImGui::SameLine(0, ui.px(12));
    if (ui.button("Fit")) link.fit_x = true;
    ui.tip("F over a plot, or a double click");
  }
  link.log_x = state.settings.log_x;
  link.smoothing = state.settings.smoothing;
}

Requests draw_watch(Ui& ui, const Data& data, AppState& state) {
  Requests ask;
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  if (!run) {
    const LessonCard* const card = data.project.find(state.lesson);
    if (data.starting) {
      ui.empty_state("Starting " + data.started.lesson,
                     "The program is being built and the data made, if that is needed. "
                     "The console below says what happens; the plots appear with the first step.");
    } else if (card != nullptr &&
               ui.empty_state(data.feed.runs->runs.empty() ? "No run yet" : "No run is chosen",
                              data.feed.runs->runs.empty()
                                  ? "Press Space to run " + card->info.name +
                                        " with its own settings, or change them under Settings first."
                                  : "Choose one on the left, or press Space for a new one.",
                              "Run " + card->info.name)) {
      ask.start = RunRequest{state.lesson, "", {}};
    }
    return ask;
  }
  state.watch.link.begin_frame();
  draw_head(ui, *run);
  draw_plot_controls(ui, state, state.watch.link);
  if (run->view.channels.size() > 1) {
    if (ImGui::GetItemRectMax().x + ui.px(170) < ImGui::GetWindowPos().x + ImGui::GetWindowWidth()) {
      ImGui::SameLine(0, ui.px(16));
    }
    ImGui::AlignTextToFramePadding();
    ui.dim("RMSE of");
    ImGui::SameLine(0, ui.px(6));
    std::string channel = channel_of(state, *run);
    if (ui.combo("channel", run->view.channels, channel, ui.px(90))) state.watch.channel = channel;
  }
  if (!run->detail) {
    ui.empty_state("Reading the run ...", run->problem.empty() ? "This takes a moment." : run->problem);
    return ask;
  }
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme().ground);
  ImGui::BeginChild("plots");
  draw_plots(ui, state, run, ask);
  ImGui::EndChild();
  ImGui::PopStyleColor();
  return ask;
}

}  // namespace isobar
