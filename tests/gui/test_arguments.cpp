// The program as it is called.

#include "support/catch.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

ProcessResult gui(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {std::string(ISOBAR_BIN) + "/isobar-gui"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ProcessOptions options;
  options.environment = {"DISPLAY=", "WAYLAND_DISPLAY="};
  return run_process(words, options);
}

}  // namespace

TEST_CASE("Wrong arguments are refused before a window opens") {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--size", "10x10"}, "at least 640x400"},
      {{"--size", "wide"}, "is no size"},
      {{"--panel", "foo"}, "there is no panel"},
      {{"--theme", "pink"}, "pink"},
      {{"--zoom", "9"}, "9"},
      {{"--lesson", "99"}, "99"},
      {{"--speed", "2x"}, "--speed is that of a replay"},
      {{"--replay", "nothing"}, "no run"},
      {{"--screenshot", std::string(ISOBAR_BIN) + "/isobar-gui"}, "the file is there already"},
      {{"--screenshot", ""}, "--screenshot is empty"},
      {{"--nothing"}, "--nothing"}};
  for (const auto& [arguments, words] : cases) {
    const ProcessResult result = gui(arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(words) != std::string::npos);
    CHECK(result.out.empty());
  }
}

TEST_CASE("Without a display it says what to do instead") {
  const ProcessResult result = gui({});
  CHECK(result.code == 1);
  CHECK(result.err.find("--screenshot") != std::string::npos);
  CHECK(gui({"--help"}).code == 0);
}
