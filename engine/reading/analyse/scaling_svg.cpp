#include "analyse/scaling_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analyse/nice_step.h"
#include "analyse/svg.h"
#include "analyse/wrapped.h"
#include "core/error.h"

namespace isobar {
namespace {

constexpr double kPageWidth = 960, kPlotTop = 116, kPlotBottom = 368, kMargin = 60;
constexpr double kLineHeight = 16;
constexpr std::size_t kColumns = 145;
constexpr const char* kDim = "fill=\"#5b6470\"";
constexpr const char* kIdealStyle = "stroke=\"#5b6470\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";

/// Hues of Okabe and Ito, which colour-blind people can tell apart too.
const char* colour_of(ScalingLine line) {
  constexpr std::array<const char*, kScalingLines.size()> kColours = {"#0072b2", "#d55e00", "#007d5a"};
  return kColours[static_cast<std::size_t>(line)];
}

/// The lower ones are wider, so that they are seen where lines lie on each other.
double width_of(ScalingLine line) { return 2 + 0.9 * static_cast<double>(line); }

/// A circle, a square and a triangle: lines are told apart without colour too.
void draw_marker(Svg& svg, ScalingLine line, SvgPoint at) {
  const std::string style =
      fmt::format("fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"1.5\"", colour_of(line));
  if (line == ScalingLine::real) return svg.circle(at, 4.8, style);
  constexpr double kSide = 5.4, kTip = 8.2;
  if (line == ScalingLine::synthetic) {
    return svg.polygon({{at.x - kSide, at.y - kSide},
                        {at.x + kSide, at.y - kSide},
                        {at.x + kSide, at.y + kSide},
                        {at.x - kSide, at.y + kSide}},
                       style);
  }
  svg.polygon({{at.x, at.y - kTip}, {at.x + kTip, at.y + kSide}, {at.x - kTip, at.y + kSide}}, style);
}

void draw_cross(Svg& svg, SvgPoint at, const std::string& colour) {
  const std::string style = fmt::format("stroke=\"{}\" stroke-width=\"2\"", colour);
  svg.line(at.x - 4, at.y - 4, at.x + 4, at.y + 4, style);
  svg.line(at.x - 4, at.y + 4, at.x + 4, at.y - 4, style);
}

/// What one panel draws of a point.
struct Value {
  double middle = 0;
  double least = 0;
  double most = 0;
};
using ValueOf = std::function<std::optional<Value>(const ScalingFigures&)>;
using IdealOf = std::function<std::optional<double>(std::int64_t)>;

struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<double> ticks = {};

  /// From 0 at the bottom to 1 at the top.
  double place(double value) const {
    if (!logarithmic) return (value - low) / (high - low);
    return std::log2(std::max(value, low) / low) / std::log2(high / low);
  }
};

Axis linear_axis(double most) {
  Axis out{.low = 0, .high = most};
  for (double tick = 0; tick <= most * 1.0001; tick += nice_step(most, 6)) out.ticks.push_back(tick);
  return out;
}

/// Over a small range ticks are evenly apart in value, over a large one at 1, 2 and 5 times powers of ten.
Axis logarithmic_axis(double least, double most) {
  constexpr double kRoom = 1.15, kLarge = 12;
  Axis out{.low = least / kRoom, .high = most * kRoom, .logarithmic = true};
  if (out.high / out.low < kLarge) {
    const double step = nice_step(out.high - out.low, 6);
    for (double tick = std::ceil(out.low / step) * step; tick <= out.high; tick += step)
      out.ticks.push_back(tick);
    return out;
  }
  for (double power = std::pow(10, std::floor(std::log10(out.low))); power <= out.high; power *= 10) {
    for (const double part : {1.0, 2.0, 5.0}) {
      if (part * power >= out.low && part * power <= out.high) out.ticks.push_back(part * power);
    }
  }
  return out;
}

/// A word at the right end of a line.
struct EndLabel {
  double y = 0;
  std::string words;
  std::string colour;
};

class Panel {
 public:
  Panel(Svg& svg, const Scaling& scaling, double left, double right, Axis axis)
      : svg_(svg),
        scaling_(scaling),
        left_(left),
        right_(right),
        axis_(std::move(axis)),
        ranks_(scaling.ranks()) {}

