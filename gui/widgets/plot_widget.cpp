#include "widgets/plot_widget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/colour.h"

namespace isobar {
namespace {

Limits zoomed(Limits old, bool log, double at, double factor) {
  if (log && old.least > 0 && at > 0)
    return {at * std::pow(old.least / at, factor), at * std::pow(old.most / at, factor)};
  return {at + (old.least - at) * factor, at + (old.most - at) * factor};
}

Limits panned(Limits old, bool log, double part) {
  if (log && old.least > 0) {
    const double ratio = std::pow(old.most / old.least, part);
    return {old.least * ratio, old.most * ratio};
  }
  const double by = (old.most - old.least) * part;
  return {old.least + by, old.most + by};
}

/// Zooming on without end would run out of digits.
bool is_sane(Limits to) {
  return std::isfinite(to.least) && std::isfinite(to.most) && to.most - to.least > 1e-12 &&
         to.most - to.least > std::max(std::fabs(to.least), std::fabs(to.most)) * 1e-9;
}

void fit(PlotView& view, PlotLink& link) {
  view.fit_y = true;
  link.fit_x = true;
}

/// These y limits from now on; what counts from zero has nothing below it.
void set_y(const PlotSpec& spec, PlotView& view, Limits to) {
  if (spec.from_zero && !view.log_y) to.least = std::max(0.0, to.least);
  if (!is_sane(to)) return;
  view.want = view.y = to;
  view.fit_y = false;
}

void set_x(PlotLink& link, Limits to) {
  if (!is_sane(to)) return;
  link.x = to;
  link.fit_x = false;
}

void take_wheel(const PlotSpec& spec, PlotView& view, PlotLink& link, const PlotLayout& at, ImVec2 mouse,
                float wheel) {
  const double factor = std::pow(0.85, static_cast<double>(wheel));
  if (mouse.x < at.area.x0)  // over the y axis
    return set_y(spec, view, zoomed(view.want, view.log_y, at.y.value(mouse.y), factor));
  set_x(link, zoomed(link.x, at.x.log, at.x.value(mouse.x), factor));
}

void take_drag(const PlotSpec& spec, PlotView& view, PlotLink& link, const PlotLayout& at, ImVec2 delta) {
  const double right = static_cast<double>(delta.x / at.area.width());
  if (delta.x != 0) set_x(link, panned(link.x, at.x.log, -right));
  if (delta.y == 0 || view.fit_y) return;
  Limits to = panned(view.want, view.log_y, static_cast<double>(delta.y / at.area.height()));
  if (spec.from_zero && !view.log_y && to.least < 0) to = {0, to.most - to.least};  // its height stays
  set_y(spec, view, to);
}

/// From where the mouse was pressed to where it is, within the plot.
Box selected_box(const PlotLayout& at) {
  const ImVec2 from = ImGui::GetIO().MouseClickedPos[0];
  const ImVec2 to = ImGui::GetIO().MousePos;
  return {std::max(at.area.x0, std::min(from.x, to.x)), std::max(at.area.y0, std::min(from.y, to.y)),
          std::min(at.area.x1, std::max(from.x, to.x)), std::min(at.area.y1, std::max(from.y, to.y))};
}

void take_selection(PlotView& view, PlotLink& link, const PlotLayout& at, Box chosen) {
  if (chosen.width() < 4 || chosen.height() < 4) return;
  const Limits x = {at.x.value(chosen.x0), at.x.value(chosen.x1)};
  const Limits y = {at.y.value(chosen.y1), at.y.value(chosen.y0)};
  if (!is_sane(x) || !is_sane(y)) return;
  set_x(link, x);
  view.want = y;
  view.fit_y = false;
}

/// The x of the point nearest to the mouse; where there is no line, the nearest that means something.
double snapped(const PlotSpec& spec, const PlotView& view, const Axis& x, float mouse) {
  const double at = x.value(mouse);
  double best = x.whole ? std::round(at) : at;
  float least = 1e9F;
  for (const PlotLine* const line : shown_lines(spec, view)) {
    const double place = (*line->places)[line->curve->row(nearest_index(*line->places, *line->curve, at))];
    const float away = std::fabs(x.pixel(place) - mouse);
    if (away >= least) continue;
    least = away;
    best = place;
  }
  return best;
}

struct HoverValue {
  const PlotLine* line;
  double x;
  double value;
  PlotPoint at;
  std::string band;  ///< from where to where it reaches around the line
};

/// The value of each line nearest to the hovered x.
std::vector<HoverValue> values_at(const PlotSpec& spec, const PlotView& view, const PlotLink& link,
                                  const PlotLayout& at) {
  std::vector<HoverValue> out;
  for (const PlotLine* const line : shown_lines(spec, view)) {
    const std::size_t i = nearest_index(*line->places, *line->curve, link.hover->x);
    const double x = (*line->places)[line->curve->row(i)];
    const double begin = (*line->places)[line->curve->row(0)];
    const double end = (*line->places)[line->curve->row(line->curve->y.size() - 1)];
    const double slack = (at.x.most - at.x.least) * 0.01;
    if (link.hover->x < begin - slack || link.hover->x > end + slack)
      continue;  // it was not there yet, or not any more
    const double value = line->curve->y[i];
    const auto band = [&] {
      return fmt::format("{} to {}", engineering(line->low->y[i], 3), engineering(line->high->y[i], 3));
    };
    out.push_back({line,
                   x,
                   value,
                   {at.x.pixel(x), std::isfinite(value) ? at.y.pixel(value) : at.area.y0},
                   line->low == nullptr ? "" : band()});
  }
  return out;
}

void draw_tooltip(Ui& ui, const PlotSpec& spec, const std::vector<HoverValue>& values, double x,
                  ImVec2 mouse) {
  ImGui::BeginTooltip();
  const auto place = [&](double where) {
    return spec.x_title + " " + (spec.x_is_time ? clock_text(where) : engineering(where, 6));
  };
  ui.dim(place(x));
  const HoverValue* nearest = nullptr;
  for (const HoverValue& entry : values) {
    if (nearest == nullptr || std::fabs(entry.at.y - mouse.y) < std::fabs(nearest->at.y - mouse.y))
      nearest = &entry;
  }
  int shown = 0;
  for (const HoverValue& entry : values) {
    if (++shown > 14 && &entry != nearest) continue;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({ui.px(14), ui.px(13)});
    ui.canvas().mark({at.x + ui.px(6), at.y + ui.px(8)}, entry.line->mark, ui.px(3.5F), entry.line->colour);
    ImGui::SameLine(0, ui.px(4));
    const bool beside = entry.line->equals > 0 && entry.line->equals == nearest->line->equals;
    const bool first = (&entry == nearest || beside) && values.size() > 1;
    ui.text(fmt::format("{:>9}", engineering(entry.value, 4)), Face::mono_small, ui.theme().text);
    ui.beside(8).text(entry.line->label, first ? Face::bold : Face::small, ui.theme().text);
    if (!entry.band.empty()) ui.beside(8).dim(entry.band);
    if (entry.x == x) continue;
    ui.beside(8).dim("at " + place(entry.x));
  }
  if (values.size() > 14) ui.dim(fmt::format("{} more", values.size() - 14));
  ImGui::EndTooltip();
}

void draw_hover(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, const PlotLayout& at,
                bool here) {
  if (!link.hover) return;
  const float x = at.x.pixel(link.hover->x);
  if (x < at.area.x0 || x > at.area.x1) return;
  ImGuiCanvas canvas = ui.canvas();
  canvas.fill({std::round(x), at.area.y0, std::round(x) + 1, at.area.y1}, with_alpha(ui.theme().dim, 0.7F));
  const std::vector<HoverValue> values = values_at(spec, view, link, at);
  std::vector<const PlotLine*> lines;
  for (const HoverValue& entry : values) lines.push_back(entry.line);
  const std::vector<Turn> turns = turns_of(lines);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PlotPoint point = values[i].at;
    if (!at.area.contains({std::clamp(point.x, at.area.x0, at.area.x1 - 1), point.y})) continue;
    const auto around =
        static_cast<float>(turns[i].parts - 1 - turns[i].part);  // rings, where they are equal
    canvas.mark(point, lines[i]->mark, ui.px(4 + 2 * around), lines[i]->colour);
  }
  if (here && !values.empty()) draw_tooltip(ui, spec, values, link.hover->x, ImGui::GetIO().MousePos);
}

/// Clicks on the legend: one hides a line, two show it alone.
void take_legend(Ui& ui, const PlotSpec& spec, PlotView& view, const PlotLayout& at, bool hovered) {
  if (!spec.legend) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (const auto& [line, box] : legend_boxes(spec, at, ui.canvas())) {
    ui.record(spec.id + " legend " + line->label, box);
    if (!hovered || !box.contains(point_of(mouse))) continue;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseDoubleClicked(0)) {
      view.hidden.clear();
      for (const PlotLine& other : spec.lines) {
        if (other.id != line->id) view.hidden.insert(other.id);
      }
    } else if (ImGui::IsMouseClicked(0)) {
      if (view.hidden.erase(line->id) == 0) view.hidden.insert(line->id);
    }
  }
}

