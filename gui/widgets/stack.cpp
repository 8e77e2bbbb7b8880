#include "widgets/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/chart.h"
#include "draw/colour.h"
#include "draw/sketch.h"

namespace isobar {
namespace {

constexpr float kColumn = 7;  // pixels, gap included

double mean(const Curve& curve, std::size_t first_row, std::size_t last_row) {
  const Extent extent = curve.y.extent(curve.index_of_row(first_row), curve.index_of_row(last_row));
  return extent.finite == 0 ? 0 : extent.sum / static_cast<double>(extent.finite);
}

bool has_data(const StackSpec& spec) {
  return spec.places != nullptr && !spec.places->empty() && spec.total != nullptr && !spec.total->y.empty();
}

struct StackLayout {
  Box area;
  Axis x, y;
  std::vector<StackColumn> columns;
};

/// Stages that take at least half a percent, in their order.
std::vector<LegendEntry> shares_of(const StackSpec& spec, const std::vector<StackColumn>& columns) {
  std::vector<double> sums(spec.stages.size() + 1, 0);
  double total = 0;
  for (const StackColumn& column : columns) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += column.stages_us[i];
    total += column.total_us;
  }
  std::vector<LegendEntry> out;
  for (std::size_t i = 0; i < sums.size() && total > 0; ++i) {
    const double share = 100 * sums[i] / total;
    if (share < 0.5) continue;
    out.push_back({fmt::format("{} {:.0f} %", spec.name(i), share), spec.colour(i)});
  }
  return out;
}

std::string time_label(double seconds) {
  if (seconds == 0) return "0";
  return seconds < 1 ? engineering(seconds * 1e3, 3) + " ms" : engineering(seconds, 3) + " s";
}

void paint_columns(Canvas& canvas, const StackSpec& spec, const StackLayout& at) {
  canvas.push_clip(at.area);
  for (const StackColumn& column : at.columns) {
    const float x0 = at.x.pixel(column.x.least);
    const float x1 = std::max(x0 + 1, at.x.pixel(column.x.most) - 1);
    double below_us = 0;
    for (std::size_t i = 0; i <= spec.stages.size(); ++i) {
      const double top_us = below_us + column.stages_us[i];
      canvas.fill({x0, at.y.pixel(top_us * 1e-6), x1, at.y.pixel(below_us * 1e-6)}, spec.colour(i));
      below_us = top_us;
    }
  }
  canvas.pop_clip();
}

/// Gives where it is; the shares above the columns take as many rows as they need.
StackLayout paint_stack(Canvas& canvas, const Theme& theme, const StackSpec& spec, PlotView& view,
                        const PlotLink& link, const Box& box, float ease) {
  const float s = canvas.scale();
  StackLayout out;
  out.area = {std::round(box.x0 + canvas.text_width("100 ms", Face::small) + 20 * s),
              std::round(box.y0 + 58 * s), std::round(box.x1 - 14 * s),
              std::round(box.y1 - kXMarksHeight * s)};
  paint_fitted(canvas, box.x0 + 12 * s, box.y0 + 10 * s, box.width() - 60 * s, spec.title, Face::bold,
               theme.text);
  const auto count = static_cast<std::size_t>(std::max(1.0F, out.area.width() / (kColumn * s)));
  out.columns = stack_columns(spec, link.x.least, link.x.most, count);
  if (!out.columns.empty())
    out.area.y0 = std::round(
        Sketch(canvas, theme)
            .legend({out.area.x0, box.y0 + 33 * s}, out.area.width(), shares_of(spec, out.columns)) +
        6 * s);
  double most = 0;
  for (const StackColumn& column : out.columns) most = std::max(most, column.total_us * 1e-6);
  view.want = {0, most > 0 ? std::min(most, 1e100) * 1.06 : 1};
  view.ease_y(ease);
  out.x = {link.x.least,    link.x.most, link.log_x && link.x.least > 0,
           spec.x_is_whole, out.area.x0, out.area.x1};
  out.y = {0, std::max(1e-12, view.y.most), false, false, out.area.y1, out.area.y0};
  if (out.columns.empty()) {
    paint_empty(canvas, theme, spec.empty, out.area);
    return out;
  }
  std::vector<Tick> marks = ticks(out.y, 40 * s);
  for (Tick& tick : marks) tick.label = time_label(tick.value);
  paint_y_marks(canvas, theme, marks, out.y, out.area);
  paint_x_marks(canvas, theme, {spec.x_title, spec.x_is_time}, out.x, out.area);
  paint_columns(canvas, spec, out);
  return out;
}

void tooltip(Ui& ui, const StackSpec& spec, const StackColumn& column) {
  ImGui::BeginTooltip();
  ui.text(fmt::format("{} {} to {}: a step takes {} ms", spec.x_title, engineering(column.x.least, 5),
                      engineering(column.x.most, 5), engineering(column.total_us * 1e-3, 4)),
          Face::small, ui.theme().dim);
  for (std::size_t i = 0; i <= spec.stages.size(); ++i) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({ui.px(12), ui.px(13)});
    ui.canvas().fill({at.x, at.y + ui.px(3), at.x + ui.px(10), at.y + ui.px(13)}, spec.colour(i), ui.px(2));
    ui.beside(4).text(fmt::format("{:>8} ms", engineering(column.stages_us[i] * 1e-3, 3)), Face::mono_small);
    ui.beside(8).text(spec.name(i), Face::small);
  }
  ImGui::EndTooltip();
}

}  // namespace

