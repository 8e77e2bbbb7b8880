#include "page/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "core/text.h"
#include "draw/sketch.h"
#include "draw/svg_canvas.h"
#include "plot/band.h"

namespace isobar {
namespace {

constexpr float kWidth = 1040, kPlotHeight = 340;
constexpr std::size_t kMostTooltips = 120;

/// Clips are numbered within a picture, and a page has many: each gets names of its own.
std::string with_own_ids(std::string svg, int number) {
  const std::string prefix = fmt::format("f{}c", number);
  for (const std::string_view before : {"<clipPath id=\"c", "clip-path=\"url(#c"}) {
    for (std::size_t at = svg.find(before); at != std::string::npos; at = svg.find(before, at)) {
      at += before.size() - 1;
      svg.replace(at, 1, prefix);
    }
  }
  return svg;
}

/// HTML has no such attribute (tidy): the page's style sets it.
std::string without_font(std::string svg) {
  constexpr std::string_view kBefore = " font-family=\"Inter";
  const std::size_t head = svg.find('>'), at = svg.find(kBefore);
  if (at < head) svg.erase(at, svg.find('"', at + kBefore.size()) + 1 - at);
  return svg;
}

/// Both are of the same lines, an element each, and differ in a colour at most.
std::string in_both_themes(std::string_view light, std::string_view dark) {
  constexpr std::string_view kColour = "=\"#";
  constexpr std::size_t kBytes = 7;  // "#rrggbb"
  std::string out;
  while (!light.empty()) {
    const std::size_t end = std::min(light.find('\n'), light.size() - 1) + 1;
    const std::string_view line = light.substr(0, end), other = dark.substr(0, dark.find('\n') + 1);
    light.remove_prefix(end);
    dark.remove_prefix(other.size());
    const std::size_t one = line.find(kColour), two = other.find(kColour);
    const bool differ = one != std::string_view::npos && two != std::string_view::npos &&
                        line.substr(one + 2, kBytes) != other.substr(two + 2, kBytes);
    if (!differ) {
      out += line;
      continue;
    }
    const std::size_t behind = one + 2 + kBytes + 1;
    out += line.substr(0, behind);
    out += fmt::format(" style=\"--dark:{}\"", other.substr(two + 2, kBytes));
    out += line.substr(behind);
  }
  return out;
}

std::string tooltip(const PlotPoint& at, const std::string& words) {
  return fmt::format(
      "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\"><title>{}</title></circle>\n", at.x, at.y,
      xml_escaped(words));
}

std::string tooltips(const PlotSpec& spec, const PlotLayout& layout, const PlotLink& link) {
  std::string out;
  for (const PlotLine& line : spec.lines) {
    if (line.curve == nullptr || line.places == nullptr) continue;
    const Curve& curve = *line.curve;
    const std::size_t every = std::max<std::size_t>(1, (curve.y.size() + kMostTooltips - 1) / kMostTooltips);
    for (std::size_t i = curve.y.size() % every == 0 ? every - 1 : 0; i < curve.y.size(); i += every) {
      const double x = (*line.places)[curve.row(i)], y = curve.y[i];
      const bool shows =
          std::isfinite(y) && x >= link.x.least && x <= link.x.most && (!layout.y.log || y > 0);
      if (shows)
        out += tooltip({layout.x.pixel(x), layout.y.pixel(y)},
                       fmt::format("{}: {} at {} {}", line.label, engineering(y), spec.x_title,
                                   spec.x_is_time ? clock_text(x) : engineering(x, 7)));
    }
  }
  return out;
}

/// From the first to the last place of all lines.
PlotLink link_of(const PlotSpec& spec) {
  PlotLink out;
  for (const PlotLine* const line : shown_lines(spec, {}))
    out.see((*line->places)[line->curve->row(0)],
            (*line->places)[line->curve->row(line->curve->y.size() - 1)]);
  out.begin_frame();
  return out;
}

}  // namespace

std::vector<std::string> stages_of(const std::vector<StageBar>& bars) {
  std::vector<std::string> out;
  for (const StageBar& bar : bars) {
    for (const auto& [stage, us] : bar.stages_us) {
      if (us > 0 && !holds(out, stage)) out.push_back(stage);
    }
  }
  std::stable_partition(out.begin(), out.end(), [](const std::string& stage) { return stage != "rest"; });
  return out;
}

std::string Figures::figure(float height, const Words& words, const Paint& paint, const std::string& more) {
  const auto drawn = [&](bool dark) {
    const Theme& theme = theme_of(dark);
    SvgCanvas canvas(kWidth, height, theme.panel);
    canvas.describe(words.title, words.caption);
    paint(canvas, theme);
    return canvas.text();
  };
  std::string svg = in_both_themes(drawn(false), drawn(true));
  svg.insert(svg.rfind("</svg>"), more);
  std::string out = "<figure>\n" + with_own_ids(without_font(std::move(svg)), ++number_);
  if (!words.caption.empty()) out += "<figcaption>" + xml_escaped(words.caption) + "</figcaption>\n";
  return out + "</figure>\n";
}

std::string Figures::plot(const OfTheme<PlotSpec>& spec_of, const std::string& caption) {
  const Theme& light = theme_of(false);
  const PlotSpec spec = spec_of(light);
  const PlotLink link = link_of(spec);
  const Box box = {0, 0, kWidth, kPlotHeight};
  PlotView view;
  const PlotLayout layout = lay_out(spec, view, link, box, SvgCanvas(kWidth, kPlotHeight, light.panel), 1);
  const auto paint = [&](Canvas& canvas, const Theme& theme) {
    Smoother smoother;
    paint_plot(canvas, theme, spec_of(theme), view, link, layout, smoother);
  };
  return figure(kPlotHeight, {spec.title, caption}, paint, tooltips(spec, layout, link));
}

std::string Figures::stage_bars(const std::vector<StageBar>& bars, const std::string& title,
                                const std::string& caption) {
  constexpr float kLegend = 28;
  const float height = kLegend + stage_bars_height(bars, SvgCanvas(kWidth, 1, theme_of(false).panel));
  return figure(height, {title, caption}, [&](Canvas& canvas, const Theme& theme) {
    std::vector<LegendEntry> legend;
    for (const std::string& stage : stages_of(bars)) legend.push_back({stage, stage_colour(theme, stage)});
    Sketch(canvas, theme).legend({12, 8}, kWidth, legend);
    paint_stage_bars(canvas, theme, bars, {0, kLegend, kWidth, height});
  });
}

std::string Figures::waterfall(const OfTheme<WaterfallSpec>& spec_of, const std::string& caption) {
  const WaterfallSpec spec = spec_of(theme_of(false));
  const float height = waterfall_height(spec, SvgCanvas(kWidth, 1, theme_of(false).panel));
  return figure(height, {spec.title, caption}, [&](Canvas& canvas, const Theme& theme) {
    paint_waterfall(canvas, theme, spec_of(theme), {0, 0, kWidth, height});
  });
}

std::string Figures::maps(const std::vector<MapSpec>& maps, const std::string& title,
                          const std::string& caption) {
  if (maps.empty()) return "";
  const float gap = 12,
              width = (kWidth - gap * static_cast<float>(maps.size() - 1)) / static_cast<float>(maps.size());
  constexpr float kAround = 70;  // title, colour bar and its values
  const auto& first = *maps.front().picture;
  const float height =
      kAround + width * static_cast<float>(first.height) / static_cast<float>(std::max(1, first.width));
  return figure(height, {title, caption}, [&](Canvas& canvas, const Theme& theme) {
    float x = 0;
    for (const MapSpec& map : maps) {
      paint_map(canvas, theme, map, {x, 0, x + width, height});
      x += width + gap;
    }
  });
}

}  // namespace isobar
