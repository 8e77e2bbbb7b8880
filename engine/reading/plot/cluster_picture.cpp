#include "plot/cluster_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/text.h"
#include "draw/chart.h"

namespace isobar {
namespace {

constexpr double kLeastErrorShown = 30, kMostErrorShown = 50;  // %
constexpr std::array<double, 2> kBands = {25, 10};

struct ErrorMark {
  double gpus = 1, percent = 0;
  PointClass kind = PointClass::dp;
  PointSplit split = PointSplit::test;
  bool is_suspect = false;
};

struct ClassLook {
  PointClass kind;
  const char* words;
  std::size_t series;
  Mark filled, hollow;
};
constexpr std::array<ClassLook, 2> kClassLooks = {
    {{PointClass::dp, "data parallel", 6, Mark::circle, Mark::ring},
     {PointClass::fsdp, "sharded", 4, Mark::square, Mark::frame}}};

std::string errors_words(const BackTest& test, PointSplit split, const char* what) {
  const std::optional<ErrorFigures> errors = test.errors(split);
  if (!errors) return "";
  return fmt::format("{} {}: median |error| {:.1f} %, nine of ten within {:.0f} %.", errors->points, what,
                     100 * errors->median, 100 * errors->nine_of_ten);
}

/// A logarithmic range of GPUs with some room at both ends, and marks at powers of two.
ChartSpec chart_over_gpus(double least, double most, const Limits& y, const std::string& y_title) {
  const double room = std::pow(std::max(2.0, most / least), 0.05);
  ChartSpec out{.x = {.least = least / room, .most = most * room, .log = true},
                .y = {.least = y.least, .most = y.most},
                .x_title = "GPUs (logarithmic)",
                .y_title = y_title,
                .height = 290};
  for (double gpus = 1; gpus <= most; gpus *= 2)
    if (gpus >= least) out.x_marks.push_back(gpus);
  return out;
}

void paint_bands(Sketch& sketch, const ChartArea& area) {
  const Theme& theme = sketch.theme();
  for (const double percent : kBands) {
    const float top = area.y.pixel(percent), bottom = area.y.pixel(-percent);
    if (!sketch.is_text())
      sketch.canvas().fill({area.box.x0, top, area.box.x1, bottom}, with_alpha(theme.accent, 0.07F));
    for (const float y : {top, bottom})
      sketch.line({area.box.x0, y}, {area.box.x1, y}, with_alpha(theme.accent, 0.5F), 1, Dash::dashed);
  }
  sketch.line({area.box.x0, area.y.pixel(0)}, {area.box.x1, area.y.pixel(0)}, theme.text);
}

/// Marks of one class beside each other where they are of one number of GPUs, so that none hides the others.
float aside_of(std::size_t place, std::size_t look) {
  const auto step = static_cast<float>(place % 4);
  return look == 0 ? -2.5F - 2 * step : 2.5F + 2 * step;
}

void paint_error(Sketch& sketch, const ChartArea& area, const ErrorMark& mark, const ClassLook& look,
                 float aside) {
  const double edge = 0.96 * area.y.most;
  const Colour colour = sketch.theme().series[look.series];
  const bool is_test = mark.split == PointSplit::test;
  PlotPoint place = area.at(mark.gpus, std::clamp(mark.percent, -edge, edge));
  place.x += sketch.px(aside);
  if (std::fabs(mark.percent) <= area.y.most) {
    sketch.mark(place, is_test ? look.filled : look.hollow, colour, 3.6F);
  } else {
    const Mark beyond = mark.percent > 0 ? Mark::triangle : Mark::down;
    sketch.mark(place, beyond, colour, 4.5F);
    if (!is_test && !sketch.is_text()) sketch.mark(place, beyond, sketch.theme().panel, 2.4F);
  }
  if (mark.is_suspect && !sketch.is_text()) sketch.mark(place, Mark::ring, sketch.theme().text, 7);
}

std::vector<LegendEntry> error_entries(const Theme& theme, const std::vector<ErrorMark>& marks) {
  std::vector<LegendEntry> out;
  for (const ClassLook& look : kClassLooks) {
    for (const PointSplit split : {PointSplit::test, PointSplit::calibration}) {
      const auto is_there = [&](const ErrorMark& mark) {
        return mark.kind == look.kind && mark.split == split;
      };
      if (std::ranges::none_of(marks, is_there)) continue;
      out.push_back({.words = fmt::format("{}, {}", look.words, name_of(split)),
                     .colour = theme.series[look.series],
                     .mark = split == PointSplit::test ? look.filled : look.hollow});
    }
  }
  return out;
}

float paint_errors(Sketch& sketch, PlotPoint at, float width, const std::vector<ErrorMark>& marks,
                   const std::string& words) {
  double largest = kLeastErrorShown, least = marks.front().gpus, most = least;
  for (const ErrorMark& mark : marks) {
    largest = std::max(largest, std::fabs(mark.percent) * 1.05);
    least = std::min(least, mark.gpus);
    most = std::max(most, mark.gpus);
  }
  largest = std::min(largest, kMostErrorShown);
  const ChartSpec spec = chart_over_gpus(least, most, {-largest, largest},
                                         "error of samples/s and GPU: predicted / published - 1, in %");
  const ChartArea area = paint_chart(sketch, spec, at, width);
  paint_bands(sketch, area);
  for (std::size_t look = 0; look < kClassLooks.size(); ++look) {
    std::map<double, std::size_t> there;
    for (const ErrorMark& mark : marks)
      if (mark.kind == kClassLooks[look].kind)
        paint_error(sketch, area, mark, kClassLooks[look], aside_of(there[mark.gpus]++, look));
  }
  std::vector<LegendEntry> entries = error_entries(sketch.theme(), marks);
  if (!sketch.is_text() && std::ranges::any_of(marks, &ErrorMark::is_suspect))
    entries.push_back(
        {.words = "the measurement is suspect", .colour = sketch.theme().text, .mark = Mark::ring});
  const float y = sketch.legend({at.x, area.end + sketch.px(10)}, width, entries);
  return sketch.words({at.x, y + sketch.px(2)}, width, words, {.colour = sketch.theme().dim});
}

std::string efficiency_words(const ClusterPoint& point) {
  const OpenRange& range = point.efficiency;
  const std::string open =
      range.is_open() ? fmt::format(" ({:.0f} to {:.0f} %)", 100 * range.least, 100 * range.most) : "";
  return fmt::format("{:.0f} %{} on {} GPUs", 100 * range.middle, open, point.ranks);
}

struct ClusterLook {
  std::size_t series;
  Mark mark;
};
constexpr std::array<ClusterLook, 5> kClusterLooks = {
    {{6, Mark::ring}, {4, Mark::frame}, {2, Mark::triangle}, {0, Mark::diamond}, {1, Mark::down}}};

float paint_clusters(Sketch& sketch, PlotPoint at, float width, const std::vector<ClusterPrediction>& all) {
  double least = 100, most_gpus = 1;
  for (const ClusterPrediction& one : all) {
    for (const ClusterPoint& point : one.points) least = std::min(least, 100 * point.efficiency.least);
    most_gpus = std::max(most_gpus, static_cast<double>(one.last().ranks));
  }
  const double bottom = std::max(0.0, std::floor(least / 10) * 10 - 10);
  const ChartSpec spec =
      chart_over_gpus(1, most_gpus, {bottom, 102},
                      fmt::format("efficiency in % of one GPU; the axis begins at {:g} %", bottom));
  const ChartArea area = paint_chart(sketch, spec, at, width);
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ClusterLook& look = kClusterLooks[i % kClusterLooks.size()];
    const Colour colour = sketch.theme().series[look.series];
    const float aside = sketch.px(7) * (static_cast<float>(i) - static_cast<float>(all.size() - 1) / 2);
    std::vector<PlotPoint> line;
    for (const ClusterPoint& point : all[i].points) {
      const auto place = [&](double share) {
        const PlotPoint found = area.at(point.ranks, 100 * share);
        return PlotPoint{found.x + aside, found.y};
      };
      line.push_back(place(point.efficiency.middle));
      if (!point.efficiency.is_open()) continue;
      const PlotPoint low = place(point.efficiency.least), high = place(point.efficiency.most);
      sketch.line(low, high, with_alpha(colour, 0.7F), 1.3F);
      if (sketch.is_text()) continue;
      for (const PlotPoint& end : {low, high})
        sketch.line({end.x - sketch.px(3), end.y}, {end.x + sketch.px(3), end.y}, colour, 1.3F);
    }
    sketch.canvas().line(line, colour, sketch.px(1.8F), Dash::dotted);
    for (const PlotPoint& place : line) sketch.mark(place, look.mark, colour, 4);
    entries.push_back({.words = all[i].machine.name + ": " + efficiency_words(all[i].last()),
                       .colour = colour,
                       .line = Dash::dotted,
                       .mark = look.mark});
  }
  return sketch.legend({at.x, area.end + sketch.px(10)}, width, entries);
}

}  // namespace

