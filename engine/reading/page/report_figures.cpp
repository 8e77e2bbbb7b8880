#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"
#include "draw/colour.h"
#include "draw/field_map.h"
#include "page/html.h"
#include "page/report_parts.h"
#include "plot/run_drawings.h"
#include "record/run_folder.h"

namespace isobar {
namespace {

constexpr std::size_t kMostMaps = 4;

std::string label_of(const ReportCases& cases, std::size_t i) {
  const RunView& view = cases[i].view();
  return case_label(i) + " " + printable(view.lesson + (view.point.empty() ? "" : " " + view.point), 60);
}

Dash dash_of(const RunView& view) {
  return view.provenance == "predicted" ? Dash::dotted : view.is_measured_here() ? Dash::solid : Dash::dashed;
}

struct WantedCurve {
  std::string name, title;
  bool from_zero;  ///< where the axis of y begins
};

PlotSpec curves_of(const ReportCases& cases, const WantedCurve& wanted, const Theme& theme) {
  static constexpr Mark kMarks[] = {Mark::circle, Mark::square, Mark::triangle, Mark::diamond,
                                    Mark::down,   Mark::cross,  Mark::ring,     Mark::star};
  PlotSpec spec;
  spec.id = "curve";
  spec.title = wanted.title;
  spec.x_title = "step";
  spec.x_is_whole = true;
  spec.from_zero = wanted.from_zero;
  for (std::size_t i = 0; i < std::min(cases.size(), kMostDrawnRuns); ++i) {
    const CurveRef found = cases[i].series.find(wanted.name);
    if (!found) continue;
    PlotLine line;
    line.id = line.label = label_of(cases, i);
    line.colour = theme.series[i % theme.series.size()];
    line.mark = kMarks[i % std::size(kMarks)];
    line.dash = dash_of(cases[i].view());
    line.places = &found.places->of(XAxis::step);
    line.curve = found.curve;
    spec.lines.push_back(std::move(line));
  }
  return spec;
}

/// "Solid: measured; dashed: recorded." of the lines that are there.
std::string dashes_text(const PlotSpec& spec) {
  std::vector<std::string> parts;
  for (const auto& [dash, words] :
       {std::pair{Dash::solid, "solid, measured"}, std::pair{Dash::dashed, "dashed, recorded"},
        std::pair{Dash::dotted, "dotted, predicted"}}) {
    if (find_by(spec.lines, &PlotLine::dash, dash) != nullptr) parts.emplace_back(words);
  }
  return "Lines: " + joined(parts, "; ") + ".";
}

double end_of(const PlotLine& line) {
  return line.curve->y.empty() ? 0 : (*line.places)[line.curve->row(line.curve->y.size() - 1)];
}

/// Beside a run of many more steps a short one is a dot: then the short ones have a figure of their own.
std::string curve_figure(const ReportCases& cases, const WantedCurve& wanted, Figures& figures) {
  constexpr double kMuch = 20;
  const auto spec_of = [&](const Theme& theme) { return curves_of(cases, wanted, theme); };
  const PlotSpec spec = spec_of(theme_of(false));
  if (spec.lines.empty()) return "";
  const auto [least, most] = std::minmax_element(
      spec.lines.begin(), spec.lines.end(),
      [](const PlotLine& one, const PlotLine& other) { return end_of(one) < end_of(other); });
  const double limit = kMuch * std::max(1.0, end_of(*least));
  std::string out;
  if (end_of(*most) > limit) {
    const auto short_ones = [&](const Theme& theme) {
      PlotSpec part = spec_of(theme);
      std::erase_if(part.lines, [&](const PlotLine& line) { return end_of(line) > limit; });
      part.title += ": the shorter runs";
      return part;
    };
    out = figures.plot(short_ones, dashes_text(short_ones(theme_of(false))));
  }
  return out + figures.plot(spec_of, dashes_text(spec));
}

Table bars_table(const std::vector<StageBar>& bars) {
  const std::vector<std::string> stages = stages_of(bars);
  Table table = {.caption = "ms a step", .columns = {"run"}};
  table.columns.insert(table.columns.end(), stages.begin(), stages.end());
  table.columns.push_back("step");
  for (const StageBar& bar : bars) {
    std::vector<std::string> row = {bar.label};
    for (const std::string& stage : stages) {
      const auto* const found = find_by(bar.stages_us, &StageTimes::value_type::first, stage);
      row.push_back(found == nullptr ? "-" : value_text(Quantity::time, found->second));
    }
    row.push_back(value_text(Quantity::time, total_us(bar.stages_us)));
    table.add(std::move(row));
  }
  return table;
}

/// Over the finite values; 0 without any.
double root_mean_square(std::span<const float> values) {
  double sum = 0, count = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    sum += static_cast<double>(value) * static_cast<double>(value);
    ++count;
  }
  return count > 0 ? std::sqrt(sum / count) : 0;
}

/// Target, prediction and their difference of the first channel; Error for a file that is of another form.
std::string maps_of(const std::filesystem::path& file, const std::string& title, Figures& figures) {
  const Fields fields = read_fields(file);
  const auto target = fields.of(1, 0), forecast = fields.of(2, 0);
  const std::vector<float> error = difference(forecast, target);
  MapLimits both, apart;
  both.see(target);
  both.see(forecast);
  both.part();
  apart.see(error);
  const double most = apart.size() > 0 ? apart.size() : 1;
  const auto map = [&](const char* name, std::span<const float> values, const MapLimits& limits,
                       MapColours colours) {
    return MapSpec{name,
                   draw_map(values, static_cast<int>(fields.rows), static_cast<int>(fields.columns),
                            limits.least, limits.most, colours),
                   limits.least, limits.most, colours};
  };
  return figures.maps(
      {map("target", target, both, MapColours::sequential),
       map("forecast", forecast, both, MapColours::sequential),
       map("forecast - target", error, {-most, most}, MapColours::diverging)},
      title,
      fmt::format("{}, in standard deviations; RMS of the difference, rows not weighted: {:.4f}", title,
                  root_mean_square(error)));
}

}  // namespace

