// ./isobar step: what a lesson lets a learner step through, at a terminal.
#include "cli/programs.h"
#include "cli/terminal.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

ProcessOptions in_locale(const std::string& locale, const std::string& more = "NONE=") {
  ProcessOptions out;
  out.environment = {"LC_ALL=" + locale, more};
  return out;
}

}  // namespace

TEST_CASE("step prints the moments of a ring, and what its controls change") {
  const Programs programs;
  const ProcessResult two = programs.run({"step", "09", "--steps", "1"}, in_locale("C.UTF-8"));
  CHECK(two.code == 0);
  CHECK_THAT(two.out, says("step 0 of 6") && says("step 1 of 6") && !says("step 2 of 6"));
  CHECK_THAT(two.out, says("rank 0 sends chunk 0 (1) to rank 1") && says("chunk 3"));
  const ProcessResult tree = programs.run({"step", "09", "algorithm=tree", "ranks=8"}, in_locale("C"));
  CHECK_THAT(tree.out, says("step 6 of 6") && says("##84") && !says("⠒"));
  const ProcessResult way = programs.run({"step", "00", "--steps", "0"}, in_locale("C.UTF-8"));
  CHECK_THAT(way.out, says("step 0 of 150") && says("lines of equal loss") && says("dL/dm") && says("⠒"));
  const ProcessResult words =
      programs.run({"step", "00", "--steps", "0"}, in_locale("C.UTF-8", "ISOBAR_PICTURES=words"));
  CHECK_THAT(words.out, says("dL/dm") && !says("⠒"));
}

TEST_CASE("step refuses what it cannot show and names what it can") {
  const Programs programs;
  const ProcessResult none = programs.run({"step", "03"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err,
             says("03_gpu_loader has nothing to step through") && says("00_sgd") && says("09_all_reduce"));
  for (const char* const wrong : {"speed=3", "ranks=99", "ranks=", "=3"}) {
    INFO(wrong);
    const ProcessResult refused = programs.run({"step", "09", wrong});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, says("hint:"));
  }
  CHECK(programs.run({"step", "09", "--run", "nowhere"}).code == 2);
}

TEST_CASE("a learner goes on, back, to a step, turns a control and leaves") {
  const Programs programs;
  Terminal terminal({(programs.folder() / "isobar-cli").string(), "step", "09"},
                    std::filesystem::current_path().string(), {"LC_ALL=C.UTF-8", "NO_COLOR=1", "TERM=xterm"});
  const auto typed = [&](const char* word, const char* then) {
    const std::string shown = terminal.answer("quit): ", word);
    INFO(word);
    CHECK_THAT(shown, says(then));
  };
  typed("", "step 0 of 6");
  typed("6", "step 1 of 6");
  typed("b", "all ranks hold the sum");
  typed("99", "step 5 of 6");
  typed("?", "the steps are 0 to 6");
  typed("ranks=8", "algorithm = ring");
  typed("q", "step 0 of 14");
  std::string rest;
  CHECK(terminal.end(rest) == 0);
}