  void frame(const std::string& title, const std::function<std::string(double)>& tick_text) {
    svg_.text(left_ - 40, kPlotTop - 16, title, "fill=\"#1b1e23\" font-weight=\"600\"");
    for (const double tick : axis_.ticks) {
      svg_.line(left_, y(tick), right_, y(tick), "stroke=\"#e3e6ea\"");
      svg_.text(left_ - 8, y(tick) + 4, tick_text(tick), std::string(kDim) + " text-anchor=\"end\"");
    }
    svg_.line(left_, kPlotBottom, right_, kPlotBottom, "stroke=\"#9aa1ab\"");
    double last = -1e9;
    for (const std::int64_t ranks : ranks_) {
      svg_.line(x(ranks), kPlotBottom, x(ranks), kPlotBottom + 5, "stroke=\"#9aa1ab\"");
      if (x(ranks) - last < 26) continue;  // numbers of ranks that lie close together would overlap
      last = x(ranks);
      svg_.text(x(ranks), kPlotBottom + 20, std::to_string(ranks),
                std::string(kDim) + " text-anchor=\"middle\"");
    }
    svg_.text((left_ + right_) / 2, kPlotBottom + 38, "ranks (logarithmic)",
              std::string(kDim) + " text-anchor=\"middle\"");
  }

  void ideal(const IdealOf& ideal_of) {
    const std::optional<double> first = ideal_of(ranks_.front());
    const std::optional<double> last = ideal_of(ranks_.back());
    if (first && last) svg_.line(x(ranks_.front()), y(*first), x(ranks_.back()), y(*last), kIdealStyle);
  }

  void line(ScalingLine which, const ValueOf& value_of, const std::function<std::string(double)>& words) {
    std::vector<SvgPoint> run;
    const auto end_run = [&] {
      if (run.size() > 1)
        svg_.polyline(run, fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\" stroke-linejoin=\"round\"",
                                       colour_of(which), width_of(which)));
      run.clear();
    };
    for (const std::int64_t ranks : ranks_) {
      if (const std::optional<Value> value = value_at(which, ranks, value_of)) {
        run.push_back({x(ranks) + aside(which), y(value->middle)});
      } else {
        end_run();  // what was not measured is no straight line
      }
    }
    end_run();
    for (const std::int64_t ranks : ranks_) mark(which, ranks, value_of);
    if (const std::optional<Value> value = value_at(which, ranks_.back(), value_of))
      labels_.push_back({y(value->middle), words(value->middle), colour_of(which)});
  }

  /// Pushed apart, so that lines that end at one place can be read.
  void end_labels() {
    constexpr double kApart = 14;
    std::sort(labels_.begin(), labels_.end(), [](const EndLabel& a, const EndLabel& b) { return a.y < b.y; });
    double next = kPlotTop;
    double beyond = kPlotBottom;
    for (EndLabel& label : labels_) {
      label.y = std::max(label.y, next);
      next = label.y + kApart;
    }
    for (auto label = labels_.rbegin(); label != labels_.rend(); ++label) {
      label->y = std::min(label->y, beyond);
      beyond = label->y - kApart;
    }
    for (const EndLabel& label : labels_)
      svg_.text(right_ + 12, label.y + 4, label.words,
                fmt::format("fill=\"{}\" font-weight=\"600\"", label.colour));
  }

 private:
  std::optional<Value> value_at(ScalingLine which, std::int64_t ranks, const ValueOf& value_of) const {
    const ScalingFigures* const point = scaling_.find(which, ranks);
    return point == nullptr || point->is_gap() ? std::nullopt : value_of(*point);
  }

  void mark(ScalingLine which, std::int64_t ranks, const ValueOf& value_of) {
    const std::optional<Value> value = value_at(which, ranks, value_of);
    const double at = x(ranks) + aside(which);
    if (!value) return draw_cross(svg_, {at, kPlotBottom - 9}, colour_of(which));
    const std::string style = fmt::format("stroke=\"{}\" stroke-width=\"1.4\"", colour_of(which));
    const double top = y(value->most);
    const double bottom = y(value->least);
    svg_.line(at, top, at, bottom, style);
    svg_.line(at - 4, top, at + 4, top, style);
    svg_.line(at - 4, bottom, at + 4, bottom, style);
    draw_marker(svg_, which, {at, y(value->middle)});
  }

  /// Lines stand beside each other, so that bars at one place can be read.
  static double aside(ScalingLine which) { return (static_cast<double>(which) - 1) * 9; }

  double x(std::int64_t ranks) const {
    constexpr double kRoom = 22;
    const double all = std::log2(static_cast<double>(ranks_.back()) / static_cast<double>(ranks_.front()));
    const double part = std::log2(static_cast<double>(ranks) / static_cast<double>(ranks_.front()));
    const double width = right_ - left_ - 2 * kRoom;
    return left_ + kRoom + (all > 0 ? part / all * width : width / 2);
  }
  double y(double value) const {
    return kPlotBottom - std::clamp(axis_.place(value), 0.0, 1.0) * (kPlotBottom - kPlotTop);
  }

  Svg& svg_;
  const Scaling& scaling_;
  double left_;
  double right_;
  Axis axis_;
  std::vector<std::int64_t> ranks_;
  std::vector<EndLabel> labels_;
};

