#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

constexpr double kFrame_s = 0.5;  // that a validation is shown for while they play

/// Root mean square over the map, rows weighted by the cosine of their latitude (row 0 is the north pole).
double weighted_rms(std::span<const float> a, std::span<const float> b, std::int64_t rows,
                    std::int64_t columns) {
  double sum = 0;
  double weights = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double latitude =
        rows > 1 ? (90.0 - 180.0 * static_cast<double>(row) / static_cast<double>(rows - 1)) : 0;
    const double weight = std::max(0.0, std::cos(latitude * 3.14159265358979323846 / 180));
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto i = static_cast<std::size_t>(row * columns + column);
      const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      if (!std::isfinite(difference)) continue;
      sum += weight * difference * difference;
      weights += weight;
    }
  }
  return weights > 0 ? std::sqrt(sum / weights) : 0;
}

std::vector<float> sizes_of(std::span<const float> values) {
  std::vector<float> out(values.begin(), values.end());
  for (float& value : out) value = std::fabs(value);
  return out;
}

/// Limits that hold all of them; while one channel of one run plays they only grow, so that what changes is
/// the forecast and not its scale.
void set_limits(MapsState& maps, bool goes_on, MapLimits values, double error_most) {
  if (goes_on && maps.most > maps.least)
    values = {std::min(values.least, maps.least), std::max(values.most, maps.most)};
  values.part();
  maps.least = values.least;
  maps.most = values.most;
  maps.error_most = goes_on ? std::max(maps.error_most, error_most) : error_most;
  if (!(maps.error_most > 0)) maps.error_most = 1;
}

/// What the colours of a map go over.
struct MapScale {
  double least = 0, most = 1;
  MapColours colours = MapColours::sequential;
};

/// Errors are drawn around zero; spread and size of an error from zero on, by one scale.
MapScale scale_of(const MapsState& maps, MapPart part) {
  const bool beside = part == MapPart::persistence || part == MapPart::persistence_error;
  if (beside && maps.drawn_spread) return {0, maps.spread_most};
  if (part == MapPart::error || part == MapPart::persistence_error)
    return {-maps.error_most, maps.error_most, MapColours::diverging};
  return {maps.least, maps.most};
}

std::string channel_name(const RunEntry& run, int channel) {
  const auto at = static_cast<std::size_t>(channel);
  return at < run.view.channels.size() ? run.view.channels[at] : fmt::format("channel {}", channel);
}

/// The one that was chosen, else the one that the rest of the window shows.
int channel_of(const AppState& state, const RunEntry& run, std::int64_t channels) {
  int channel = state.maps.channel;
  if (channel < 0) {
    const auto& names = run.view.channels;
    const auto found = std::ranges::find(names, watched_channel(state, run));
    channel = found == names.end() ? 0 : static_cast<int>(found - names.begin());
  }
  return std::clamp(channel, 0, static_cast<int>(channels) - 1);
}

std::int64_t step_of(const MapsState& maps, const RunDetail& detail) {
  const auto& steps = detail.field_steps;
  if (steps.empty()) return -1;
  return holds(steps, maps.step) ? maps.step : steps.back();
}

void draw_map_tip(Ui& ui, const MapsState& maps, const Box& map, ImVec2 mouse) {
  const FieldSet& set = *maps.drawn;
  const auto column =
      static_cast<std::int64_t>((mouse.x - map.x0) / map.width() * static_cast<float>(set.columns));
  const auto row =
      static_cast<std::int64_t>((mouse.y - map.y0) / map.height() * static_cast<float>(set.rows));
  if (column < 0 || row < 0 || column >= set.columns || row >= set.rows) return;
  const auto at = static_cast<std::size_t>(row * set.columns + column);
  const double latitude =
      90.0 - 180.0 * static_cast<double>(row) / static_cast<double>(std::max<std::int64_t>(1, set.rows - 1));
  const double longitude = 360.0 * static_cast<double>(column) / static_cast<double>(set.columns);
  ImGui::BeginTooltip();
  ui.dim(fmt::format("{:.1f}°{} {:.1f}°E   row {}, column {}", std::fabs(latitude), latitude < 0 ? "S" : "N",
                     longitude, row, column));
  const char* const names[3] = {"input", "target", "prediction"};
  double values[3] = {};
  for (int i = 0; i < 3; ++i) {
    values[i] = static_cast<double>(set.of(i, maps.drawn_channel)[at]);
    ui.text(fmt::format("{:>8}  {}", engineering(values[i], 3), names[i]), Face::mono_small);
  }
  ui.text(fmt::format("{:>8}  error", engineering(values[2] - values[1], 3)), Face::mono_small);
  ui.text(fmt::format("{:>8}  persistence's error", engineering(values[0] - values[1], 3)), Face::mono_small);
  if (set.has_spread()) {
    const auto spread = static_cast<double>(set.of(3, maps.drawn_channel)[at]);
    ui.text(fmt::format("{:>8}  spread of the members", engineering(spread, 3)), Face::mono_small);
  }
  ImGui::EndTooltip();
}