Drawing errors_drawing(const BackTest& test, const std::string& source) {
  std::vector<ErrorMark> marks;
  std::size_t beyond = 0;
  double furthest = 0;
  for (const PointResult& one : test.results) {
    if (!one.predicted) continue;
    const double percent = 100 * one.error;
    marks.push_back({static_cast<double>(one.point->gpus), percent, one.point->kind, one.point->split,
                     !one.suspect.empty()});
    if (std::fabs(percent) <= kMostErrorShown) continue;
    ++beyond;
    if (std::fabs(percent) > std::fabs(furthest)) furthest = percent;
  }
  std::string words =
      "Hollow: terms were fitted to these points; filled: they were not. Bands: 10 % and 25 %.";
  if (beyond > 0)
    words += fmt::format(" {} further off, up to {:+.0f} %, at the edge.",
                         counted(static_cast<std::int64_t>(beyond), "point"), furthest);
  Drawing out{.title = "Predicted from their anchors: how far off",
              .note = source + ", by simulation of a step",
              .alt = "Errors of predictions by number of GPUs.",
              .body = {}};
  for (const std::string& one : {errors_words(test, PointSplit::test, "points that nothing was fitted to"),
                                 errors_words(test, PointSplit::calibration, "points of the fit")})
    if (!one.empty()) out.alt += " " + one;
  if (marks.empty()) return out;
  out.body = [marks = std::move(marks), words](Sketch& sketch, PlotPoint at, float width) {
    return paint_errors(sketch, at, width, marks, words);
  };
  return out;
}

Drawing clusters_drawing(const std::string& lesson, const std::vector<ClusterPrediction>& clusters) {
  std::vector<std::string> ends;
  for (const ClusterPrediction& one : clusters)
    ends.push_back(one.machine.name + ": " + efficiency_words(one.last()));
  Drawing out{.title = fmt::format("{}, {} scaling on clusters", lesson, law_name(clusters.front().law)),
              .note = "predicted by simulation; bars: what is not published of a cluster",
              .alt = "Efficiency by number of GPUs. " + joined(ends, "; ") + ".",
              .body = {}};
  out.body = [clusters](Sketch& sketch, PlotPoint at, float width) {
    return paint_clusters(sketch, at, width, clusters);
  };
  return out;
}

}  // namespace isobar
