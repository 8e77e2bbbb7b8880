#include <fmt/format.h>

#include <algorithm>

#include "analyse/ranks.h"
#include "core/text.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "plot/plot.h"

namespace isobar {
namespace {

constexpr float kKeysRoom = 300;  // kept below the plots, where the window is high enough for it

/// Whether all runs of a lesson, or more than half of them, have the value that run `index` has: the lesson's
/// name says the rest.
bool is_usual(const KeyRow& row, const Runs& runs, std::size_t index) {
  std::size_t all = 0, equal = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i]->view.lesson != runs[index]->view.lesson) continue;
    ++all;
    if (row.values[i] == row.values[index]) ++equal;
  }
  return 2 * equal > all;
}

/// What tells a run from the others: lesson, preset, origin and fault where they differ, and values that most
/// of the others of its lesson do not have.
std::string label_of(const RunEntry& run, const Runs& runs, const std::vector<KeyRow>& keys) {
  if (run.foreign) return run.name;
  std::vector<std::string> parts;
  const auto differs = [&](auto field) {
    return std::ranges::any_of(runs,
                               [&](auto& other) { return !other->foreign && field(*other) != field(run); });
  };
  if (differs([](const RunEntry& r) { return r.view.lesson; })) parts.push_back(run.view.lesson);
  const RunOrigin own = origin_of(run.view);
  const bool alone = std::ranges::count_if(runs, [](auto& one) { return !one->foreign; }) < 2;
  const auto add_origin = [&](auto part) {
    const bool told = differs([&](const RunEntry& r) { return origin_of(r.view).*part; });
    if ((told || alone) && !(own.*part).empty()) parts.push_back(own.*part);
  };
  add_origin(&RunOrigin::from);
  const bool presets = differs([](const RunEntry& r) { return r.view.preset; });
  if (presets) parts.push_back(run.view.preset);
  add_origin(&RunOrigin::fault);
  add_origin(&RunOrigin::measure);
  const auto at = std::ranges::find_if(runs, [&](auto& other) { return other->id == run.id; });
  const auto index = static_cast<std::size_t>(at - runs.begin());
  for (const KeyRow& row : keys) {
    if (parts.size() >= 3 || row.values[index].empty() || !row.two_values || is_usual(row, runs, index))
      continue;
    if (row.is_environment() || row.is_label() || row.key == "run.fault" || row.key == "run.measure")
      continue;
    const bool of_preset = row.key.rfind("data.", 0) == 0 || row.key.rfind("model.", 0) == 0;
    if (of_preset && presets) continue;
    parts.push_back(row.key.substr(row.key.find('.') + 1) + " " + row.values[index]);
  }
  return parts.empty() ? short_run_name(run) : joined(parts);
}

Labels labels_of(const Runs& runs, const std::vector<KeyRow>& keys) {
  Labels out;
  std::map<std::string, int> used;
  for (const auto& run : runs) ++used[out[run->id] = label_of(*run, runs, keys)];
  for (const auto& run : runs) {
    std::string& label = out[run->id];
    if (used[label] > 1) label += " (" + short_run_name(*run) + ")";
  }
  return out;
}

/// Runs that are in no case: those of other programs, and those that are still being read.
void draw_others(Ui& ui, const ComparedRuns& made, const Labels& labels, AppState& state, Requests& ask) {
  const Runs runs(made.shown.begin() + static_cast<std::ptrdiff_t>(made.cases.size()), made.shown.end());
  const float width = ImGui::GetContentRegionAvail().x;
  float x = 0;
  for (const auto& run : runs) {
    const std::string label = ui.canvas().fitted(labels.at(run->id), Face::small, ui.px(260));
    const float chip = ui.canvas().text_width(label, Face::small) + ui.px(46);
    if (x > 0 && x + chip < width) {
      ImGui::SameLine(0, ui.px(6));
    } else {
      x = 0;
    }
    x += chip + ui.px(6);
    ImGui::PushID(run->id.c_str());
    const auto [box, clicked, hovered, active] = ui.area("chip " + run->name, {chip, ui.px(26)});
    if (clicked) ask.show_run = run->id;
    ui.tip(run->name + "\n" + run_line(*run) + "\nClick to watch it; right click takes it out");
    if (hovered && ImGui::IsMouseClicked(1)) state.compared.erase(run->id);
    ImGui::PopID();
    ImGuiCanvas canvas = ui.canvas();
    canvas.fill(box, hovered ? ui.theme().hover : ui.theme().raised, ui.px(13));
    const float middle = box.y0 + ui.px(13);
    canvas.mark({box.x0 + ui.px(14), middle}, run_mark(state, *run), ui.px(4), run_colour(ui, state, *run));
    canvas.text(box.x0 + ui.px(26), box.y0 + ui.px(6), label, Face::small, ui.theme().text);
    if (run->view.state != RunState::done)
      canvas.circle({box.x1 - ui.px(12), middle}, ui.px(3), state_colour(ui.theme(), run->view.state), true);
  }
}

