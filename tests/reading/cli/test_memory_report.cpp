// show --memory and compare --memory, as processes.
#include "cli/programs.h"
#include "core/json.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/made_memory.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/says.h"

namespace isobar::test_memory_report {

namespace fs = std::filesystem;

namespace {

/// What a run announces of its memory.
std::string announced() {
  return JsonLine("note")
      .add("text", "memory")
      .add("weights_bytes", 2'000'000)
      .add("gradients_bytes", 2'000'000)
      .add("moments_bytes", 4'000'000)
      .add("activations_bytes", 11'400'000)
      .add("working_bytes", 2'500'000)
      .add("batches_bytes", 500'000)
      .add("program_bytes", 69'000'000)
      .add("predicted_bytes", 91'400'000)
      .text();
}

struct Shown {
  Shown() {
    kept = runs.add("kept", {.notes = announced()});
    write_memory(kept, made_memory());
    redone = runs.add("redone", {});
    write_memory(redone, made_memory({.kept = 400'000, .block_us = 1300}));
    without = runs.add("without", {});
  }
  ProcessResult run(const std::vector<std::string>& words) const { return programs.run(words); }
  std::string refused(const std::vector<std::string>& words) const {
    const ProcessResult result = programs.run(words);
    CHECK(result.code == 2);
    return result.err;
  }

  Programs programs;
  MadeRuns runs;
  fs::path kept, redone, without;
};

}  // namespace

TEST_CASE("show --memory prints a picture, the peak beside its prediction, and what lived then") {
  const Shown shown;
  const ProcessResult text = shown.run({"show", shown.kept.string(), "--memory"});
  REQUIRE(text.code == 0);
  for (const char* const words : {"forward", "backward", "peak 22.5 MB in backward, in blocks.3",
                                  "at the peak", "activations", "12.0 MB", "11.4 MB", "-5.0 %", "all tensors",
                                  "program", "blocks.0 to blocks.3 3.00 MB each", "blocks.0.mlp", "before"})
    CHECK_THAT(text.out, says(words));
  const Json json = Json::parse(shown.run({"show", shown.kept.string(), "--memory", "--json"}).out);
  CHECK(json["peak_bytes"].as_integer() == 22'500'000);
  CHECK(json["peak_owner"].as_text() == "activations");
  CHECK(json["program_bytes"].as_integer() == 70'000'000);
  CHECK(json["moments"].values().size() == made_memory().moments.size());
  CHECK(json["categories"][3]["category"].as_text() == "activations");
  CHECK(json["categories"][3]["planned_bytes"].as_integer() == 11'400'000);
  CHECK(json["tensors"][0]["module"].as_text() == "blocks.0.mlp");
  CHECK_FALSE(json.contains("svg"));
}

TEST_CASE("the memory of a run that announced none stands without a prediction") {
  const Shown shown;
  const ProcessResult text = shown.run({"show", shown.redone.string(), "--memory"});
  REQUIRE(text.code == 0);
  CHECK_THAT(text.out, says("peak 14.7 MB") && !says("predicted"));
}

TEST_CASE("compare --memory puts the steps of runs side by side") {
  const Shown shown;
  const std::vector<std::string> words = {"compare", shown.kept.string(), shown.redone.string(), "--memory"};
  const ProcessResult text = shown.run(words);
  REQUIRE(text.code == 0);
  for (const char* const part : {"kept: 22.5 MB in backward", "redone: 14.7 MB in backward", "-65.0 %",
                                 "all tensors", "the step took"})
    CHECK_THAT(text.out, says(part));
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const Json json = Json::parse(shown.run(as_json).out);
  CHECK(json["runs"].values().size() == 2);
  CHECK(json["runs"][1]["run"].as_text() == "redone");
  CHECK(json["runs"][1]["peak_bytes"].as_integer() == 14'700'000);
  const std::string file = (shown.runs.path() / "both.svg").string();
  std::vector<std::string> drawn = words;
  drawn.insert(drawn.end(), {"--svg", file});
  REQUIRE(shown.run(drawn).code == 0);
  const std::string svg = read_text_file(file, 1 << 20);
  CHECK_THAT(svg, says("<svg") && says("redone") && says("kept"));
}

TEST_CASE("a file of memory that cannot be used is refused by its name") {
  const Shown shown;
  CHECK_THAT(shown.refused({"show", shown.without.string(), "--memory"}),
             says("no memory timeline") && says("memory-0000.jsonl"));
  CHECK_THAT(shown.refused({"compare", shown.kept.string(), shown.without.string(), "--memory"}),
             says("memory-0000.jsonl"));
  const fs::path file = shown.kept / "memory-0000.jsonl";
  std::string text = read_text_file(file, 1 << 20);
  text.replace(text.find("\"at_us\":400"), 11, "\"at_us\":-40");
  write_file_whole(file, std::string_view(text));
  CHECK_THAT(shown.refused({"show", shown.kept.string(), "--memory"}), says("line 8") && says("-40"));
}

TEST_CASE("show --memory and compare --memory refuse what does not go with them") {
  const Shown shown;
  const std::string run = shown.kept.string();
  for (const std::string other : {"--timeline", "--types", "--gradients", "--picture", "--follow"})
    CHECK(shown.run({"show", run, "--memory", other}).code == 2);
  CHECK_THAT(shown.refused({"show", run, "--svg", "a.svg"}), says("--memory"));
  CHECK_THAT(shown.refused({"show", run, "--memory", "--svg", "a.png"}), says(".svg file"));
  CHECK_THAT(shown.refused({"show", run, "--memory", "--rank", "1"}), says("no rank 1"));
  CHECK_THAT(shown.refused({"compare", run, run, "--svg", "a.svg"}), says("--memory"));
  write_file_whole(shown.runs.path() / "mine.svg", std::string_view("a letter\n"));
  CHECK_THAT(shown.refused({"show", run, "--memory", "--svg", (shown.runs.path() / "mine.svg").string()}),
             says("--replace"));
}

TEST_CASE("ranks have files of their own, and plans of their own") {
  const Shown shown;
  const fs::path run = shown.runs.path() / "two";
  fs::create_directory(run);
  const auto planned = [](int rank) {
    return JsonLine("note")
        .add("text", "memory")
        .add("weights_bytes", rank == 0 ? 7'000'000 : 1'500'000)
        .text();
  };
  MadeRanks{.notes = planned}.write(run);
  MemoryTimeline one = made_memory({.blocks = 2});
  one.rank = 1;
  write_memory(run, one);
  CHECK_THAT(shown.refused({"show", run.string(), "--memory"}), says("memory-0000.jsonl"));
  const ProcessResult text = shown.run({"show", run.string(), "--memory", "--rank", "1"});
  REQUIRE(text.code == 0);
  CHECK_THAT(text.out, says("rank 1") && says("1.50 MB") && !says("7.00 MB"));
}

}  // namespace isobar::test_memory_report