std::vector<StackColumn> stack_columns(const StackSpec& spec, double least, double most, std::size_t count) {
  std::vector<StackColumn> out;
  if (!has_data(spec) || !(most > least)) return out;
  const Series& places = *spec.places;
  const std::size_t first = places.lower_bound(least);
  const std::size_t last = places.lower_bound(std::nextafter(most, HUGE_VAL));
  if (last <= first) return out;
  const std::size_t each =
      std::max<std::size_t>(1, (last - first + count - 1) / std::max<std::size_t>(1, count));
  const double spacing =
      last - first > 1 ? (places[last - 1] - places[first]) / static_cast<double>(last - first - 1) : 1;
  for (std::size_t row = first / each * each; row < last; row += each) {
    const std::size_t end = std::min(row + each, places.size());
    StackColumn column;
    column.x.least = places[row];
    column.x.most = end < places.size() ? places[end] : places[end - 1] + spacing;
    double sum_us = 0;
    for (const StackStage& stage : spec.stages) {
      column.stages_us.push_back(std::max(0.0, mean(*stage.curve, row, end)));
      sum_us += column.stages_us.back();
    }
    column.total_us = std::max(sum_us, mean(*spec.total, row, end));
    column.stages_us.push_back(column.total_us - sum_us);
    out.push_back(std::move(column));
  }
  return out;
}

PlotAsk show_stack(Ui& ui, const StackSpec& spec, PlotView& view, PlotLink& link, ImVec2 size) {
  PlotSpec frame;  // without lines: what it brings is zooming, the crosshair and the menu
  frame.id = spec.id;
  frame.legend = false;
  PlotView own;  // the y axis of a stack always fits
  if (has_data(spec)) link.see((*spec.places)[0], spec.places->back());
  StackLayout at;
  const PlotAsk ask = show_plot(ui, frame, own, link, size, [&](Canvas& canvas, const Box& box) {
    at = paint_stack(canvas, ui.theme(), spec, view, link, box, ui.ease());
    if (view.is_easing()) ui.ask_frame();
    return PlotLayout{.box = box, .area = at.area, .legend = {}, .x = at.x, .y = at.y};
  });
  if (!link.is_over(spec.id) || !ImGui::IsMouseHoveringRect(least_of(at.area), most_of(at.area))) return ask;
  for (const StackColumn& column : at.columns) {
    if (link.hover->x >= column.x.least && link.hover->x < column.x.most) tooltip(ui, spec, column);
  }
  return ask;
}

std::string stack_csv(const StackSpec& spec, const PlotLink& link) {
  std::string out = spec.x_title + "_begin," + spec.x_title + "_end";
  for (const StackStage& stage : spec.stages) out += "," + stage.name + "_us";
  out += ",rest_us,step_us\n";
  for (const StackColumn& column : stack_columns(spec, link.x.least, link.x.most, 1000)) {
    out += fmt::format("{},{}", column.x.least, column.x.most);
    for (const double time_us : column.stages_us) out += fmt::format(",{}", time_us);
    out += fmt::format(",{}\n", column.total_us);
  }
  return out;
}

std::string stack_file(Ui& ui, ExportKind kind, const StackSpec& spec, PlotView view, const PlotLink& link,
                       float width, float height) {
  if (kind == ExportKind::csv) return stack_csv(spec, link);
  return drawing(ui, kind, width, height, [&](Canvas& canvas) {
    paint_stack(canvas, ui.theme(), spec, view, link, {0, 0, width, height}, 1);
  });
}

}  // namespace isobar
