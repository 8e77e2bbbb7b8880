// Rules of lessons 16 and 17: what a rank sends that shares tokens, axes on links, sizes that are refused,
// what fits and is fastest, and where two figures went.
#include "asked_rule.h"
#include "config/lesson.h"
#include "course/rules/parts.h"
#include "formula/context_parallel.h"
#include "plot/lesson_view.h"
#include "support/errors.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_rules_groups {

namespace {

std::string refused(const AskedRule& asked) {
  return error_of([&] { asked.rule().check(asked.question()); });
}

std::filesystem::path shared_tokens(const TempFolder& folder, const std::string& name,
                                    const std::string& mesh) {
  MadeRanks made{.lesson = "16_context_parallel"};
  made.config =
      "[run]\nranks = 2\n[model]\nembed = 96\ndepth = 4\nheads = 2\n[data]\ngrid = [48, 96]\n"
      "[train]\nglobal_batch = 4\n[amp]\nmode = \"none\"\n[mesh]\n" +
      mesh;
  made.more = [](int, int, JsonLine& line) {
    line.add("comm_calls", 11)
        .add("wire_bytes", 3'000'000)
        .add("cp_calls", 11)
        .add("cp_wire_bytes", 2'900'000);
  };
  std::filesystem::create_directories(folder / name);
  made.write(folder / name);
  return folder / name;
}

AskedRule wire_of(const std::filesystem::path& run) {
  return AskedRule("cp_wire", {{"run", {"own"}}}, "MB").run("own", run, "16_context_parallel");
}

/// Three orders of tp 2 x cp 2 x dp 4 on nodes of four.
AskedRule orders(const std::vector<std::string>& bytes) {
  AskedRule out("axes_on_links", {{"node", {"4"}}, {"bytes", bytes}});
  out.of_lesson("17_groups");
  for (const auto& [key, order] : {std::pair{"dp", "tp-cp-dp"}, {"cp", "tp-dp-cp"}, {"tp", "cp-dp-tp"}})
    out.choice(key, std::string(key) + " between",
               {"run.ranks=16", "mesh.tp=2", "mesh.cp=2", "train.global_batch=16",
                std::string("mesh.order=") + order});
  return out;
}

AskedRule sizes(const std::vector<std::string>& sets, const std::string& key, const std::string& at) {
  std::vector<std::string> all = {"train.global_batch=4"};
  all.insert(all.end(), sets.begin(), sets.end());
  return AskedRule("settings_check", {{"set", all}, {"key", {key}}, {"at", {at}}}).of_lesson("17_groups");
}

}  // namespace

TEST_CASE("what a rank sends stands beside the formula and its parts") {
  const TempFolder folder;
  const std::filesystem::path run = shared_tokens(folder, "cp", "cp = 2\n");
  const Truth truth = wire_of(run).truth();
  CHECK(truth.cannot == "");
  CHECK(truth.number == Approx(3));
  CHECK(truth.figures.at("value") == "3");
  const VitShape shape{.height = 48, .width = 96, .embed = 96, .depth = 4, .heads = 2};
  const ContextStep step = context_step(shape, {.cp = 2, .samples = 4}, 0);
  CHECK(truth.figures.at("blocks") == number_text(Quantity::bytes, step.blocks.bytes()));
  CHECK(truth.figures.at("sums") == number_text(Quantity::bytes, step.sum_bytes));
  CHECK(truth.figures.at("formula") == number_text(Quantity::bytes, step.bytes()));
  CHECK_THAT(wire_of(shared_tokens(folder, "dp", "cp = 1\n")).cannot("own"), says("share no tokens"));
  CHECK_THAT(refused(AskedRule("cp_wire", {{"run", {"own"}}}, "ms")), says("ms"));
  const OwnPicture own = own_picture(run);
  REQUIRE(own.drawing.body);
  CHECK_THAT(own.drawing.alt, says("2.90 MB counted") && says("sum of gradients"));
  CHECK_FALSE(own_picture(folder / "dp").nothing.empty());
}

TEST_CASE("the order of axes with the fewest bytes between nodes depends on these bytes") {
  CHECK(orders({"tp 9.6", "cp 4.8", "dp 0.63"}).accepted() == Keys{"dp"});
  CHECK(orders({"tp 0.8", "cp 0.3", "dp 2.4"}).accepted() == Keys{"cp"});
  const Truth truth = orders({"tp 9.6", "cp 4.8", "dp 0.63"}).truth();
  CHECK(truth.figures.at("best") == "2.52");  // four ranks of a node send to the next one
  CHECK(truth.figures.at("outside_tp") == figure_text(4 * 9.6 + 2 * 0.63));
  CHECK(truth.figures.at("inside") == "tp and cp");
  CHECK(truth.figures.at("between") == "dp");
  CHECK(truth.figures.at("value") == "dp between");
  CHECK_THAT(error_of([] { orders({"tp 1", "cp 1", "dp 9"}).truth(); }), says("about as little"));
  CHECK_THAT(error_of([] { orders({"tp"}).truth(); }), says("no axis with its bytes"));
  CHECK_THAT(refused(AskedRule("axes_on_links").choice("a", "a").choice("b", "b")),
             says("each choice is a mesh"));
}