/// What communication costs each case whose ranks talk.
void draw_comm(Ui& ui, const ComparedRuns& made, const Labels& labels) {
  for (const ComparedCase& one : made.cases) {
    const std::optional<RanksView>& ranks = one.figures.repeats.front().ranks;
    const std::string comm = ranks ? comm_sentence(*ranks) : "";
    if (!comm.empty()) ui.note("Communication of " + labels.at(one.run->id) + ": " + comm);
  }
}

void draw_overlay(Ui& ui, const Runs& runs, const Labels& labels, AppState& state, const std::string& curve,
                  const std::string& title, ImVec2 size, Requests& ask) {
  CompareState& compare = state.compare;
  PlotSpec spec;
  spec.id = curve;
  std::ranges::replace(spec.id, '/', ' ');
  spec.title = title;
  set_x_axis(spec, state.x_axis());
  spec.legend = false;
  const bool rates = curve == "train/samples_per_s";
  spec.from_zero = rates;
  const bool sparse = state.x_axis() == XAxis::epoch || state.x_axis() == XAxis::samples;
  spec.empty = sparse ? "None of these runs has it over this x axis." : "None of these runs recorded it.";
  for (const auto& run : runs) {
    PlotLine line = line_of(run, curve, state.x_axis(), labels.at(run->id), run_colour(ui, state, *run),
                            run_mark(state, *run));
    line.id = run->id;
    if (rates) show_as_band(line, ui.bands());
    spec.lines.push_back(std::move(line));
  }
  std::vector<std::size_t>& equals = compare.equals[spec.id + " over " + spec.x_title];
  if (equals.size() != spec.lines.size()) equals = equal_lines(spec.lines);
  for (std::size_t i = 0; i < equals.size(); ++i) spec.lines[i].equals = equals[i];
  PlotView& view = compare.views[curve];
  const PlotAsk plot = show_plot(ui, spec, view, compare.link, size);
  spec.legend = true;  // on its own, a figure must say what its lines are
  save_plot(ui, plot, spec, view, compare.link, "compare", ask);
}

void draw_keys(Ui& ui, const Runs& runs, const Labels& labels, const std::vector<KeyRow>& keys,
               AppState& state) {
  const auto different =
      static_cast<std::size_t>(std::ranges::count_if(keys, [](auto& row) { return row.differs; }));
  ui.framed().text(fmt::format("Keys: {} differ of {}", different, keys.size()), Face::bold);
  ui.beside(16).input("filter compared keys", state.compare.key_filter, "Filter keys", ui.px(180));
  ui.beside().checkbox("equal keys", &state.compare.all_keys, "equal ones too");
  const int columns = 1 + static_cast<int>(std::min<std::size_t>(runs.size(), 40));
  const ImGuiTableFlags flags =
      ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollX | ImGuiTableFlags_SizingFixedFit;
  const auto shown = static_cast<float>(state.compare.all_keys ? keys.size() : different);
  const float height =
      std::min(ui.px(420), (shown + 1) * (ui.canvas().line_height(Face::small) + ui.px(10)) + ui.px(16));
  if (!ImGui::BeginTable("keys", columns, flags | ImGuiTableFlags_ScrollY, {0, height})) return;
  ImGui::TableSetupScrollFreeze(1, 1);
  ImGui::TableSetupColumn("key", 0, ui.px(190));
  for (int c = 1; c < columns; ++c) ImGui::TableSetupColumn("run", 0, ui.px(150));
  ImGui::TableNextRow();
  for (int c = 1; c < columns; ++c) {
    ImGui::TableSetColumnIndex(c);
    const RunEntry& run = *runs[static_cast<std::size_t>(c - 1)];
    ui.text(ui.canvas().fitted(labels.at(run.id), Face::small, ui.px(146)), Face::small,
            run_colour(ui, state, run));
  }
  for (const KeyRow& row : keys) {
    if (!row.differs && !state.compare.all_keys) continue;
    if (!state.compare.key_filter.empty() && row.key.find(state.compare.key_filter) == std::string::npos)
      continue;
    ImGui::TableNextRow();
    ImGui::TableSetColumnIndex(0);
    ui.text(row.key, Face::mono_small, row.differs ? ui.theme().text : ui.theme().dim);
    for (int c = 1; c < columns; ++c) {
      ImGui::TableSetColumnIndex(c);
      const std::string& value = row.values[static_cast<std::size_t>(c - 1)];
      ui.text(ui.canvas().fitted(value.empty() ? "-" : value, Face::mono_small, ui.px(146)), Face::mono_small,
              row.differs && !value.empty() ? ui.theme().text : ui.theme().dim);
    }
  }
  ImGui::EndTable();
}

