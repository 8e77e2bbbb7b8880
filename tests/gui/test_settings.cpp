// What the window remembers.

#include "gui/headless.h"
#include "support/catch.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("Settings are kept between starts; a broken file is kept aside and said") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.settings = folder / "config/window.toml";
  options.loaded.reset();
  {
    Headless window(options);
    window.settle();
    window.key('D');
    window.state().settings.smoothing = 0.5;
    window.app().remember();
  }
  {
    Headless window(options);
    CHECK_FALSE(window.state().settings.dark);
    CHECK(window.state().settings.smoothing == Approx(0.5));
  }
  for (const std::string& bad : {std::string("dark = 3\n"), std::string("zoom = [\n"),
                                 std::string("\0\xff", 2), std::string(2'000'000, 'x')}) {
    write_file_whole(options.settings, std::string_view(bad));
    Headless window(options);
    window.frames(2);
    CHECK(window.state().settings.dark);
    CHECK(window.state().toast.find("kept as") != std::string::npos);
    CHECK(text_of(options.settings.string() + ".broken") == bad);
  }
  write_file_whole(options.settings, std::string_view("zoom = 900\nleft_width = -5\nunknown = 1\n"));
  Headless window(options);
  CHECK(window.state().settings.zoom == Approx(3));
  CHECK(window.state().settings.left_width == Approx(200));
}

TEST_CASE("Settings are written while the window is open, so that one that is killed loses little") {
  const TempFolder folder;
  AppOptions options = options_in(folder);
  options.settings = folder / "config/window.toml";
  options.loaded.reset();
  Headless window(options);
  window.settle();
  window.key('D');
  window.until("the file", [&] {
    return fs::exists(options.settings) &&
           text_of(options.settings).find("dark = false") != std::string::npos;
  });
}
