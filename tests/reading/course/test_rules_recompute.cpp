// Rules of lesson 14: what a recorded step held and when, losses that part, and the first setting that fits.
#include <functional>

#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_memory.h"
#include "support/made_ranks.h"
#include "support/says.h"

namespace isobar::test_rules_recompute {

namespace {

const char* const kLesson = "14_checkpointing";

struct MadeStep {
  MadeMemory memory = {};
  std::function<double(int)> loss = [](int step) { return 1.0 - 0.01 * step; };
  std::string setting = "none";  ///< model.checkpoint
  bool has_memory = true;
  std::string peak_stage = "backward";

  std::filesystem::path write(const std::filesystem::path& folder) const {
    MadeRanks out{.world = 1, .lesson = kLesson, .measure = "none"};
    out.config = "[model]\ncheckpoint = \"" + setting + "\"\n";
    out.more = [this](int, int step, JsonLine& line) { line.add("loss", loss(step)); };
    std::filesystem::create_directories(folder);
    out.write(folder);
    if (!has_memory) return folder;
    MemoryTimeline timeline = made_memory(memory);
    timeline.peak_stage = peak_stage;
    write_memory(folder, timeline);
    return folder;
  }
};

std::string refusal_of(const AskedRule& asked) {
  return error_of([&] { asked.rule().check(asked.question()); });
}

AskedRule of_one(const std::string& rule, const MadeStep& made, const TempFolder& folder,
                 const std::string& unit = "") {
  return AskedRule(rule, {{"run", {"own"}}}, unit).run("own", made.write(folder / "own"), kLesson);
}

AskedRule of_two(const std::string& rule, const MadeStep& base, const MadeStep& other,
                 const TempFolder& folder) {
  return AskedRule(rule, {{"base", {"base"}}, {"other", {"other"}}})
      .run("base", base.write(folder / "base"), kLesson)
      .run("other", other.write(folder / "other"), kLesson);
}

}  // namespace

TEST_CASE("activations of blocks are counted at their largest, without those of the ends of the model") {
  const TempFolder folder;
  AskedRule asked = of_one("block_activations", {.memory = {.blocks = 4, .block = 5'000'000}}, folder, "MB");
  const Truth truth = asked.with("count", {"3 * 4 + 2"}).truth();
  CHECK(truth.cannot == "");
  CHECK(truth.number == 14);  // three of 3 MB, and the fourth as it is computed
  CHECK(truth.figures.at("count") == "14");
  CHECK(truth.figures.at("stage") == "backward");
  CHECK(truth.source == "measured here");
  CHECK_THAT(refusal_of(asked.with("count", {"3 +"})), says("cannot be worked out"));
  const TempFolder second;
  CHECK_THAT(of_one("block_activations", {.has_memory = false}, second, "MB").cannot("own"),
             says("did not record what its memory held"));
  const TempFolder third;
  CHECK_THAT(of_one("block_activations", {.memory = {.blocks = 0}}, third, "MB").cannot("own"),
             says("no activation of a block"));
}

TEST_CASE("the peak lies at one of four moments of a step") {
  const TempFolder folder;
  AskedRule asked = of_one("peak_moment", {}, folder);
  const Truth truth = asked.truth();
  CHECK(truth.accepted == Keys{"turn"});
  CHECK(truth.figures.at("place") == "0");
  CHECK(truth.figures.at("owner") == "activations");
  CHECK_THAT(refusal_of(asked.choice("turn", "between").choice("later", "then")),
             says("never accepts \"later\""));
  // Backward makes each block again: its first one is where the peak lies.
  const TempFolder second;
  CHECK(of_one("peak_moment", {.memory = {.kept = 100'000}}, second).accepted() == Keys{"turn"});
  const TempFolder third;
  CHECK(of_one("peak_moment", {.peak_stage = "optimize"}, third).accepted() == Keys{"update"});
}

TEST_CASE("blocks take more, less or the same beside another run") {
  const auto beside = [](std::uint64_t kept) {
    const TempFolder folder;
    const MadeStep other{.memory = {.block = kept, .kept = kept}, .setting = "block"};
    return of_two("blocks_beside", {}, other, folder).accepted();
  };
  CHECK(beside(1'500'000) == Keys{"down"});
  CHECK(beside(3'100'000) == Keys{"same"});
  CHECK(beside(4'000'000) == Keys{"up"});
  const TempFolder folder;
  CHECK_THAT(of_two("blocks_beside", {}, {.has_memory = false}, folder).cannot("other"), says("`other`"));
}

TEST_CASE("losses part never, in a later step, or in the first one") {
  const auto apart = [](const std::function<double(int)>& loss) {
    const TempFolder folder;
    return of_two("first_apart", {}, {.loss = loss, .setting = "block"}, folder).truth();
  };
  CHECK(apart([](int step) { return 1.0 - 0.01 * step; }).accepted == Keys{"never"});
  const Truth later = apart([](int step) { return 1.0 - 0.01 * step + (step < 3 ? 0 : 1e-5); });
  CHECK(later.accepted == Keys{"later"});
  CHECK(later.figures.at("step") == "4");
  CHECK(apart([](int step) { return 1.001 - 0.01 * step; }).accepted == Keys{"first"});
  const TempFolder folder;
  const auto nearly = [](int step) { return 1.0001 - 0.01 * step; };
  AskedRule near = of_two("first_apart", {}, {.loss = nearly, .setting = "block"}, folder);
  CHECK(near.accepted() == Keys{"first"});
  CHECK(near.with("within", {"0.001"}).accepted() == Keys{"never"});
  AskedRule asked("first_apart", {{"base", {"a"}}, {"other", {"b"}}});
  CHECK_THAT(refusal_of(asked.choice("soon", "soon")), says("its answers: never, later, first"));
}

TEST_CASE("the first setting that fits is what is right") {
  AskedRule asked("first_fit", {{"of", {"none 40", "block 10 + 5"}}, {"most", {"20"}}});
  asked.choice("none", "none").choice("block", "block");
  CHECK(asked.accepted() == Keys{"block"});
  CHECK(asked.truth().figures.at("room") == "20");
  CHECK(asked.with("most", {"40"}).accepted() == Keys{"none"});
  CHECK(asked.rule().check != nullptr);
  CHECK_NOTHROW(asked.rule().check(asked.question()));
  CHECK_THAT(refusal_of(asked.with("most", {"3"})), says("nothing fits into 3"));
  CHECK_THAT(refusal_of(asked.with("most", {"40"}).choice("cheap", "cheap")), says("not the keys of `of`"));
}

TEST_CASE("two runs of the learner's count where their losses are equal and one peak is lower") {
  const auto made = [](const MadeStep& one, const MadeStep& other) {
    const TempFolder folder;
    return AskedRule("made_memory", {{"times", {"1.5"}}, {"differ", {"model.checkpoint"}}})
        .of_lesson(kLesson)
        .made(one.write(folder / "one"))
        .made(other.write(folder / "other"))
        .truth();
  };
  const MadeStep plain{.memory = {.weights = 500'000, .block = 5'000'000, .kept = 5'000'000}};
  const MadeStep block{.memory = {.weights = 500'000, .block = 5'000'000, .kept = 500'000},
                       .setting = "block"};
  CHECK(made(plain, block).accepted == Keys{"yes"});
  CHECK(made(block, plain).figures.at("ratio") > "1.5");
  MadeStep nearly = block;
  nearly.memory.kept = 4'500'000;
  CHECK(made(plain, nearly).accepted.empty());
  MadeStep worse = block;
  worse.loss = [](int step) { return 1.0 - 0.005 * step; };
  const Truth differs = made(plain, worse);
  CHECK(differs.accepted.empty());
  CHECK_THAT(differs.text, says("their losses differ"));
}

}  // namespace isobar::test_rules_recompute