void draw_add_place(Ui& ui, AppState& state, Requests& ask) {
  std::string& place = state.compare.place;
  ui.input("runs folder", place, "Folder with runs or event files", ui.px(260));
  const bool entered =
      ImGui::IsItemDeactivatedAfterEdit() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter));
  const bool clicked = ui.beside().button("Add folder", ButtonKind::plain, !place.empty());
  if ((clicked || entered) && !place.empty()) ask.place = std::exchange(place, "");
}

/// Curves that at least one run has, beside those that are always drawn.
std::vector<std::string> other_curves(const Runs& runs) {
  std::set<std::string> names;
  for (const auto& run : runs) {
    if (!run->detail) continue;
    for (const std::string& name : run->detail->series.names()) names.insert(name);
  }
  std::vector<std::string> out = {"none"};
  for (const std::string& name : names) {
    const bool drawn = name == "train/loss" || name == "valid/loss" || name == "valid/rmse_u10m";
    if (!drawn && name.find("_host_us") == std::string::npos) out.push_back(name);
  }
  return out;
}

void draw_overlays(Ui& ui, const Runs& runs, const Labels& labels, AppState& state, Requests& ask) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const int columns = room.x > ui.px(1500) ? 4 : room.x > ui.px(600) ? 2 : 1;
  const float gaps = ui.px(8) * static_cast<float>(columns - 1);
  const float rows = 4.0F / static_cast<float>(columns);
  const float height = std::clamp((room.y - ui.px(kKeysRoom)) / rows, ui.px(260), ui.px(420));
  const ImVec2 size = {(room.x - gaps) / static_cast<float>(columns), height};
  const std::string& extra = state.compare.extra;
  const std::pair<std::string, std::string> curves[] = {
      {"train/loss", "Training loss"},
      {"valid/loss", "Validation loss"},
      {"valid/rmse_u10m", "RMSE of u10m (σ)"},
      {extra.empty() ? "train/samples_per_s" : extra, extra.empty() ? throughput_title() : extra}};
  for (int i = 0; i < 4; ++i) {
    if (i % columns != 0) ui.beside(8);
    draw_overlay(ui, runs, labels, state, curves[i].first, curves[i].second, size, ask);
  }
}

}  // namespace

std::vector<KeyRow> key_rows(const Runs& runs) {
  static const ConfigText kUnknown;
  std::vector<const ConfigText*> configs;
  for (const auto& run : runs) configs.push_back(run->detail ? &run->detail->config : &kUnknown);
  return key_rows(configs);
}

void draw_compare(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const Runs ticked = ticked_runs(*data.feed.runs, state.compared);
  if (ticked.empty()) {
    if (ui.empty_state(
            "Nothing to compare yet",
            "Tick runs in the list on the left, from any folder. TensorBoard event files of other programs "
            "work too: add their folder.",
            data.feed.runs->runs.empty() ? "" : "Compare the newest runs")) {
      for (std::size_t i = 0; i < std::min<std::size_t>(4, data.feed.runs->runs.size()); ++i) {
        state.compared.insert(data.feed.runs->runs[i]->id);
      }
    }
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                         std::max(0.0F, (ImGui::GetContentRegionAvail().x - ui.px(370)) / 2));
    return draw_add_place(ui, state, ask);
  }
  CompareState& compare = state.compare;
  Runs beside;
  for (const std::string& id : possible_repeats(*data.feed.runs, ticked))
    beside.push_back(data.feed.runs->find(id));
  if (!compare.made || !compare.made->is_of(ticked, beside)) {
    compare.made = std::make_shared<const ComparedRuns>(compare_ticked(ticked, beside));
    compare.keys = key_rows(compare.made->shown);
    compare.labels = labels_of(compare.made->shown, compare.keys);
    compare.common = common_origin(compare.made->shown);
    compare.equals.clear();
  }
  const std::shared_ptr<const ComparedRuns> made = compare.made;
  const Labels labels = compare.labels;  // a copy: a click may take a run out within this frame
  compare.link.begin_frame();
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme().ground);
  ImGui::BeginChild("comparison");
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ui.px(8), ui.px(8)});
  if (!made->cases.empty()) draw_scoreboard(ui, *made, labels, state, ask);
  draw_comm(ui, *made, labels);
  draw_others(ui, *made, labels, state, ask);
  draw_plot_controls(ui, state, compare.link);
  if (ImGui::GetItemRectMax().x + ui.px(230) < ImGui::GetWindowPos().x + ImGui::GetWindowWidth())
    ui.beside(16);
  std::string extra = compare.extra.empty() ? "none" : compare.extra;
  ui.label("also");
  if (ui.combo("also", other_curves(made->shown), extra, ui.px(150)))
    compare.extra = extra == "none" ? "" : extra;
  draw_overlays(ui, made->shown, labels, state, ask);
  ui.gap(2);
  draw_keys(ui, made->shown, labels, compare.keys, state);
  draw_add_place(ui, state, ask);
  ImGui::PopStyleVar();
  ImGui::EndChild();
  ImGui::PopStyleColor();
}

}  // namespace isobar