void draw_menu(Ui& ui, PlotView& view, PlotLink& link, PlotAsk& ask) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(8), ui.px(8)});
  if (ImGui::BeginPopup("menu")) {
    const auto entry = [&](const char* label, const char* keys, bool on) {
      const bool clicked = ImGui::MenuItem(label, keys, on);
      ui.record(label);
      return clicked;
    };
    if (entry("Fit", "F", false)) fit(view, link);
    if (entry("Logarithmic y", "L", view.log_y)) view.log_y = !view.log_y;
    if (entry("Logarithmic x", "", link.log_x)) link.log_x = !link.log_x;
    if (!view.hidden.empty() && entry("Show all lines", "", false)) view.hidden.clear();
    ImGui::Separator();
    ask.save = save_entries(ui);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void take_mouse(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, const PlotLayout& at,
                bool hovered, bool active) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool inside = hovered && at.area.contains(point_of(io.MousePos));
  if (inside) link.next_hover = {spec.id, snapped(spec, view, at.x, io.MousePos.x)};
  // Without Ctrl the wheel scrolls the page, whatever lies under the pointer.
  if (hovered && io.KeyCtrl && io.MouseWheel != 0)
    take_wheel(spec, view, link, at, io.MousePos, io.MouseWheel);
  if (hovered && ImGui::IsMouseDoubleClicked(0) && io.MousePos.y > at.area.y0) fit(view, link);
  if (!active || !ImGui::IsMouseDragging(0, ui.px(3)) || io.MouseClickedPos[0].y < at.area.y0) return;
  if (!io.KeyShift) return take_drag(spec, view, link, at, io.MouseDelta);
  const Box chosen = selected_box(at);
  ui.canvas().fill(chosen, with_alpha(ui.theme().accent, 0.2F));
  ui.canvas().frame(chosen, ui.theme().accent);
}

}  // namespace

