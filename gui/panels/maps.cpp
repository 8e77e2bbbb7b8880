#include "panels/maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "draw/axis.h"
#include "draw/field_map.h"

namespace isobar {
namespace {

std::span<const float> slice(const FieldSet& set, std::int64_t which, std::int64_t channel) {
  const auto size = static_cast<std::size_t>(set.rows * set.columns);
  const auto at = static_cast<std::size_t>(which * set.channels + channel) * size;
  return std::span(set.values).subspan(at, size);
}

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

void see(std::span<const float> values, double& least, double& most) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, static_cast<double>(value));
    most = std::max(most, static_cast<double>(value));
  }
}

/// Draws the four pictures again when channel or fields changed.
void update_pictures(MapsState& maps, const std::shared_ptr<const FieldSet>& set, int channel) {
  if (maps.drawn == set && maps.drawn_channel == channel) return;
  maps.drawn = set;
  maps.drawn_channel = channel;
  const auto input = slice(*set, 0, channel);
  const auto target = slice(*set, 1, channel);
  const auto prediction = slice(*set, 2, channel);
  maps.least = 1e300;
  maps.most = -1e300;
  for (const auto values : {input, target, prediction}) see(values, maps.least, maps.most);
  if (!(maps.most > maps.least)) {
    maps.least = std::isfinite(maps.least) && maps.least < 1e299 ? maps.least - 1 : -1;
    maps.most = maps.least + 2;
  }
  std::vector<float> error(target.size());
  maps.error_most = 0;
  for (std::size_t i = 0; i < error.size(); ++i) {
    error[i] = prediction[i] - target[i];
    if (std::isfinite(error[i]))
      maps.error_most = std::max(maps.error_most, static_cast<double>(std::fabs(error[i])));
  }
  if (!(maps.error_most > 0)) maps.error_most = 1;
  const auto rows = static_cast<int>(set->rows);
  const auto columns = static_cast<int>(set->columns);
  const auto draw = [&](std::span<const float> values) {
    return draw_map(values, rows, columns, maps.least, maps.most, MapColours::sequential);
  };
  maps.pictures[0] = draw(input);
  maps.pictures[1] = draw(target);
  maps.pictures[2] = draw(prediction);
  maps.pictures[3] = draw_map(error, rows, columns, -maps.error_most, maps.error_most, MapColours::diverging);
  maps.rmse = weighted_rms(prediction, target, set->rows, set->columns);
  maps.persistence_rmse = weighted_rms(input, target, set->rows, set->columns);
}

std::string channel_name(const RunEntry& run, int channel) {
  const auto at = static_cast<std::size_t>(channel);
  return at < run.view.channels.size() ? run.view.channels[at] : fmt::format("channel {}", channel);
}

int channel_of(const MapsState& maps, const RunEntry& run, std::int64_t channels) {
  int channel = maps.channel;
  if (channel < 0) {
    const auto& names = run.view.channels;
    const std::string& headline = run.view.summary.headline;
    channel = static_cast<int>(std::find(names.begin(), names.end(), headline) - names.begin());
    if (channel >= static_cast<int>(names.size())) channel = 0;
  }
  return std::clamp(channel, 0, static_cast<int>(channels) - 1);
}

std::int64_t step_of(const MapsState& maps, const RunDetail& detail) {
  const auto& steps = detail.field_steps;
  if (steps.empty()) return -1;
  return std::find(steps.begin(), steps.end(), maps.step) != steps.end() ? maps.step : steps.back();
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
  ui.text(fmt::format("{:.1f}°{} {:.1f}°E   row {}, column {}", std::fabs(latitude), latitude < 0 ? "S" : "N",
                      longitude, row, column),
          Face::small, ui.theme().dim);
  const char* const names[3] = {"input", "target", "prediction"};
  double values[3] = {};
  for (int i = 0; i < 3; ++i) {
    values[i] = static_cast<double>(slice(set, i, maps.drawn_channel)[at]);
    ui.text(fmt::format("{:>8}  {}", engineering(values[i], 3), names[i]), Face::mono_small);
  }
  ui.text(fmt::format("{:>8}  error", engineering(values[2] - values[1], 3)), Face::mono_small);
  ImGui::EndTooltip();
}

void draw_controls(Ui& ui, const RunEntry& run, const FieldSet& set, MapsState& maps, std::int64_t step,
                   int channel) {
  ImGui::AlignTextToFramePadding();
  ui.dim("channel");
  ImGui::SameLine(0, ui.px(6));
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(set.channels); ++i) names.push_back(channel_name(run, i));
  std::string name = channel_name(run, channel);
  if (ui.combo("map channel", names, name, ui.px(120))) {
    maps.channel = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
  }
  ImGui::SameLine(0, ui.px(16));
  ImGui::AlignTextToFramePadding();
  ui.dim("after step");
  ImGui::SameLine(0, ui.px(6));
  const auto& steps = run.detail->field_steps;
  const auto at = static_cast<int>(std::find(steps.begin(), steps.end(), step) - steps.begin());
  if (ui.button("<", ButtonKind::plain, at > 0)) maps.step = steps[static_cast<std::size_t>(at - 1)];
  ImGui::SameLine(0, ui.px(4));
  std::vector<std::string> labels;
  for (const std::int64_t each : steps) labels.push_back(std::to_string(each));
  std::string label = std::to_string(step);
  if (ui.combo("map step", labels, label, ui.px(100))) maps.step = std::stoll(label);
  ImGui::SameLine(0, ui.px(4));
  if (ui.button(">", ButtonKind::plain, at + 1 < static_cast<int>(steps.size()))) {
    const bool last = at + 2 >= static_cast<int>(steps.size());
    maps.step = last ? -1 : steps[static_cast<std::size_t>(at + 1)];  // at the end it follows the newest
  }
  const std::string rmse = fmt::format("RMSE of this sample {}, persistence {}", engineering(maps.rmse, 3),
                                       engineering(maps.persistence_rmse, 3));
  const float right = ImGui::GetItemRectMax().x + ui.px(16) + ui.canvas().text_width(rmse, Face::small);
  if (right < ImGui::GetWindowPos().x + ImGui::GetContentRegionMax().x) {
    ImGui::SameLine(0, ui.px(16));
    ImGui::AlignTextToFramePadding();
  }
  ui.text(rmse, Face::small, maps.rmse < maps.persistence_rmse ? ui.theme().good : ui.theme().dim);
}