/// Shows the validation at this index of the stored ones; at the last it follows the newest.
void go_to(MapsState& maps, const std::vector<std::int64_t>& steps, std::size_t at) {
  maps.step = at + 1 < steps.size() ? steps[at] : -1;
}

/// Goes on to the next validation when its time has come; stops at the last.
void play(MapsState& maps, const std::vector<std::int64_t>& steps, std::size_t at, double now_s) {
  if (!maps.playing || !maps.is_due(now_s)) return;
  maps.next_s = std::max(maps.next_s + kFrame_s, now_s + kFrame_s / 2);
  if (at + 1 < steps.size()) {
    go_to(maps, steps, at + 1);
  } else {
    maps.playing = false;
  }
}

void draw_player(Ui& ui, const std::vector<std::int64_t>& steps, MapsState& maps, std::size_t at,
                 double now_s) {
  const bool several = steps.size() > 1;
  if (ui.button(maps.playing ? "Pause" : "Play", ButtonKind::plain, several, "play maps")) {
    maps.playing = !maps.playing;
    maps.next_s = now_s + kFrame_s;
    if (maps.playing && at + 1 >= steps.size()) go_to(maps, steps, 0);
  }
  ui.tip("All validations of this run one after the other");
  ImGui::SameLine(0, ui.px(4));
  const auto stop_at = [&](std::size_t place) {
    maps.playing = false;
    go_to(maps, steps, place);
  };
  if (ui.button("<", ButtonKind::plain, at > 0)) stop_at(at - 1);
  ImGui::SameLine(0, ui.px(4));
  int place = static_cast<int>(at);
  if (ui.scrubber("map step", &place, static_cast<int>(steps.size()), ui.px(150)))
    stop_at(static_cast<std::size_t>(place));
  if (ui.beside(4).button(">", ButtonKind::plain, at + 1 < steps.size())) stop_at(at + 1);
  ui.beside(8).framed().text(fmt::format("step {}", steps[at]));
}

/// Which run, and what its forecast is worth in this one sample.
void draw_head(Ui& ui, const RunEntry& run, const MapsState& maps) {
  ui.text(title_of(run), Face::title);
  const std::string skill = skill_text(maps.rmse, maps.persistence_rmse);
  if (skill.empty()) return;
  ImGui::SameLine(0, ui.px(12));
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + ui.px(5));
  ui.text("in this sample " + skill, Face::text,
          maps.rmse < maps.persistence_rmse ? ui.theme().good : ui.theme().dim);
}

void draw_controls(Ui& ui, const RunEntry& run, const FieldSet& set, AppState& state, std::size_t at,
                   int channel) {
  ui.label("channel");
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(set.channels); ++i) names.push_back(channel_name(run, i));
  std::string name = channel_name(run, channel);
  if (ui.combo("map channel", names, name, ui.px(90)))
    state.maps.channel = static_cast<int>(std::ranges::find(names, name) - names.begin());
  ImGui::SameLine(0, ui.px(12));
  draw_player(ui, run.detail->field_steps, state.maps, at, state.now_s);
  if (!set.has_spread()) return;
  ImGui::SameLine(0, ui.px(12));
  ui.checkbox("map spread", &state.maps.spread, "spread");
  ui.tip("How far the members of the ensemble lie apart, beside how wrong their mean is");
}

std::string fields_csv(const MapsState& maps) {
  const FieldSet& set = *maps.drawn;
  std::string csv = "row,column,input,target,prediction";
  csv += set.has_spread() ? ",spread\n" : "\n";
  for (std::int64_t at = 0; at < set.rows * set.columns; ++at) {
    const auto value = [&](int which) {
      return set.of(which, maps.drawn_channel)[static_cast<std::size_t>(at)];
    };
    csv += fmt::format("{},{},{},{},{}", at / set.columns, at % set.columns, value(0), value(1), value(2));
    csv += set.has_spread() ? fmt::format(",{}\n", value(3)) : "\n";
  }
  return csv;
}

/// Six places of one size, in two or three columns: whichever leaves the maps larger.
struct MapGrid {
  int columns = 2;
  ImVec2 corner, cell;
  float gap = 0;

