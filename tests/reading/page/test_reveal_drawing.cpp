// A question's runs as one picture.
#include "core/text.h"
#include "page/reveal_drawing.h"
#include "support/catch.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;

namespace {

Question asked_of(const std::string& rule, const std::vector<std::string>& runs) {
  Question out;
  out.rule = rule;
  for (const std::string& name : runs) out.runs.emplace_back().name = name;
  return out;
}

std::string lines_of(const std::optional<Drawing>& drawing) {
  return drawing ? isobar::joined(drawing_lines(*drawing, {.columns = 60}), "\n") : "";
}

}  // namespace

TEST_CASE("runs that a question times are bars, one alone is the parts of its step") {
  MadeRuns made;
  const std::map<std::string, RunCase> runs = {{"slow", read_case(made.add("a", {.factor = 2}))},
                                               {"fast", read_case(made.add("b", {}))}};
  Question question = asked_of("ratio", {"slow", "fast", "missing"});
  question.choices = {{"slow", "the slow one"}};
  const std::optional<Drawing> bars = reveal_drawing(question, runs);
  REQUIRE(bars);
  CHECK_THAT(lines_of(bars), says("the slow one") && says("fast") && says("▒▒▒▒▒▒") && says("samples/s"));
  CHECK_THAT(bars->alt, says("the slow one: ") && says("samples/s. fast: "));
  Question share = asked_of("value", {"fast"});
  share.with = {{"of", {"load_us"}}, {"over", {"step_us"}}};
  CHECK_THAT(lines_of(reveal_drawing(share, runs)), says("A step of your run fast") && says("forward"));
  share.runs.push_back(question.runs.front());
  CHECK_THAT(lines_of(reveal_drawing(share, runs)), says(" %"));
}

TEST_CASE("a question about losses shows the curves of its runs") {
  MadeRuns made;
  const std::map<std::string, RunCase> runs = {{"healthy", read_case(made.add("a", {}))},
                                               {"fault", read_case(made.add("b", {.loss_factor = 3}))}};
  const std::optional<Drawing> curves = reveal_drawing(asked_of("curve", {"healthy", "fault"}), runs);
  CHECK_THAT(lines_of(curves), says("train/loss") && says("healthy") && says("fault") && says("steps"));
  CHECK_THAT(curves->alt, says("fault goes from "));
}

TEST_CASE("without a run, or for a rule that compares none, there is no picture") {
  MadeRuns made;
  const std::filesystem::path run = made.add("a", {});
  CHECK_FALSE(reveal_drawing(asked_of("curve", {"healthy"}), std::map<std::string, RunCase>{}));
  CHECK_FALSE(reveal_drawing(asked_of("fixed", {}), std::map<std::string, RunCase>{}));
  CHECK_FALSE(reveal_drawing(asked_of("fixed", {"a"}), {{"a", read_case(run)}}));
  CHECK_FALSE(reveal_drawing(asked_of("curve", {"a"}), {{"a", read_case(made.add("b", {.steps = 0}))}}));
  CHECK(reveal_drawing(asked_of("curve", {}), std::vector{read_case(run)}));
}
