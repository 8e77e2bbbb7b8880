#include "plot/front_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/find.h"
#include "core/text.h"
#include "draw/chart.h"

namespace isobar {
namespace {

constexpr std::size_t kMostDistances = 6;
constexpr float kPale = 0.3F;

struct KindLook {
  CheckpointKind kind;
  bool groups;  ///< several blocks together
  const char* words;
  std::size_t series;
  Mark mark;
};
constexpr std::array<KindLook, 5> kKindLooks = {
    {{CheckpointKind::none, false, "none: all is kept", 6, Mark::circle},
     {CheckpointKind::cheap, false, "cheap: norms and GELU again", 2, Mark::triangle},
     {CheckpointKind::selective, false, "selective: all but attention's", 4, Mark::square},
     {CheckpointKind::block, false, "block: whole blocks", 1, Mark::diamond},
     {CheckpointKind::block, true, "block, several together", 0, Mark::down}}};

const KindLook& look_of_way(const WayKind& way) {
  return *find_where(kKindLooks, [&](const KindLook& look) {
    return look.kind == way.checkpoint && look.groups == (way.every > 1);
  });
}

/// How all are placed by speed: samples/s, or by operations where one has no rate.
struct FrontSpeed {
  bool has_rates = false;
  double of(const PredictedWay& way) const { return has_rates ? way.samples_per_s : 100 / way.way.computing; }
};

FrontSpeed speed_of(const MemoryFront& front) {
  return {std::ranges::all_of(front.ways, [](const PredictedWay& way) { return way.samples_per_s > 0; })};
}

/// Bytes in the unit of the axis: GB, or MB where the largest way is below one.
struct FrontUnit {
  double bytes = 1e9;
  double of(std::uint64_t count) const { return static_cast<double>(count) / bytes; }
};

FrontUnit unit_of(const MemoryFront& front) {
  std::uint64_t most = front.limit_bytes;
  for (const PredictedWay& way : front.ways) most = std::max(most, way.way.plan.total());
  return {most < 1'000'000'000 ? 1e6 : 1e9};
}

ChartSpec front_chart(const MemoryFront& front, const FrontSpeed& speed) {
  const FrontUnit unit = unit_of(front);
  double least = 1e300, most = 0, slowest = 1e300, fastest = 0;
  const auto see = [&](std::uint64_t bytes, double rate) {
    least = std::min(least, unit.of(bytes));
    most = std::max(most, unit.of(bytes));
    slowest = std::min(slowest, rate);
    fastest = std::max(fastest, rate);
  };
  for (const PredictedWay& way : front.ways) see(way.way.plan.total(), speed.of(way));
  if (speed.has_rates)
    for (const MeasuredWay& run : front.measured) see(run.peak_bytes, run.samples_per_s);
  if (front.limit_bytes > 0) see(front.limit_bytes, fastest);
  const double rise = std::max(fastest - slowest, 0.1 * fastest), bottom = slowest - 0.3 * rise;
  const std::string what = speed.has_rates ? "predicted samples/s" : "speed by operations, % of the fastest";
  ChartSpec out{.x = {.least = least / 1.25, .most = most * 1.25, .log = true},
                .y = {.least = bottom < 0.3 * fastest ? 0 : bottom, .most = fastest + 0.3 * rise},
                .x_title = fmt::format("memory of a rank, {} (logarithmic)", unit.bytes < 1e9 ? "MB" : "GB"),
                .y_title = what,
                .height = 250};
  if (out.y.least > 0) out.y_title += fmt::format("; the axis begins at {}", engineering(out.y.least, 3));
  const bool is_narrow = out.x.most < 6 * out.x.least;
  for (double scale = 0.1; scale <= 1e3; scale *= 10)
    for (const double step : {1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0})
      if ((is_narrow || step == 1 || step == 2 || step == 5) && step * scale > out.x.least &&
          step * scale < out.x.most)
        out.x_marks.push_back(step * scale);
  return out;
}

/// Where what fits ends.
void paint_limit(Sketch& sketch, const MemoryFront& front, const ChartArea& area) {
  if (front.limit_bytes == 0) return;
  const Theme& theme = sketch.theme();
  const float x = area.x.pixel(unit_of(front).of(front.limit_bytes));
  if (!sketch.is_text())
    sketch.canvas().fill({area.box.x0, area.box.y0, x, area.box.y1}, with_alpha(theme.good, 0.08F));
  sketch.line({x, area.box.y0}, {x, area.box.y1}, theme.text, 1.6F);
  const std::string words = "fits into " + human_bytes(front.limit_bytes);
  const bool has_room = x - area.box.x0 > sketch.text_width(words) + sketch.px(8);
  sketch.canvas().text(x + sketch.px(has_room ? -5 : 5), area.box.y1 - sketch.px(18), words, Face::small,
                       theme.text, has_room ? 1 : 0);
}

/// The fastest way of so much memory or less, as stairs.
void paint_stairs(Sketch& sketch, const MemoryFront& front, const FrontSpeed& speed, const ChartArea& area) {
  std::vector<const PredictedWay*> ways;
  for (const PredictedWay& way : front.ways) ways.push_back(&way);
  std::ranges::sort(ways, {}, [](const PredictedWay* way) { return way->way.plan.total(); });
  std::vector<PlotPoint> stairs;
  double best = 0;
  for (const PredictedWay* way : ways) {
    if (speed.of(*way) <= best) continue;
    const PlotPoint at = area.at(unit_of(front).of(way->way.plan.total()), speed.of(*way));
    stairs.push_back({at.x, stairs.empty() ? area.box.y1 : stairs.back().y});
    stairs.push_back(at);
    best = speed.of(*way);
  }
  stairs.push_back({area.box.x1, stairs.back().y});
  sketch.canvas().line(stairs, sketch.theme().dim, sketch.px(1.5F), Dash::dotted);
}

/// Marks of one row, and how many passes they are where no such number stands yet.
void paint_row(Sketch& sketch, const MemoryFront& front, const FrontSpeed& speed, const ChartArea& area,
               const KindLook& look, std::vector<Box>& numbers) {
  const Colour colour = sketch.theme().series[look.series];
  for (const PredictedWay& way : front.ways) {  // passes rise, memory falls
    const WayKind kind = way_kind(way.way.config);
    if (&look_of_way(kind) != &look) continue;
    const PlotPoint at = area.at(unit_of(front).of(way.way.plan.total()), speed.of(way));
    const bool fits = front.limit_bytes == 0 || way.fits;
    sketch.mark(at, look.mark, fits ? colour : with_alpha(colour, kPale), look.groups ? 3.2F : 4.4F);
    if (sketch.is_text() || look.groups) continue;
    const std::string words = std::to_string(kind.passes);
    const float half = sketch.text_width(words) / 2 + sketch.px(2), top = at.y - sketch.px(20);
    const Box place = {at.x - half, top, at.x + half, top + sketch.px(14)};
    if (std::ranges::any_of(numbers, [&](const Box& other) {
          return other.x0 < place.x1 && place.x0 < other.x1 && other.y0 < place.y1 && place.y0 < other.y1;
        }))
      continue;
    sketch.canvas().text(at.x, top, words, Face::small, sketch.theme().dim, 0.5F);
    numbers.push_back(place);
  }
}

const PredictedWay* prediction_of(const MemoryFront& front, const WayKind& kind) {
  return find_where(front.ways, [&](const PredictedWay& way) { return way_kind(way.way.config) == kind; });
}

void paint_measured(Sketch& sketch, const MemoryFront& front, const ChartArea& area) {
  const Colour colour = sketch.theme().text;
  for (const MeasuredWay& run : front.measured) {
    const PlotPoint at = area.at(unit_of(front).of(run.peak_bytes), run.samples_per_s);
    if (const PredictedWay* const way = prediction_of(front, run.way))
      sketch.line(area.at(unit_of(front).of(way->way.plan.total()), way->samples_per_s), at, colour, 1.2F);
    sketch.mark(at, Mark::star, colour, 6);
  }
}

std::vector<LegendEntry> front_legend(const MemoryFront& front, const FrontSpeed& speed, const Theme& theme) {
  std::vector<LegendEntry> out;
  for (const KindLook& look : kKindLooks)
    if (find_where(front.ways, [&](const PredictedWay& way) {
          return &look_of_way(way_kind(way.way.config)) == &look;
        }) != nullptr)
      out.push_back({.words = look.words, .colour = theme.series[look.series], .mark = look.mark});
  out.push_back({.words = "the fastest by memory", .colour = theme.dim, .line = Dash::dotted});
  if (!front.measured.empty() && speed.has_rates)
    out.push_back({.words = "measured", .colour = theme.text, .mark = Mark::star});
  return out;
}

std::string fit_words(const MemoryFront& front) {
  if (front.limit_bytes == 0) return "";
  const std::string cap = human_bytes(front.limit_bytes);
  const PredictedWay* const best = fastest_fit(front);
  if (best == nullptr) return fmt::format("None of these fits into {}.", cap);
  const std::string rate =
      best->samples_per_s > 0 ? fmt::format(", {:.1f} samples/s", best->samples_per_s) : std::string();
  return fmt::format("The fastest that fits into {}: {} ({}{}).", cap, way_words(way_kind(best->way.config)),
                     human_bytes(best->way.plan.total()), rate);
}

float paint_front(Sketch& sketch, PlotPoint at, float width, const MemoryFront& front) {
  const FrontSpeed speed = speed_of(front);
  const ChartArea area = paint_chart(sketch, front_chart(front, speed), at, width);
  paint_limit(sketch, front, area);
  paint_stairs(sketch, front, speed, area);
  std::vector<Box> numbers;
  for (const KindLook& look : kKindLooks) paint_row(sketch, front, speed, area, look, numbers);
  if (speed.has_rates) paint_measured(sketch, front, area);
  float y =
      sketch.legend({at.x, area.end + sketch.px(10)}, width, front_legend(front, speed, sketch.theme()));
  std::string words = fit_words(front);
  if (!sketch.is_text()) words += (words.empty() ? "" : " ") + std::string("Numbers: passes a step.");
  if (!words.empty()) y = sketch.words({at.x, y + sketch.px(2)}, width, words);
  for (std::size_t i = 0; i < std::min(front.measured.size(), kMostDistances); ++i)
    y = sketch.words({at.x, y + sketch.px(2)}, width, distance_words(front, front.measured[i]),
                     {.colour = sketch.theme().dim});
  return y;
}

}  // namespace

const PredictedWay* fastest_fit(const MemoryFront& front) {
  const FrontSpeed speed = speed_of(front);
  const PredictedWay* out = nullptr;
  for (const PredictedWay& way : front.ways) {
    if (way.way.plan.total() > front.limit_bytes) continue;
    const bool is_better = out == nullptr || speed.of(way) > speed.of(*out) ||
                           (speed.of(way) == speed.of(*out) &&
                            way.way.config.train.accumulate < out->way.config.train.accumulate);
    if (is_better) out = &way;
  }
  return out;
}

std::string distance_words(const MemoryFront& front, const MeasuredWay& run) {
  std::string out = fmt::format("{}: measured {} and {:.1f} samples/s", way_words(run.way),
                                human_bytes(run.peak_bytes), run.samples_per_s);
  if (const PredictedWay* const way = prediction_of(front, run.way)) {
    const auto off = [](double predicted, double measured) { return 100 * (predicted / measured - 1); };
    out += fmt::format("; predicted {:+.1f} % of memory",
                       off(static_cast<double>(way->way.plan.total()), static_cast<double>(run.peak_bytes)));
    if (way->samples_per_s > 0)
      out += fmt::format(", {:+.1f} % of the rate", off(way->samples_per_s, run.samples_per_s));
  }
  return out + (run.is_crowded ? " (beside other programs)" : "");
}

Drawing front_drawing(const MemoryFront& front) {
  Drawing out{.title = "Speed against memory: " + front.title,
              .note = "predicted for " + front.where + "; a line leads from each run to its prediction",
              .alt = fmt::format("{} ways to train the batch.", front.ways.size()),
              .body = {}};
  if (front.measured.empty()) out.note = "predicted for " + front.where + "; no run measured a way yet";
  if (const std::string words = fit_words(front); !words.empty()) out.alt += " " + words;
  for (const MeasuredWay& run : front.measured) out.alt += " " + distance_words(front, run) + ".";
  if (front.ways.empty()) return out;
  out.body = [front](Sketch& sketch, PlotPoint at, float width) {
    return paint_front(sketch, at, width, front);
  };
  return out;
}

}  // namespace isobar