std::string fields_csv(const MapsState& maps) {
  const FieldSet& set = *maps.drawn;
  std::string csv = "row,column,input,target,prediction\n";
  for (std::int64_t at = 0; at < set.rows * set.columns; ++at) {
    const auto value = [&](int which) {
      return slice(set, which, maps.drawn_channel)[static_cast<std::size_t>(at)];
    };
    csv += fmt::format("{},{},{},{},{}\n", at / set.columns, at % set.columns, value(0), value(1), value(2));
  }
  return csv;
}

void draw_four(Ui& ui, MapsState& maps, const std::string& name, const std::string& run, Requests& ask) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const float gap = ui.px(8);
  const float width = (room.x - gap) / 2;
  const float shape = static_cast<float>(maps.drawn->rows) / static_cast<float>(maps.drawn->columns);
  const float wanted = (width - ui.px(24)) * shape + ui.px(80);
  const float height = std::max(ui.px(150), std::min(wanted, (room.y - gap) / 2));
  const char* const titles[4] = {"Input: the state now", "Target: the state after", "Prediction",
                                 "Error: prediction minus target"};
  ImGuiCanvas canvas = ui.canvas();
  for (int i = 0; i < 4; ++i) {
    const float x = corner.x + static_cast<float>(i % 2) * (width + gap);
    const float y = corner.y + static_cast<float>(i / 2) * (height + gap);
    const Box box = {x, y, x + width, y + height};
    ImGui::SetCursorScreenPos({x, y});
    ImGui::PushID(i);
    ImGui::InvisibleButton("map", {width, height});
    ui.record(std::string("map ") + titles[i]);
    MapSpec spec{std::string(titles[i]) + ", " + name, maps.pictures[i], maps.least, maps.most,
                 MapColours::sequential};
    if (i == 3) {
      spec.least = -maps.error_most;
      spec.most = maps.error_most;
      spec.colours = MapColours::diverging;
    }
    canvas.fill(box, ui.theme().panel, ui.px(6));
    const Box map = paint_map(canvas, ui.theme(), spec, box);
    const bool hovered = ImGui::IsItemHovered();
    if (hovered && map.contains(point_of(ImGui::GetIO().MousePos)))
      draw_map_tip(ui, maps, map, ImGui::GetIO().MousePos);
    if (const auto kind = save_menu(ui, box)) {
      static constexpr const char* kParts[4] = {"-input", "-target", "-prediction", "-error"};
      const auto paint = [&](Canvas& onto) { paint_map(onto, ui.theme(), spec, {0, 0, width, height}); };
      ask.save =
          SaveRequest{run + "-" + name + kParts[i], *kind,
                      *kind == ExportKind::csv ? fields_csv(maps) : drawing(ui, *kind, width, height, paint)};
    }
    ImGui::PopID();
  }
}

}  // namespace

std::pair<std::string, std::int64_t> wanted_fields(const Data& data, const AppState& state) {
  const auto run = data.feed.runs->find(state.run);
  if (!run || !run->detail || run->detail->field_steps.empty()) return {"", 0};
  return {run->id, step_of(state.maps, *run->detail)};
}

Requests draw_maps(Ui& ui, const Data& data, AppState& state) {
  Requests ask;
  const auto run = data.feed.runs->find(state.run);
  const auto [id, step] = wanted_fields(data, state);
  if (id.empty()) {
    ui.empty_state("No maps", run ? "This run has left no fields yet: they come with each validation."
                                  : "Choose a run on the left: its forecast is drawn beside the truth.");
    return ask;
  }
  const std::shared_ptr<const FieldSet>& set = data.feed.fields;
  if (!set || set->run != id || (set->step != step && set->values.empty())) {
    ui.empty_state("Reading the fields ...", "This takes a moment.");
    return ask;
  }
  if (set->values.empty() || set->channels < 1 || set->rows < 1 || set->columns < 1) {
    ui.empty_state("The fields cannot be shown", set->problem.empty() ? "The file is empty." : set->problem);
    return ask;
  }
  const int channel = channel_of(state.maps, *run, set->channels);
  update_pictures(state.maps, set, channel);
  ui.text(title_of(*run), Face::title);
  draw_controls(ui, *run, *set, state.maps, step, channel);
  draw_four(ui, state.maps, channel_name(*run, channel), run->name, ask);
  return ask;
}

}  // namespace isobar