  Box box(std::size_t place) const {
    const auto count = static_cast<std::size_t>(columns);
    const float x = corner.x + static_cast<float>(place % count) * (cell.x + gap);
    const float y = corner.y + static_cast<float>(place / count) * (cell.y + gap);
    return {x, y, x + cell.x, y + cell.y};
  }
  /// With two columns an error stands right of its map, with three below it.
  Box of(MapPart part) const {
    const auto index = static_cast<std::size_t>(part);
    return box(columns == 2 ? index : index / 2 + index % 2 * 3);
  }
};

MapGrid grid_of(const Ui& ui, const FieldSet& set) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float shape = static_cast<float>(set.rows) / static_cast<float>(set.columns);
  MapGrid best;
  float best_width = -1;
  for (const int columns : {2, 3}) {
    MapGrid grid{columns, ImGui::GetCursorScreenPos(), {}, ui.px(8)};
    const auto rows = static_cast<float>(6 / columns);
    const float width = (room.x - grid.gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
    const float height = (room.y - grid.gap * (rows - 1)) / rows;
    const float wanted = (width - ui.px(24)) * shape + ui.px(80);
    grid.cell = {width, std::max(ui.px(150), std::min(wanted, height))};
    const float map = std::min(width - ui.px(24), (grid.cell.y - ui.px(76)) / shape);
    if (map <= best_width) continue;
    best = grid;
    best_width = map;
  }
  return best;
}

std::array<std::string, kMapParts> titles_of(const MapsState& maps, const std::string& channel) {
  if (maps.drawn_spread)
    return {"Prediction: mean of the members, " + channel, "Its error: RMSE " + engineering(maps.rmse, 3),
            "Spread of the members: " + engineering(maps.rms_spread, 3), "Size of the error",
            "Target: the state after"};
  return {"Prediction, " + channel, "Its error: RMSE " + engineering(maps.rmse, 3),
          "Persistence: the state now", "Its error: RMSE " + engineering(maps.persistence_rmse, 3),
          "Target: the state after"};
}

void draw_part(Ui& ui, MapsState& maps, MapPart part, const Box& box, const std::string& channel,
               const std::string& run, Requests& ask) {
  static constexpr const char* kNames[kMapParts] = {"prediction", "error", "persistence", "persistence error",
                                                    "target"};
  const auto index = static_cast<std::size_t>(part);
  const std::string name = kNames[index];
  ImGui::SetCursorScreenPos(least_of(box));
  ImGui::PushID(name.c_str());
  const bool hovered = ui.area("map " + name, {box.width(), box.height()}).hovered;
  const MapScale scale = scale_of(maps, part);
  const MapSpec spec{titles_of(maps, channel)[index], maps.pictures[index], scale.least, scale.most,
                     scale.colours};
  ImGuiCanvas canvas = ui.canvas();
  canvas.fill(box, ui.theme().panel, ui.px(6));
  const auto paint = [&](Canvas& onto, const Box& in) { return paint_map(onto, ui.theme(), spec, in); };
  const Box map = paint(canvas, box);
  if (hovered && map.contains(point_of(ImGui::GetIO().MousePos)))
    draw_map_tip(ui, maps, map, ImGui::GetIO().MousePos);
  save_drawing(
      ui, box, run + "-" + channel + "-" + name, [&] { return fields_csv(maps); }, paint, ask);
  ImGui::PopID();
}

/// The score of the channel over the run, and where in it the maps are.
void draw_score(Ui& ui, AppState& state, const std::shared_ptr<const RunEntry>& run,
                const std::string& channel, std::int64_t step, const Box& box, Requests& ask) {
  MapsState& maps = state.maps;
  PlotSpec spec = rmse_plot(ui, state, run, channel);
  spec.title = "All samples: " + channel +
               (maps.drawn_spread ? " (σ)" : " RMSE (σ)");  // how good it was last is no matter of this step
  maps.link.log_x = state.settings.log_x;
  ImGui::SetCursorScreenPos(least_of(box));
  const auto paint = [&](Canvas& canvas, const Box& place) {
    const PlotLayout at = lay_out(spec, maps.view, maps.link, place, canvas, 1);
    paint_plot(canvas, ui.theme(), spec, maps.view, maps.link, at, ui.smoother());
    const PlotLine& line = spec.lines.front();
    const CurveRef curve = run->detail->series.find("valid/rmse_" + channel);
    if (!curve || line.curve == nullptr) return at;
    const std::size_t row = curve.places->step.lower_bound(static_cast<double>(step));
    if (row >= line.places->size()) return at;
    const float x = std::round(at.x.pixel((*line.places)[row]));
    if (x >= at.area.x0 && x <= at.area.x1)
      canvas.fill({x, at.area.y0, x + ui.px(2), at.area.y1}, with_alpha(ui.theme().accent, 0.8F));
    return at;
  };
  const PlotAsk plot = show_plot(ui, spec, maps.view, maps.link, {box.width(), box.height()}, paint);
  save_plot(ui, plot, spec, maps.view, maps.link, run->name, ask);
}

}  // namespace

