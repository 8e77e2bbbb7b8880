// Rules that need no run: formulas, published figures, lines of a page.
#include "asked_rule.h"
#include "core/error.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

AskedRule formula(const std::string& name, With with, const std::string& unit = "") {
  with["name"] = {name};
  return AskedRule("formula", std::move(with), unit);
}

double value_of(const std::string& name, const With& with, const std::string& unit) {
  const Truth truth = formula(name, with, unit).of_lesson("06_ddp").truth();
  CHECK(truth.source == "by formula");
  return truth.number;
}

AskedRule published(const std::string& above, const std::string& below, const std::string& year) {
  return AskedRule("published", {{"above", {above}}, {"below", {below}}, {"year", {year}}}, "x");
}

}  // namespace

TEST_CASE("formulas give what the course's own figures are") {
  CHECK(value_of("gpus_for_mesh", {{"tp", {"4"}}, {"global", {"64"}}, {"local", {"16"}}}, "GPUs") == 16);
  CHECK(value_of("gpus_for_mesh", {{"tp", {"4"}}, {"dp", {"4"}}}, "GPUs") == 16);
  CHECK(value_of("compile_pays", {{"compile_s", {"46"}}, {"saved_s", {"1.4"}}, {"every", {"32"}}}, "steps") ==
        Approx(1051).epsilon(0.001));
  CHECK(value_of("upload_ms", {{"preset", {"short"}}, {"gb_per_s", {"25"}}}, "ms") ==
        Approx(26.5).epsilon(0.01));
  CHECK(value_of("data_rate", {{"preset", {"short"}}, {"samples_per_s", {"10"}}}, "MB/s") == Approx(414.72));
  CHECK(value_of("data_rate", {{"preset", {"short"}}, {"samples_per_s", {"10"}}}, "GB/s") == Approx(0.41472));
  CHECK(value_of("roofline_us",
                 {{"gflop", {"0.0995"}}, {"mb", {"398"}}, {"tflop_per_s", {"312"}}, {"gb_per_s", {"1555"}}},
                 "us") == Approx(398e6 / 1555e9 * 1e6));
  CHECK(value_of("roofline_us",
                 {{"gflop", {"312"}}, {"mb", {"1"}}, {"tflop_per_s", {"312"}}, {"gb_per_s", {"1555"}}},
                 "us") == Approx(1000));
}

TEST_CASE("a graph pays up to the batch at which kernels take longer than their launches") {
  const auto samples = [](const std::string& percent) {
    const With with = {{"preset", {"cpu_small"}},
                       {"device", {"H200"}},
                       {"lesson", {"08_cuda_graphs"}},
                       {"percent", {percent}}};
    return value_of("graph_pays", with, "samples");
  };
  CHECK(samples("5") >= 1);
  CHECK(samples("50") <= samples("5"));
  CHECK(samples("99.9") == 0);
}

TEST_CASE("a group of a mesh is the ranks that differ along its axis") {
  const auto group = [](const std::string& order, const std::string& axis, const std::string& rank = "5") {
    return formula("mesh_group",
                   {{"ranks", {"8"}}, {"tp", {"4"}}, {"order", {order}}, {"rank", {rank}}, {"axis", {axis}}})
        .kind(AnswerKind::choice);
  };
  CHECK(group("tp-cp-pp-dp", "dp").accepted() == Keys{"1,5"});
  CHECK(group("tp-cp-pp-dp", "tp").accepted() == Keys{"4,5,6,7"});
  CHECK(group("dp-tp", "tp").accepted() == Keys{"1,3,5,7"});
  CHECK(group("dp-tp", "tp").truth().figures.at("value") == "1, 3, 5, 7");
  CHECK_THAT(error_of([&] { group("tp-dp", "tp", "8").truth(); }),
             says("rank 8 of 8 with models of 4 ranks is none"));
  const auto groups = [](const std::string& axis, const std::string& tp = "1") {
    return formula("mesh_group", {{"ranks", {"8"}},
                                  {"tp", {tp}},
                                  {"cp", {"2"}},
                                  {"ens", {"2"}},
                                  {"read", {"2"}},
                                  {"rank", {"5"}},
                                  {"axis", {axis}}})
        .kind(AnswerKind::choice);
  };
  CHECK(groups("ens").accepted() == Keys{"5,7"});
  CHECK(groups("data").accepted() == Keys{"1,5"});
  CHECK(groups("tp-cp-pp-ens").accepted() == Keys{"4,5,6,7"});
  CHECK(groups("read").accepted() == Keys{"4,5"});
  CHECK_THAT(error_of([&] { groups("ens", "3").truth(); }), says("models of 6 ranks is none"));
}

TEST_CASE("what is fixed is one of the choices") {
  CHECK(AskedRule("fixed", {{"key", {"norms"}}}).choice("norms", "the norms").accepted() == Keys{"norms"});
  CHECK_THAT(error_of([] {
               AskedRule("fixed", {{"key", {"norm"}}}).choice("norms", "the norms").truth();
             }),
             says("the key \"norm\" is none of the choices"));
}

