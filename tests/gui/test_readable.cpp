// Words that a person would select and copy: which, and where.
#include <fmt/format.h>

#include <algorithm>

#include "gui/headless.h"
#include "support/catch.h"
#include "support/until.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

using Rows = std::vector<ReadableRow>;

const Rows& rows_of(Headless& window) { return window.app().ui().readable_rows(); }

const ReadableRow* find(const Rows& rows, const std::string& words) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](auto& row) { return row.words == words; });
  return at == rows.end() ? nullptr : &*at;
}

std::string all_words(const Rows& rows) {
  std::string out;
  for (const ReadableRow& row : rows) out += row.words;
  return out;
}

/// Pixels of a box on the console that are not its ground.
int count_ink(Headless& window, const Box& box) {
  const int width = static_cast<int>(box.x1) - static_cast<int>(box.x0);
  const int height = static_cast<int>(box.y1) - static_cast<int>(box.y0);
  return width * height - window.count_colour(box, window.app().ui().theme().ground);
}

void write_console(const fs::path& run, int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += fmt::format("line {} of the console\n", i);
  write_file_whole(run / "console.log", std::string_view(text));
}

/// The chosen run's console, unfolded; nothing else that can be copied is shown.
void show_console(Headless& window) {
  window.app().ui().keep_readable(true);
  window.settle();
  window.key('C');
  window.until("the console", [&] { return !rows_of(window).empty(); });
}

}  // namespace

TEST_CASE("Lines of the console can be copied: those in sight, where they are drawn") {
  const TempFolder folder;
  write_console(write_run(folder, {.name = "one"}), 200);
  Headless window(options_in(folder));
  show_console(window);
  const Rows rows = rows_of(window);
  const ReadableRow* const last = find(rows, "line 199 of the console\n");
  REQUIRE(last != nullptr);
  CHECK(find(rows, "line 0 of the console\n") == nullptr);  // scrolled out
  CHECK(rows.size() < 30);
  for (const ReadableRow& row : rows) {
    CHECK(row.seen.y0 >= window.box("console").y1);
    CHECK(row.seen.y1 <= ImGui::GetIO().DisplaySize.y);
  }
  // Letters are in the box, and nothing is behind its right edge.
  CHECK(count_ink(window, last->box) > 100);
  CHECK(count_ink(window, {last->box.x1 + 1, last->box.y0, last->box.x1 + 200, last->box.y1}) == 0);

  window.wheel({400, last->box.y0}, 1000);
  CHECK(find(rows_of(window), "line 0 of the console\n") != nullptr);
  CHECK(find(rows_of(window), "line 199 of the console\n") == nullptr);
}

TEST_CASE("A new line of the console asks for the frame that scrolls to it, and for no other") {
  const TempFolder folder;
  const fs::path run = write_run(folder, {.name = "one"});
  write_console(run, 200);
  Headless window(options_in(folder));
  show_console(window);
  window.frames(20);
  CHECK_FALSE(window.app().is_moving());
  write_console(run, 201);
  until([&] { return window.app().feed_state().console->size() >= 201; });
  window.frames(1);
  CHECK(window.app().is_moving());
  window.frames(1);
  CHECK(find(rows_of(window), "line 200 of the console\n") != nullptr);
  window.frames(1);
  CHECK_FALSE(window.app().is_moving());
}

TEST_CASE("A line that is too long for its place is whole, and its box says how much of it is seen") {
  const TempFolder folder;
  const std::string line = "begin " + std::string(370, 'x') + " end";
  write_file_whole(write_run(folder, {.name = "one"}) / "console.log", std::string_view(line + "\n"));
  Headless window(options_in(folder), 800, 600);
  show_console(window);
  const ReadableRow* const row = find(rows_of(window), line + "\n");
  REQUIRE(row != nullptr);
  CHECK(row->seen.x1 <= 800);
  CHECK(row->box.x1 > 1600);
  CHECK(row->box.height() == row->seen.height());
}

TEST_CASE("A command that is broken into rows is put together again as it has to be typed") {
  const TempFolder folder;
  Headless window(options_in(folder));
  window.app().ui().keep_readable(true);
  window.settle();
  window.click("Settings");
  const std::string root = "/a folder/" + std::string(120, 'y') + " " + std::string(40, 'z') + " and more";
  window.type("filter keys", "data.root");
  window.type("set data.root", root);
  const Rows& rows = rows_of(window);
  CHECK(rows.size() > 2);
  CHECK(all_words(rows) == "./isobar run 01_baseline --set 'data.root=" + root + "'\n");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i].box.y0 == Approx(rows[i - 1].box.y1));
    CHECK(rows[i].words.front() != ' ');  // it is drawn without
  }
}

TEST_CASE("Code of a lesson's page and of the Code view can be copied, empty lines too") {
  const TempFolder folder;
  Headless window(options_in(folder));
  window.app().ui().keep_readable(true);
  window.settle();
  window.click("Code");
  window.settle();
  const std::string page = text_of(project_home() / "lessons/01_baseline/main.cpp");
  const std::string seen = all_words(rows_of(window));
  CHECK(seen.find("\n\n") != std::string::npos);
  const std::string begin = page.substr(0, 400);
  CHECK(seen.find(begin) != std::string::npos);
}

TEST_CASE("Under a sheet nothing is copied, and who does not ask is given nothing") {
  const TempFolder folder;
  write_console(write_run(folder, {.name = "one"}), 20);
  Headless window(options_in(folder));
  show_console(window);
  window.letter('?');
  REQUIRE(window.has("Close"));
  CHECK(rows_of(window).empty());
  window.key(256);
  window.frames(2);
  CHECK_FALSE(rows_of(window).empty());
  window.app().ui().keep_readable(false);
  window.frames(1);
  CHECK(rows_of(window).empty());
}
