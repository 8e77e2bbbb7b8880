#include "gui/headless.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "record/json_line.h"
#include "tab/input.h"

namespace isobar {

namespace fs = std::filesystem;

HeadlessContext::HeadlessContext(float width, float height) {
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = {width, height};
  io.DeltaTime = 1.0F / 60;
  io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  map_keys();
  static std::string clipboard;
  io.SetClipboardTextFn = [](void*, const char* text) { clipboard = text; };
  io.GetClipboardTextFn = [](void*) { return clipboard.c_str(); };
}

Headless::Headless(AppOptions options, float width, float height) : context_(width, height) {
  app_ = std::make_unique<App>(std::move(options), textures_, [this] { ++changes_; });
}

void Headless::frames(int count) {
  for (int i = 0; i < count; ++i) {
    app_->poll();
    if (app_->prepare(1)) {
      ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
      unsigned char* pixels = nullptr;
      int width = 0;
      int height = 0;
      atlas.GetTexDataAsAlpha8(&pixels, &width, &height);
      atlas.SetTexID(&atlas);
    }
    ImGui::NewFrame();
    app_->draw();
    ImGui::Render();
  }
}

bool Headless::has(const std::string& item) const {
  const auto& items = app_->ui().items();
  return std::any_of(items.begin(), items.end(), [&](auto& one) { return one.name == item; });
}

Box Headless::box(const std::string& item) const {
  for (const UiItem& one : app_->ui().items()) {
    if (one.name == item) return one.box;
  }
  throw Error("nothing is called \"" + item + "\"", "headless window", "");
}

void Headless::put_mouse(float x, float y) { place_mouse(x, y); }

void Headless::move_to(float x, float y) {
  put_mouse(x, y);
  frames(2);
}

void Headless::press(bool down, int button) {
  press_button(button, down);
  frames(1);
}

void Headless::click_at(float x, float y, int button) {
  move_to(x, y);
  press(true, button);
  frames(1);
  press(false, button);
  frames(2);
}

void Headless::click(const std::string& item, int button) {
  // What arrives from another thread can move the item: then the pointer lets go elsewhere and comes again.
  while (true) {
    const Box place = box(item);
    const float x = (place.x0 + place.x1) / 2, y = (place.y0 + place.y1) / 2;
    move_to(x, y);
    if (box(item) != place) continue;
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    if (x >= size.x || y >= size.y)
      throw Error(fmt::format("{} lies at {:.0f}, {:.0f}", item, x, y), "headless window",
                  fmt::format("a window of more than {:.0f} x {:.0f}", size.x, size.y));
    press(true, button);
    if (has(item) && box(item) != place) {
      put_mouse(-1, -1);
      press(false, button);
      continue;
    }
    press(false, button);
    return frames(2);
  }
}

void Headless::double_click(const std::string& item) {
  const Box place = box(item);
  move_to((place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2);
  for (int i = 0; i < 2; ++i) {
    press(true);
    press(false);
  }
  frames(2);
}

void Headless::drag(ImVec2 from, ImVec2 to, bool shift) {
  hold_modifiers(false, shift, false);
  move_to(from.x, from.y);
  press(true);
  for (int i = 1; i <= 8; ++i) {
    const float part = static_cast<float>(i) / 8;
    put_mouse(from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part);
    frames(1);
  }
  press(false);
  frames(1);
  hold_modifiers(false, false, false);
}

void Headless::wheel(ImVec2 at, float turns, bool control) {
  hold_modifiers(control, false, false);
  move_to(at.x, at.y);
  turn_wheel(0, turns);
  frames(2);
  hold_modifiers(false, false, false);
}

void Headless::type(const std::string& item, const std::string& words) {
  click(item);
  key('A', true);
  key(261);
  ImGui::GetIO().AddInputCharactersUTF8(words.c_str());
  frames(3);
}

void Headless::key(int code, bool control, bool shift) {
  hold_modifiers(control, shift, false);
  press_key(code, true);
  frames(1);
  press_key(code, false);
  hold_modifiers(false, false, false);
  frames(2);
}

void Headless::letter(char c) {
  ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(c));
  frames(3);
}

Picture Headless::picture() {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  return rasterise(*ImGui::GetDrawData(), {0, 0, size.x, size.y}, 1, app_->ui().theme().ground, textures_);
}

void Headless::each_pixel(const Box& box, const std::function<void(int x, ImU32 colour)>& visit) {
  const Picture whole = picture();
  const int first = std::max(0, static_cast<int>(box.x0));
  for (int y = std::max(0, static_cast<int>(box.y0)); y < std::min(whole.height, static_cast<int>(box.y1));
       ++y) {
    for (int x = first; x < std::min(whole.width, static_cast<int>(box.x1)); ++x) {
      const std::uint8_t* const p = whole.rgba.data() + 4 * (y * whole.width + x);
      visit(x - first, IM_COL32(p[0], p[1], p[2], 255));
    }
  }
}

int Headless::count_colour(const Box& box, ImU32 colour) {
  int count = 0;
  each_pixel(box, [&](int, ImU32 there) { count += there == colour ? 1 : 0; });
  return count;
}

int Headless::longest_row(const Box& box, ImU32 colour) {
  int longest = 0;
  int length = 0;
  each_pixel(box, [&](int x, ImU32 there) {
    length = there != colour ? 0 : x == 0 ? 1 : length + 1;
    longest = std::max(longest, length);
  });
  return longest;
}

AppOptions options_in(const TempFolder& folder) {
  AppOptions options;
  options.home = project_home();
  options.places = {folder / "runs"};
  options.exports = folder / "exports";
  options.logs = folder / "logs";
  options.progress = folder / "progress.jsonl";
  options.browser = folder / "browser";
  options.my = folder / "my";
  options.loaded = LoadedSettings{.settings = {.lesson = "01_baseline"}, .message = ""};
  fs::create_directories(folder / "runs");
  return options;
}

std::string step_line(int step, double loss, double step_us) {
  JsonLine line("step");
  line.add("step", step)
      .add("t_us", static_cast<std::int64_t>(step_us * (step + 1)))
      .add("epoch", step / 10)
      .add("samples", 4);
  line.add("load_us", step_us * 0.1).add("forward_us", step_us * 0.3).add("backward_us", step_us * 0.5);
  line.add("step_us", step_us).add("lr", 1e-3).add("loss", loss);
  return line.text();
}

fs::path write_run(const TempFolder& folder, const FakeRun& run) {
  const fs::path path = folder / ("runs/" + run.name);
  fs::create_directories(path / "fields");
  write_file_whole(path / "run.toml", std::string_view(run.extra));
  std::string text = JsonLine("run")
                         .add("schema", 1)
                         .add("lesson", run.lesson)
                         .add("preset", run.preset)
                         .add("host", "elsewhere")
                         .add("device", "cpu")
                         .add("pid", 1)
                         .add("wanted_steps", run.steps)
                         .add("flops_per_sample", 1e9)
                         .add("started", "2026-11-20T10:00:00Z")
                         .text();
  text += JsonLine("note").add("text", "plan").add("steps_per_epoch", 10).text();
  const auto eval = [&](int step) {
    const double rmse = 0.8 / std::sqrt(1.0 + step);
    JsonLine line("eval");
    line.add("step", step).add("t_us", static_cast<std::int64_t>(run.step_us) * step).add("loss", rmse + 0.1);
    for (const char* const channel : {"u10m", "v10m", "t2m"}) {
      line.add(std::string("rmse_") + channel, rmse)
          .add(std::string("persistence_rmse_") + channel, 0.34)
          .add(std::string("climatology_rmse_") + channel, 0.75);
    }
    text += line.text();
  };
  for (int step = 0; step < run.steps; ++step) {
    if (step % 10 == 0) eval(step);
    text += step_line(step, run.loss / std::sqrt(1.0 + step), run.step_us);
  }
  eval(run.steps);
  if (!run.status.empty()) {
    text += JsonLine("summary")
                .add("steps", run.steps)
                .add("samples", 4 * run.steps)
                .add("wall_us", 1000000)
                .add("loss", 0.2)
                .add("samples_per_s", 4e6 / run.step_us)
                .add("step_us", run.step_us)
                .add("rmse_u10m", 0.12)
                .add("persistence_rmse_u10m", 0.34)
                .text();
    text += JsonLine("end")
                .add("status", run.status)
                .add("reason", run.status == "failed" ? "the loss is nan" : "")
                .text();
  }
  write_file_whole(path / "rank-0000.jsonl", std::string_view(text));
  write_file_whole(path / "console.log", std::string_view("step 1\nstep 2\ndone\n"));
  return path;
}

void show_run(Headless& window, const std::filesystem::path& run, const std::string& lesson, View view,
              const std::string& drawn) {
  const auto listed = [&] {
    const auto& runs = window.app().feed_state().runs;
    return runs ? runs->find(run.string()) : nullptr;
  };
  window.until("the list of runs", [&] { return listed() != nullptr; });
  window.state().lesson = lesson;
  window.state().run = run.string();
  window.state().view = view;
  window.until("the run", [&] {
    const auto found = listed();
    return found && found->detail && drawn == found->id;
  });
  window.settle();
}

fs::path fake_isobar(const TempFolder& folder, const std::string& body) {
  const fs::path file = folder / "isobar";
  const std::string words = (folder / "arguments").string();
  // Whole from the first moment that it is there.
  // Without the trap bash forgets an interrupt that comes while it waits for mv.
  write_file_whole(file,
                   std::string_view("#!/bin/bash\ntrap 'exit 75' INT\nprintf '%s\\n' \"$@\" >'" + words +
                                    ".part' && mv '" + words + ".part' '" + words + "'\n" + body));
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

}  // namespace isobar