TEST_CASE("memory fits or does not, and the peak is the plan's") {
  const auto fits = [](const std::string& gib) {
    return formula("memory_fits", {{"preset", {"mp"}}, {"gib", {gib}}, {"set", {"train.global_batch=16"}}})
        .kind(AnswerKind::choice)
        .of_lesson("07_tensor_parallel");
  };
  const double peak = formula("peak_gib", {{"preset", {"mp"}}, {"set", {"train.global_batch=16"}}}, "GiB")
                          .of_lesson("07_tensor_parallel")
                          .truth()
                          .number;
  CHECK(peak > 20);
  CHECK(fits(std::to_string(peak + 1)).accepted() == Keys{"yes"});
  CHECK(fits(std::to_string(peak - 1)).accepted() == Keys{"no"});
  CHECK(fits("40").truth().figures.at("gib") == "40");
  const double split =
      formula("peak_gib",
              {{"preset", {"mp"}}, {"set", {"train.global_batch=16", "run.ranks=4", "mesh.tp=4"}}}, "GiB")
          .of_lesson("07_tensor_parallel")
          .truth()
          .number;
  CHECK(split < peak / 1.5);
}

TEST_CASE("a formula that is asked wrongly says what it wants") {
  CHECK_THAT(error_of([] { formula("roofline_s", {}, "us").truth(); }),
             says("no formula \"roofline_s\"") && says("did you mean roofline_us?"));
  CHECK_THAT(error_of([] {
               formula("compile_pays", {{"compile_s", {"46"}}}, "steps").truth();
             }),
             says("the formula compile_pays needs saved_s"));
  CHECK_THAT(error_of([] {
               formula("gpus_for_mesh", {{"tp", {"four"}}, {"dp", {"1"}}}, "GPUs").truth();
             }),
             says("wants a number for tp") && says("\"four\""));
  CHECK_THAT(error_of([] {
               formula("memory_fits", {{"preset", {"mp"}}, {"gib", {"40"}}}, "GiB").truth();
             }),
             says("is no number"));
  CHECK_THAT(error_of([] { formula("peak_gib", {{"preset", {"huge"}}}, "GiB").truth(); }), says("huge"));
  CHECK_THAT(error_of([] {
               formula("upload_ms", {{"preset", {"short"}}, {"gb_per_s", {"25"}}}, "GiB").truth();
             }),
             says("the rule formula does not give GiB") && says("it gives a time"));
}

TEST_CASE("a ratio of published figures says where and when they were recorded") {
  const Truth truth = published("dali", "fp32", "2023").truth();
  CHECK(truth.number == Approx(13.285 / 10.11));
  CHECK(truth.low == Approx(13.28 / 10.11));
  CHECK(truth.high == Approx(13.29 / 10.11));
  CHECK(truth.figures.at("above") == "13.3");
  CHECK(truth.figures.at("below") == "10.1");
  CHECK(truth.figures.at("ratio") == "1.31");
  CHECK(truth.source == "recorded on A100-40GB, 2023");
  CHECK(published("mp_tp4", "mp_tp1", "2023").truth().source == "recorded on A100-40GB and A100-80GB, 2023");
  CHECK_THAT(error_of([] { published("dali", "fp32", "2025").truth(); }),
             says("nothing was published of \"fp32\" in 2025") && says("years of this row: 2023, 2024"));
  CHECK_THAT(error_of([] { published("dalli", "fp32", "2023").truth(); }), says("did you mean dali?"));
}

TEST_CASE("lines of a page are those that hold an anchor, to the line that ends it") {
  const TempFolder home;
  std::filesystem::create_directories(home / "lessons/01_baseline");
  const auto write = [&](std::string_view text) {
    write_file_whole(home / "lessons/01_baseline/main.cpp", text);
  };
  write("int main() {\n  for (;;) {\n    step();\n  }\n  for (;;) stop();\n}\n");
  const auto line = [&](const With& with) { return AskedRule("line", with).at_home(home.path()); };
  CHECK(line({{"anchors", {"step()"}}}).accepted() == Keys{"3"});
  CHECK(line({{"anchors", {"for (;;)"}}}).accepted() == Keys{"2", "5"});
  CHECK(line({{"anchors", {"for (;;) {", "stop"}}, {"ends", {"}"}}}).accepted() == Keys{"2-4", "5"});
  CHECK(line({{"anchors", {"step()"}}}).truth().figures.at("line") == "3");
  CHECK(line({{"anchors", {"step()"}}}).truth().figures.at("code") == "step();");
  CHECK(line({{"anchors", {"step()"}}}).truth().source == "lessons/01_baseline/main.cpp");
  CHECK(line({{"anchors", {"train()"}}}).cannot() ==
        "lessons/01_baseline/main.cpp has no line with `train()`: was it changed?");
  CHECK_THAT(line({{"anchors", {"stop"}}, {"ends", {"step"}}}).cannot(),
             says("no line with `step` below line 5"));
  CHECK_THAT(line({{"anchors", {"x"}}}).of_lesson("09_none").cannot(),
             says("lessons/09_none/main.cpp cannot be read"));
  CHECK_THAT(error_of([&] {
               line({{"anchors", {"step"}}, {"ends", {"a", "b"}}}).truth();
             }),
             says("more ends than anchors"));
  CHECK(AskedRule("line", {{"anchors", {"main("}}}).accepted().size() == 1);
}

TEST_CASE("the largest class of a predicted step is told with its share") {
  const auto largest = [](const std::string& device, const std::string& set) {
    return AskedRule("largest_class", {{"device", {device}}, {"preset", {"short"}}, {"set", {set}}})
        .of_lesson("04_amp");
  };
  const Truth truth = largest("A100-40GB", "amp.mode=bf16").truth();
  CHECK(truth.accepted == Keys{"attention"});
  CHECK(truth.figures.at("largest") == "attention");
  CHECK(truth.figures.at("share") == "58");
  CHECK(truth.source == "predicted by model for A100-40GB");
  CHECK(largest("A100-40GB", "data.grid=[72, 144]").accepted() != Keys{"attention"});
  CHECK_THAT(error_of([&] { largest("A1000", "amp.mode=bf16").truth(); }), says("A100"));
}