TEST_CASE("settings run, or are refused by the rule that they break") {
  CHECK(sizes({"run.ranks=8", "mesh.gpus_per_model=4"}, "runs", "").accepted() == Keys{"runs"});
  const Truth model = sizes({"run.ranks=8", "mesh.gpus_per_model=3"}, "model", "models").truth();
  CHECK(model.accepted == Keys{"model"});
  CHECK_THAT(model.figures.at("error"), says("models"));
  CHECK_THAT(error_of([] {
               sizes({"run.ranks=8", "mesh.gpus_per_model=3"}, "runs", "").truth();
             }),
             says("these settings give"));
  CHECK_THAT(error_of([] {
               sizes({"run.ranks=8", "mesh.gpus_per_model=4"}, "model", "models").truth();
             }),
             says("these settings give \"none\""));
  CHECK_THAT(refused(sizes({}, "runs", "").choice("runs", "it runs")), says("no choice has the key"));
}

TEST_CASE("of the ways that fit the fastest is right, and none where none fits") {
  const auto ways = [](const std::string& gib) {
    return AskedRule("fits_fastest", {{"preset", {"base"}},
                                      {"ranks", {"4"}},
                                      {"gib", {gib}},
                                      {"set", {"train.global_batch=16", "amp.mode=bf16"}},
                                      {"ways", {"dp mesh.tp=1", "tp mesh.tp=4"}}})
        .of_lesson("17_groups")
        .choice("dp", "samples")
        .choice("tp", "layers");
  };
  const Truth truth = ways("40").truth();
  CHECK(truth.accepted == Keys{"dp"});
  CHECK(std::stod(truth.figures.at("rate_dp")) > std::stod(truth.figures.at("rate_tp")));
  CHECK(truth.figures.at("value") == "samples");
  CHECK(truth.figures.at("fits") == "dp, tp");
  const Truth none = ways("0.5").truth();
  CHECK(none.accepted == Keys{"no"});
  CHECK(none.figures.at("rate_dp") == "it does not fit");
  CHECK_THAT(refused(ways("40").choice("pp", "depth")), says("never accepts"));
}

TEST_CASE("two figures go down, up or nowhere, each by itself") {
  MadeRuns runs;
  const auto base =
      runs.add("base", {.keys = {{"a", "1"}}, .more = {{"read_bytes", 1'000'000}}, .persistence = 0.5});
  const auto more =
      runs.add("more", {.keys = {{"a", "2"}}, .more = {{"read_bytes", 2'000'000}}, .persistence = 0.5});
  const auto asked = [&](const std::vector<std::string>& of) {
    return AskedRule("both_directions", {{"base", {"base"}}, {"other", {"more"}}, {"of", of}})
        .run("base", base)
        .run("more", more)
        .choice("up_same", "more bytes");
  };
  const Truth truth = asked({"read_mb_per_step", "skipped"}).truth();
  CHECK(truth.accepted == Keys{"up_same"});
  CHECK(truth.figures.at("base_read_mb_per_step") == "1");
  CHECK(truth.figures.at("value") == "more bytes");
  CHECK_THAT(asked({"read_mb_per_step", "crps"}).cannot("base"), says("reports no crps"));
  CHECK_THAT(refused(asked({"read_mb_per_step"})), says("two figures"));
  CHECK_THAT(refused(asked({"step_us", "skipped"})), says("no figure that runs count"));
}

TEST_CASE("lessons draw their choices without settings") {
  const PanelSettings sets = {"run.ranks=16", "mesh.tp=2", "mesh.cp=2", "train.global_batch=16"};
  const std::vector<Drawing> panels = choice_panels("17_groups", {sets, sets});
  REQUIRE(panels.size() == 2);
  REQUIRE(panels.front().body);
  for (const std::string& line :
       drawing_lines(panels.front(), {.glyphs = TextStyle::Glyphs::ascii, .columns = 60})) {
    CHECK(line.size() <= 60);
    CHECK(line.find("mesh.") == std::string::npos);
  }
}

}  // namespace isobar::test_rules_groups