std::string curves_part(const ReportCases& cases, Figures& figures) {
  std::string headline = "u10m";
  for (const RunCase& one : cases) {
    if (one.view().summary.has_scores) headline = one.view().summary.headline;
  }
  const WantedCurve wanted[] = {
      {"train/loss", "training loss by step", false},
      {"valid/loss", "validation loss by step", false},
      {"valid/rmse_" + headline, "validation RMSE of " + headline + ", in standard deviations, by step",
       false},
      {"train/samples_per_s", "samples a second by step", true}};
  std::string out;
  for (const WantedCurve& one : wanted) out += curve_figure(cases, one, figures);
  if (!out.empty() && cases.size() > kMostDrawnRuns)
    out += fmt::format("<p class=\"dim\">Drawn are the first {} runs.</p>\n", kMostDrawnRuns);
  return out;
}

std::string anatomy_part(const ReportCases& cases, Figures& figures) {
  std::vector<StageBar> bars;
  for (std::size_t i = 0; i < std::min(cases.size(), kMostDrawnRuns); ++i) {
    StageBar bar{label_of(cases, i), "", stage_times(cases[i].repeats),
                 cases[i].view().provenance == "predicted"};
    if (bar.stages_us.empty()) continue;
    bar.words = value_text(Quantity::time, total_us(bar.stages_us)) + " ms";
    bars.push_back(std::move(bar));
  }
  if (bars.empty()) return "";
  std::string caption = "Means over the steps after the warm-up, of the repeat with the median step";
  if (std::ranges::any_of(cases, [](const RunCase& one) { return one.view().summary.world > 1; }))
    caption += "; of several ranks those of rank 0";
  if (find_by(bars, &StageBar::predicted, true) != nullptr) caption += "; pale with a dotted edge: predicted";
  Html out;
  out.raw(figures.stage_bars(bars, "Stages of a step", caption + "."));
  out.table(bars_table(bars));
  return out.markup();
}

std::string maps_part(const ReportCases& cases, Figures& figures) {
  Html out;
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < cases.size() && drawn < kMostMaps; ++i) {
    const std::vector<std::int64_t> steps = field_steps_of(cases[i].folder);
    if (steps.empty()) continue;
    const std::string headline =
        cases[i].view().channels.empty() ? "first channel" : cases[i].view().channels.front();
    try {
      out.raw(maps_of(RunFolder{cases[i].folder}.fields_file(steps.back()),
                      fmt::format("{}: {} after {} steps", label_of(cases, i), headline, steps.back()),
                      figures));
      ++drawn;
    } catch (const Error& error) {
      out.paragraph(case_label(i) + ": its fields cannot be read: " + error.what(), "mark");
    }
  }
  return out.markup();
}

}  // namespace isobar
