// One-off sweeps through the launcher, with a lesson whose steps grow by known amounts.
#include <sstream>

#include "cli/programs.h"
#include "core/json.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_one_off {

namespace fs = std::filesystem;

namespace {

/// A step of 1000 us; fusion.adam=false adds 500, fusion.qkv=false 1 and bias_gelu=false 100. The watched
/// step says launches.
const LeavesRun kLesson = {
    .arguments =
        "fusion.adam=false) t=$((t + 500)) l=$((l + 10)) b=$((b + 1500000)) ;; "
        "fusion.qkv=false) t=$((t + 1)) ;; fusion.bias_gelu=false) t=$((t + 100)) l=$((l + 2)) ;;",
    .run = R"("lesson":"05_x","device":"cpu","measure":"full")",
    .each = R"(w=; [ $n != 2 ] || w=',"launches":'$l',"moved_bytes":'$b)",
    .step = R"("t_us":'$((n * t))',"samples":4,"step_us":'$t$w')"};

class World {
 public:
  World() {
    fs::create_directories(home() / "lessons/05_x");
    fs::copy(project_home() / "lessons/base.toml", home() / "lessons/base.toml");
    fs::create_directories(home() / "lessons/presets");
    write_file_whole(home() / "lessons/presets/small.toml", std::string_view("[train]\nglobal_batch = 4\n"));
    write_file_whole(
        home() / "lessons/05_x/lesson.toml",
        std::string_view("title = \"t\"\nintroduces = [\"fusion.adam\", \"fusion.qkv\", "
                         "\"fusion.bias_gelu\", \"run.measure\", \"run.group\", \"run.point\", "
                         "\"run.repeat\", \"train.steps\", \"train.global_batch\", \"data.root\"]\n"
                         "[presets]\ncpu = \"small\"\ncuda = \"small\"\n"));
    programs_.script(
        "05_x", "echo \"$*\" >>\"" + calls().string() + "\"\nt=1000 l=100 b=5000000\n" + kLesson.script());
    fs::create_directories(work());
  }
  ProcessResult sweep(std::vector<std::string> words) const {
    words.insert(words.begin(), {"sweep", "05_x", "--set", "data.root=x", "--steps", "4", "--one-off"});
    return programs_.run(words,
                         {.environment = {"ISOBAR_HOME=" + home().string()}, .folder = work().string()});
  }
  fs::path home() const { return programs_.folder() / "home"; }
  fs::path work() const { return programs_.folder() / "work"; }
  fs::path calls() const { return programs_.folder() / "calls"; }

 private:
  Programs programs_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "no line with " + part;
}

}  // namespace

TEST_CASE("a one-off sweep runs the base, each other value alone, and all of them together") {
  const World world;
  const ProcessResult result =
      world.sweep({"fusion.adam=true,false", "fusion.qkv=true,false", "--repeats", "3"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const std::vector<std::string> calls = lines_of(read_text_file(world.calls(), 100'000));
  REQUIRE(calls.size() == 12);  // base, two alone, all; in turn, three times
  CHECK_THAT(calls[0], says("fusion.adam=true --set fusion.qkv=true ") && says("run.point=base "));
  CHECK_THAT(calls[1],
             says("fusion.adam=false --set fusion.qkv=true ") && says("run.point=fusion.adam=false "));
  CHECK_THAT(calls[2], says("fusion.adam=true --set fusion.qkv=false "));
  CHECK_THAT(calls[3],
             says("fusion.adam=false --set fusion.qkv=false ") && says("run.point=all second values "));
  CHECK_THAT(calls[4], says("run.point=base ") && says("run.repeat=1"));
  CHECK_THAT(line_with(result.out, "launches"), says("moved MB"));
  CHECK_THAT(line_with(result.out, "  base  "), says("4000") && says("base") && says("100") && says("5.0"));
  CHECK_THAT(line_with(result.out, "fusion.adam=false  "), says("2667") && says("x0.67 ±0.00") &&
                                                               says("slower") && says("110 (+10)") &&
                                                               says("6.5 (+1.5)"));
  CHECK_THAT(line_with(result.out, "fusion.qkv=false  "), says("same") && says("100 (+0)"));
  CHECK_THAT(result.out, says("base: fusion.adam=true fusion.qkv=true"));
}

TEST_CASE("a section stands for its switches, and JSON says the same") {
  const World world;
  const ProcessResult result = world.sweep({"fusion", "--repeats", "3", "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const Json json = Json::parse(result.out);
  CHECK(json["one_off"] == true);
  REQUIRE(json["points"].values().size() == 5);
  CHECK(json["points"][0]["keys"] ==
        Json{{"fusion.adam", "true"}, {"fusion.bias_gelu", "true"}, {"fusion.qkv", "true"}});
  CHECK(json["points"][0]["ratio"] == 1.0);
  CHECK(json["points"][1]["ratio"].as_number() == Approx(2.0 / 3));
  CHECK(json["points"][1]["same_as_base"] == false);
  CHECK(json["points"][1]["launches"] == 110);
  CHECK(json["points"][2]["point"] == "fusion.bias_gelu=false");
  CHECK(json["points"][3]["same_as_base"] == true);  // 0.1 %
  CHECK(json["points"][4]["point"] == "all second values");
  CHECK(json["points"][4]["moved_bytes"] == 6'500'000);
  // One key alone: its second value is all second values.
  const ProcessResult one = world.sweep({"train.global_batch=4,2,8", "--repeats", "1", "--json"});
  CHECK(Json::parse(one.out)["points"].values().size() == 3);
  CHECK(Json::parse(one.out)["points"][1]["direction"] == "unknown");  // of single runs
  CHECK_FALSE(Json::parse(one.out)["points"][1].contains("ratio"));
}

TEST_CASE("a point that fails leaves the others, and a base that fails leaves no ratio") {
  const World world;
  const fs::path program = world.home().parent_path() / "05_x";
  const std::string all = read_text_file(program, 100'000);
  write_file_whole(program,
                   std::string_view("#!/bin/sh\ncase \"$*\" in *run.point=base*) echo 'error: no base' >&2; "
                                    "exit 1 ;; esac\n" +
                                    all));
  fs::permissions(program, fs::perms::owner_all);
  const ProcessResult result = world.sweep({"fusion.adam=true,false", "--repeats", "1"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("base failed"));
  CHECK_THAT(line_with(result.out, "  fusion.adam=false  "), says("2667"));
  CHECK_THAT(result.out, !says("of base"));
}

}  // namespace isobar::test_one_off
