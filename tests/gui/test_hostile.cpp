// Run folders that mean harm: the window stays alive and says what is wrong.
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "gui/headless.h"
#include "record/json_line.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

std::shared_ptr<const RunEntry> entry_of(Headless& window, const fs::path& folder) {
  return window.app().feed_state().runs->find(folder.string());
}

/// Chooses a run and draws every view of it.
void look_at(Headless& window, const fs::path& folder) {
  window.state().run = folder.string();
  window.state().compared.insert(folder.string());
  for (const View view : {View::watch, View::compare, View::timeline, View::maps}) {
    window.state().view = view;
    window.until("the run to be read", [&] {
      const auto entry = entry_of(window, folder);
      return entry && (entry->gone || !entry->problem.empty() || (entry->detail && entry->detail->complete));
    });
  }
}

fs::path folder_with(const TempFolder& folder, const std::string& name, const std::string& stream) {
  const fs::path path = folder / ("runs/" + name);
  fs::create_directories(path);
  write_file_whole(path / "run.toml", std::string_view("[train]\nsteps = 1\n"));
  if (!stream.empty()) write_file_whole(path / "rank-0000.jsonl", std::string_view(stream));
  return path;
}

std::string head() {
  return JsonLine("run").add("schema", 1).add("lesson", "01_baseline").add("wanted_steps", 10).text();
}

}  // namespace

TEST_CASE("A FIFO, a link loop and another schema are refused in words") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  const fs::path fifo = folder_with(folder, "fifo", "");
  REQUIRE(mkfifo((fifo / "rank-0000.jsonl").c_str(), 0600) == 0);
  const fs::path loop = folder_with(folder, "loop", "");
  fs::create_symlink("rank-0000.jsonl", loop / "rank-0000.jsonl");
  const fs::path schema = folder_with(folder, "schema",
                                      R"({"kind":"run","schema":7})"
                                      "\n");
  fs::create_symlink("self", folder / "runs/self");
  Headless window(options);
  window.settle();
  for (const fs::path& each : {fifo, loop, schema}) look_at(window, each);
  CHECK(entry_of(window, fifo)->problem.find("regular file") != std::string::npos);
  CHECK(entry_of(window, schema)->problem.find("schema 7") != std::string::npos);
  CHECK(entry_of(window, loop)->view.state == RunState::empty);
}

TEST_CASE("Values at the ends of the numbers, and names that are formats or ids, are drawn as they are") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  std::string text = head();
  for (int i = 0; i < 50; ++i) {
    text += R"({"kind":"step","step":)" + std::to_string(i) +
            R"(,"t_us":1e18,"samples":1e18,"step_us":1e18,"load_us":0,"loss":)" +
            (i % 5 == 0   ? "\"nan\""
             : i % 5 == 1 ? "\"inf\""
             : i % 5 == 2 ? "1e308"
             : i % 5 == 3 ? "-1e308"
                          : "4.9e-324") +
            "}\n";
  }
  for (const char* const impossible :
       {R"("t_us":-1)", R"("samples":-1e308)", R"("step_us":1e308)", R"("step":"nan")"})
    text += R"({"kind":"step","step":50,)" + std::string(impossible) + "}\n";
  text += R"({"kind":"eval","step":1e18,"rmse_%n##%s\u001b[31m":1,"loss":"-inf"})"
          "\n";
  const fs::path path = folder_with(folder, "%n%s##x\x1b[31m\xff", text);
  Headless window(options);
  window.settle();
  look_at(window, path);
  const auto entry = entry_of(window, path);
  REQUIRE(entry->detail);
  CHECK(entry->detail->series.step_rows() == 50);
  CHECK(entry->name.find('\x1b') == std::string::npos);
  window.state().settings.log_x = true;
  window.state().watch.views["loss"].log_y = true;
  window.state().settings.smoothing = 0.9;
  for (const char* const axis : {"step", "epoch", "time", "samples"}) {
    window.state().settings.x_axis = axis;
    look_at(window, path);
  }
}

TEST_CASE("Steps that go back, a thousand unknown kinds and names are counted, not believed") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  std::string text = head();
  for (int i = 0; i < 1000; ++i) {
    text += "{\"kind\":\"what" + std::to_string(i) + "\",\"x\":[[1]]}\n";
    text += JsonLine("step").add("step", i % 100).add("t_us", i).add("key" + std::to_string(i), i).text();
    text += "no json\n";
  }
  const fs::path path = folder_with(folder, "odd", text);
  Headless window(options);
  window.settle();
  look_at(window, path);
  const auto entry = entry_of(window, path);
  REQUIRE(entry->detail);
  CHECK(entry->detail->series.step_rows() == 100);
  CHECK(entry->detail->series.left_out().count() >= 900);
  CHECK(entry->view.unread_lines == 1000);
}

TEST_CASE("A line of a gigabyte costs no gigabyte") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  const fs::path path = folder_with(folder, "long", head());
  fs::resize_file(path / "rank-0000.jsonl", 1'000'000'000);  // zeros: "not yet"
  std::ofstream(path / "rank-0000.jsonl", std::ios::in | std::ios::out)
      << head() << std::string(3'000'000, 'x');
  Headless window(options);
  window.settle();
  window.state().run = path.string();
  window.frames(50);
  CHECK(entry_of(window, path));
}

TEST_CASE("Fields that claim to be huge are refused, and the window goes on") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  const fs::path path = folder_with(folder, "huge", head());
  fs::create_directories(path / "fields");
  std::string header = "\x93NUMPY\x01";
  header += std::string(1, '\0') + "v";
  header += std::string(1, '\0');
  std::string words = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1000, 10000, 10000), }";
  words += std::string(117 - words.size(), ' ') + "\n";
  write_file_whole(path / "fields/step-000001.npy", std::string_view(header + words));
  fs::resize_file(path / "fields/step-000001.npy", 128 + 12ULL * 1000 * 10000 * 10000);
  Headless window(options);
  window.settle();
  window.state().run = path.string();
  window.state().view = View::maps;
  window.until("the answer", [&] { return window.app().feed_state().fields != nullptr; });
  CHECK(window.app().feed_state().fields->problem.find("too large") != std::string::npos);
  window.frames(5);
}

TEST_CASE("Three hundred folders of noise leave the window alive") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 3 == 0 ? head() : "";
    const auto size = random() % 3000;
    for (unsigned k = 0; k < size; ++k) bytes += static_cast<char>(random() % 256);
    const fs::path path = folder_with(folder, "noise" + std::to_string(i), bytes);
    if (i % 4 == 0) write_file_whole(path / "run.toml", std::string_view(bytes));
    if (i % 5 == 0) {
      fs::create_directories(path / "fields");
      write_file_whole(path / "fields/step-000001.npy", std::string_view(bytes));
    }
    if (i % 7 == 0) write_file_whole(path / "events.out.tfevents.1", std::string_view(bytes));
  }
  Headless window(options);
  window.settle();
  CHECK(window.app().feed_state().runs->runs.size() == 300);
  const auto runs = window.app().feed_state().runs->runs;
  for (std::size_t i = 0; i < runs.size(); i += 13) look_at(window, runs[i]->folder);
}