const char* legend_text(ScalingLine line) {
  constexpr std::array<const char*, kScalingLines.size()> kTexts = {
      "real", "synthetic: nothing is read", "no-comm: gradients are not averaged either"};
  return kTexts[static_cast<std::size_t>(line)];
}

void draw_legend(Svg& svg, const Scaling& scaling) {
  constexpr double kY = 68, kLetter = 6.1, kSample = 26;
  double x = kMargin - 40;
  const auto words = [&](const std::string& text) {
    svg.text(x + kSample + 6, kY + 4, text, "fill=\"#1b1e23\"");
    x += kSample + 6 + kLetter * static_cast<double>(text.size()) + 18;
  };
  for (const ScalingLine line : scaling.lines()) {
    svg.line(x, kY, x + kSample, kY,
             fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\"", colour_of(line), width_of(line)));
    draw_marker(svg, line, {x + kSample / 2, kY});
    words(legend_text(line));
  }
  svg.line(x, kY, x + kSample, kY, kIdealStyle);
  words("ideal");
  const bool gaps =
      std::any_of(scaling.points.begin(), scaling.points.end(),
                  [](const ScalingFigures& point) { return point.is_gap() || !point.efficiency; });
  if (!gaps) return;
  draw_cross(svg, {x + kSample - 8, kY}, "#5b6470");
  words("no value");
}

/// The real one is drawn last, above the others.
std::vector<ScalingLine> lines_from_below(const Scaling& scaling) {
  std::vector<ScalingLine> out = scaling.lines();
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<Value> rate_of(const ScalingFigures& point) {
  const Spread& rate = point.samples_per_s;
  return Value{rate.median(), rate.least(), rate.most()};
}

std::optional<Value> percent_of(const ScalingFigures& point) {
  if (!point.efficiency) return std::nullopt;
  return Value{100 * point.efficiency->value, 100 * point.efficiency->least, 100 * point.efficiency->most};
}

void draw_rates(Svg& svg, const Scaling& scaling) {
  double least = INFINITY;
  double most = 0;
  for (const ScalingFigures& point : scaling.points) {
    if (point.is_gap()) continue;
    least = std::min(least, point.samples_per_s.least());
    most = std::max(most, point.samples_per_s.most());
  }
  const IdealOf ideal = [&](std::int64_t ranks) { return scaling.ideal_rate(ranks); };
  if (const auto at_end = ideal(scaling.ranks().back())) most = std::max(most, *at_end);
  Panel panel(svg, scaling, kMargin, 430, logarithmic_axis(least, most));
  const auto text = [](double value) { return fmt::format("{:.4g}", value); };
  panel.frame("samples/s of all ranks (logarithmic)", text);
  panel.ideal(ideal);
  for (const ScalingLine line : lines_from_below(scaling)) panel.line(line, rate_of, text);
  panel.end_labels();
}

void draw_efficiency(Svg& svg, const Scaling& scaling) {
  double most = 100;
  for (const ScalingFigures& point : scaling.points) {
    if (point.efficiency) most = std::max(most, 100 * point.efficiency->most);
  }
  Panel panel(svg, scaling, 560, 880, linear_axis(most * 1.05));
  panel.frame(
      fmt::format("efficiency in % of {} rank{}", scaling.base_ranks, scaling.base_ranks == 1 ? "" : "s"),
      [](double value) { return fmt::format("{:.0f}", value); });
  panel.ideal([](std::int64_t) { return std::optional<double>(100); });
  for (const ScalingLine line : lines_from_below(scaling))
    panel.line(line, percent_of, [](double value) { return fmt::format("{:.1f} %", value); });
  panel.end_labels();
}

}  // namespace

std::string draw_scaling(const Scaling& scaling, const ScalingCaption& caption) {
  const bool nothing = std::all_of(scaling.points.begin(), scaling.points.end(),
                                   [](const ScalingFigures& point) { return point.is_gap(); });
  if (nothing) throw Error("no point has a value to draw", caption.title, "", Exit::failed);
  Svg svg;
  svg.text(kMargin - 40, 26, caption.title, "fill=\"#1b1e23\" font-size=\"16\" font-weight=\"600\"");
  svg.text(kMargin - 40, 44, caption.subtitle, kDim);
  draw_legend(svg, scaling);
  draw_rates(svg, scaling);
  draw_efficiency(svg, scaling);
  double y = kPlotBottom + 66;
  for (const std::string& sentence : caption.protocol) {
    for (const std::string& line : wrapped(sentence, kColumns)) {
      svg.text(kMargin - 40, y, line, kDim);
      y += kLineHeight;
    }
  }
  return svg.document(kPageWidth, y + 4);
}

}  // namespace isobar