std::optional<ExportKind> save_entries(Ui& ui) {
  std::optional<ExportKind> out;
  for (const auto& [label, kind] : {std::pair("Save as SVG", ExportKind::svg),
                                    {"Save as PNG", ExportKind::png},
                                    {"Save as CSV", ExportKind::csv}}) {
    if (ImGui::MenuItem(label)) out = kind;
    ui.record(label);
  }
  return out;
}

std::optional<ExportKind> save_menu(Ui& ui, const Box& box) {
  std::optional<ExportKind> out;
  const bool here = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(least_of(box), most_of(box));
  if (here && ImGui::IsMouseClicked(1)) ImGui::OpenPopup("save menu");
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(8), ui.px(8)});
  if (ImGui::BeginPopup("save menu")) {
    out = save_entries(ui);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
  return out;
}

PlotAsk show_plot(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size) {
  return show_plot(ui, spec, view, link, size, [&](Canvas& canvas, const Box& box) {
    const PlotLayout at = lay_out(spec, view, link, box, canvas, ui.ease());
    if (view.is_easing()) ui.ask_frame();
    paint_plot(canvas, ui.theme(), spec, view, link, at, ui.smoother());
    return at;
  });
}

PlotAsk show_plot(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size,
                  const std::function<PlotLayout(Canvas&, const Box&)>& paint) {
  ImGui::PushID(spec.id.c_str());
  const auto [box, clicked, hovered, active] = ui.area(spec.id, size);
  PlotAsk ask{.box = box};
  const bool let_go = ImGui::IsItemDeactivated();
  for (const PlotLine* const line : shown_lines(spec, view))
    link.see((*line->places)[line->curve->row(0)],
             (*line->places)[line->curve->row(line->curve->y.size() - 1)]);
  ImGuiCanvas canvas = ui.canvas();
  canvas.fill(ask.box, ui.theme().panel, ui.px(6));
  const PlotLayout at = paint(canvas, ask.box);
  take_legend(ui, spec, view, at, hovered);
  take_mouse(ui, spec, view, link, at, hovered, active);
  if (let_go && ImGui::GetIO().KeyShift) take_selection(view, link, at, selected_box(at));
  if (hovered && ui.pressed('F')) fit(view, link);
  if (hovered && ui.pressed('L')) view.log_y = !view.log_y;
  draw_hover(ui, spec, view, link, at, hovered && !active && link.is_over(spec.id));
  if (hovered && ImGui::IsMouseClicked(1)) ImGui::OpenPopup("menu");
  draw_menu(ui, view, link, ask);
  ImGui::PopID();
  return ask;
}

PlotAsk show_spark(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size,
                   const std::string& value) {
  return show_plot(ui, spec, view, link, size, [&](Canvas& canvas, const Box& box) {
    const float s = canvas.scale();
    PlotLayout at = lay_out(spec, view, link, box, canvas, ui.ease());
    at.area = {box.x0 + 12 * s, box.y0 + 30 * s, box.x1 - 12 * s, box.y1 - 10 * s};
    at.x.begin = at.area.x0;
    at.x.end = at.area.x1;
    at.y.begin = at.area.y1;
    at.y.end = at.area.y0;
    const std::string right = shown_lines(spec, view).empty() ? spec.empty : value;
    const float room = at.area.width() - canvas.text_width(spec.title, Face::small) - 12 * s;
    canvas.text(at.area.x0, box.y0 + 8 * s, spec.title, Face::small, ui.theme().dim);
    canvas.text(at.area.x1, box.y0 + 8 * s, canvas.fitted(right, Face::small, room), Face::small,
                ui.theme().text, 1);
    paint_lines(canvas, spec, view, link, at, ui.smoother());
    return at;
  });
}

}  // namespace isobar