void update_pictures(MapsState& maps, const std::shared_ptr<const FieldSet>& set, int channel) {
  const bool spread = maps.spread && set->has_spread();
  if (maps.drawn == set && maps.drawn_channel == channel && maps.drawn_spread == spread) return;
  const bool goes_on = maps.drawn && maps.drawn->run == set->run && maps.drawn_channel == channel;
  if (!goes_on) maps.spread_most = 0;  // also where the spread is not drawn now
  maps.drawn = set;
  maps.drawn_channel = channel;
  maps.drawn_spread = spread;
  const auto input = set->of(0, channel), target = set->of(1, channel), prediction = set->of(2, channel);
  const std::vector<float> error = difference(prediction, target);
  const std::vector<float> persistence_error = difference(input, target);
  MapLimits values, errors;  // one scale holds both errors
  for (const auto shown : {input, target, prediction}) values.see(shown);
  for (const auto* const shown : {&error, &persistence_error}) errors.see(*shown);
  set_limits(maps, goes_on, values, errors.size());
  const auto draw = [&](MapPart part, std::span<const float> shown) {
    const MapScale scale = scale_of(maps, part);
    maps.pictures[static_cast<std::size_t>(part)] =
        draw_map(shown, static_cast<int>(set->rows), static_cast<int>(set->columns), scale.least, scale.most,
                 scale.colours);
  };
  draw(MapPart::prediction, prediction);
  draw(MapPart::error, error);
  if (spread) {
    const auto members = set->of(3, channel);
    const std::vector<float> zero(members.size(), 0), size = sizes_of(error);
    MapLimits both;
    both.see(members);
    both.see(size);
    maps.spread_most = std::max(maps.spread_most, both.size());
    if (!(maps.spread_most > 0)) maps.spread_most = 1;
    maps.rms_spread = weighted_rms(members, zero, set->rows, set->columns);
    draw(MapPart::persistence, members);
    draw(MapPart::persistence_error, size);
  } else {
    draw(MapPart::persistence, input);
    draw(MapPart::persistence_error, persistence_error);
  }
  draw(MapPart::target, target);
  maps.rmse = weighted_rms(prediction, target, set->rows, set->columns);
  maps.persistence_rmse = weighted_rms(input, target, set->rows, set->columns);
}

std::pair<std::string, std::int64_t> wanted_fields(const Data& data, const AppState& state) {
  const auto run = data.feed.runs->find(state.run);
  if (!run || !run->detail || run->detail->field_steps.empty()) return {"", 0};
  return {run->id, step_of(state.maps, *run->detail)};
}

void draw_maps(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const auto run = data.feed.runs->find(state.run);
  const auto [id, step] = wanted_fields(data, state);
  if (id.empty())
    return ui.nothing("No maps", run ? "This run has left no fields yet: they come with each validation."
                                     : "Choose a run on the left: its forecast is drawn beside the truth.");
  const std::shared_ptr<const FieldSet>& set = data.feed.fields;
  if (!set || set->run != id || (set->step != step && set->values.empty()))
    return ui.nothing("Reading the fields ...", "This takes a moment.");
  if (set->values.empty()) return ui.nothing("The fields cannot be shown", set->problem);
  MapsState& maps = state.maps;
  const int channel = channel_of(state, *run, set->channels);
  update_pictures(maps, set, channel);
  const auto& steps = run->detail->field_steps;
  const auto at = static_cast<std::size_t>(std::ranges::find(steps, step) - steps.begin());
  maps.link.begin_frame();
  draw_head(ui, *run, maps);
  draw_controls(ui, *run, *set, state, at, channel);
  if (set->step == step) play(maps, steps, at, state.now_s);  // one that is being read is waited for
  const std::string name = channel_name(*run, channel);
  const MapGrid grid = grid_of(ui, *set);
  for (std::size_t i = 0; i < kMapParts; ++i) {
    const auto part = static_cast<MapPart>(i);
    draw_part(ui, maps, part, grid.of(part), name, run->name, ask);
  }
  draw_score(ui, state, run, name, set->step, grid.box(5), ask);
}

}  // namespace isobar
