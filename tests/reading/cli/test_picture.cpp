// ./isobar show RUN --picture.
#include "cli/programs.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/made_pipeline.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;

TEST_CASE(
    "show --picture draws into the run's folder, or into a file that is named before or after the run") {
  const Programs programs;
  MadeRuns runs;
  const std::string run = runs.add("a", {}).string();
  const ProcessResult first = programs.run({"show", "--picture", run});
  CHECK(first.code == 0);
  CHECK_THAT(first.out, says("drawn: " + run + "/picture.svg"));
  const std::string svg = read_text_file(run + "/picture.svg", 1 << 20);
  CHECK_THAT(svg, says("<title>A step of this run") && says("measured here: 01_baseline"));
  const std::string file = (runs.path() / "p.svg").string();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"show", "--picture", file, run}, {"show", run, "--picture", file}}) {
    CHECK(programs.run(words).code == 0);  // the second time over the first picture
    CHECK(read_text_file(file, 1 << 20) == svg);
  }
}

TEST_CASE("what show writes into a named file goes over nothing else") {
  const Programs programs;
  MadeRuns runs;
  const std::string run = runs.add("a", {}).string();
  for (const std::string option : {"--picture", "--curve"}) {
    INFO(option);
    const std::string file = (runs.path() / "logo.svg").string();
    write_file_whole(file, std::string_view("theirs"));
    const ProcessResult refused = programs.run({"show", run, option, file});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, says("the file is there, and is no ") && says(option) && says("--replace"));
    CHECK(read_text_file(file, 100) == "theirs");
    CHECK(programs.run({"show", run, option, file, "--replace"}).code == 0);
    CHECK(read_text_file(file, 1 << 20) != "theirs");
    CHECK(programs.run({"show", run, option, file}).code == 0);  // one of ours
  }
}

TEST_CASE("show --picture says what is wrong with a run or with its words") {
  const Programs programs;
  MadeRuns runs;
  const std::string run = runs.add("a", {.steps = 0}).string();
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    const ProcessResult result = programs.run(words);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says(why));
  };
  refused({"show", run, "--picture"}, "no stages of steady steps");
  CHECK_FALSE(std::filesystem::exists(run + "/picture.svg"));
  refused({"show", run, "--picture", "p.png"}, "a second word is the .svg file");
  refused({"show", run, "p.svg"}, "a second word is the .svg file");
  refused({"show", run, "--picture", "--json"}, "--picture goes with --recorded alone");
  refused({"show", "08_cuda_graphs", "--recorded", "--picture"}, "needs a file");
  refused({"show", "--picture", "p.svg"}, "which run?");
}

TEST_CASE("show --timeline draws the pipeline of a run, or prints why it cannot and continues") {
  const Programs programs;
  const TempFolder folder;
  const MadePipeline made{.ranks = 2, .steps = 12};
  made.write(folder.path());
  const std::string run = folder.path().string();
  const ProcessResult whole = programs.run({"show", run, "--timeline"});
  CHECK(whole.code == 0);
  CHECK_THAT(whole.out, says("1f1b, 2 ranks, 2 stages") && says("by formula") && says("rank 0 of 2"));
  std::filesystem::remove(RunFolder{folder.path()}.spans_file(0));
  CHECK_THAT(programs.run({"show", run, "--timeline", "--rank", "1"}).out,
             says("rank 0 has no spans") && says("rank 1 of 2") && !says("by formula"));
  made.write(folder.path());
  MadeSpans cut;
  cut.attempt(0).span(0, "pipeline", "1F0", 100'000, 1000);
  write_file_whole(RunFolder{folder.path()}.spans_file(1), std::string_view(cut.text()));
  const ProcessResult later = programs.run({"show", run, "--timeline", "--step", "7"});
  CHECK(later.code == 0);
  CHECK_THAT(later.out, says("no picture of the pipeline: step 7 was not traced by all ranks") &&
                            says("forward") && !says("micro-batches"));
}
