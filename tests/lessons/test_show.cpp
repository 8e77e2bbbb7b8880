// What readers say of a run: the launcher's show and runs.
#include <algorithm>

#include "lessons/resumed_run.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_show {

namespace {

ProcessResult cli(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  std::vector<std::string> all = words;
  all.insert(all.begin(), bin_folder(ISOBAR_BIN) + "/isobar-cli");
  return run_process(all, {.folder = folder.string()});
}

/// The lines from `done` on: what a run says of itself at its end. Where rates of this machine are kept, show
/// says a line more, of the formulas.
std::string summary_of(const std::string& output) {
  const std::size_t begin = output.find("  steps  ");
  const std::size_t end = std::min(output.find("  by formula  ", begin), output.find("  run  ", begin));
  return begin == std::string::npos ? "no summary" : output.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("show says of a run what the run said of itself") {
  const TempFolder folder;
  const ProcessResult run = train(folder / "runs/one", with(coarse(), {"train.steps=30"}));
  REQUIRE(run.code == 0);
  const ProcessResult shown = cli({"show", "one"}, folder.path());
  CHECK(shown.code == 0);
  CHECK(summary_of(shown.out) == summary_of(run.out));
  CHECK_THAT(shown.out, says("one  done") && says("preset cpu_micro") && says("after"));
  const Json parsed = Json::parse(cli({"show", "last", "--json"}, folder.path()).out);
  CHECK(parsed["state"] == "done");
  CHECK(parsed["steps"] == 30);
  CHECK(cli({"show", "last", "--follow"}, folder.path()).out == shown.out);  // it is over: nothing to follow
}

TEST_CASE("show says what the run said, also where the file system was slow at its end") {
  const TempFolder folder;
  const std::filesystem::path path = folder / "runs/one";
  const ProcessResult run =
      train(path, with(coarse(), {"train.steps=3", "run.fault=slow_stage", "run.fault_ms=30"}),
            {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_STILL=1",
                             "SHIM_UNDER=" + path.string(), "SHIM_ONLY=write", "SHIM_COST_MS=7000"}});
  REQUIRE(run.code == 0);
  const std::string summary = summary_of(run.out);
  CHECK_THAT(summary, says("3 of 3"));
  CHECK(summary_of(cli({"show", "one"}, folder.path()).out) == summary);
}

TEST_CASE("a run that was killed is said to have died") {
  const TempFolder folder;
  const ProcessResult killed = train(folder / "runs/one", with(coarse(), {"train.steps=1000000"}),
                                     {.signal = 9, .interrupt_when = when_steps(folder / "runs/one", 12)});
  CHECK(killed.code == 137);
  const ProcessResult shown = cli({"show", "one", "--follow"}, folder.path());
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, says("one  died: its stream has no end") && says("samples/s"));
  CHECK_THAT(cli({"runs"}, folder.path()).out, says("died") && says("1 run,"));
}

TEST_CASE("runs are listed, get notes, and are deleted by name only") {
  const TempFolder folder;
  CHECK_THAT(cli({"runs"}, folder.path()).out, says("no run is here yet"));
  REQUIRE(train(folder / "runs/one", with(coarse(), {"train.steps=2", "run.fault=no_shuffle"})).code == 0);
  CHECK(cli({"runs", "note", "one", "the first"}, folder.path()).code == 0);
  CHECK_THAT(cli({"runs"}, folder.path()).out,
             says("one") && says("[fault no_shuffle] the first") && says("2/2"));
  CHECK(cli({"runs", "delete", "on"}, folder.path()).code == 2);
  CHECK(cli({"runs", "delete", "."}, folder.path()).code ==
        2);  // a folder that holds no run is never touched
  CHECK(cli({"runs", "delte", "one"}, folder.path()).code == 2);
  for (const char* name : {"", "-x", "..", "a/b", "a b", "../one"}) {
    CHECK(cli({"runs", "name", "one", name}, folder.path()).code == 2);
  }
  CHECK(cli({"runs", "name", "one", "first-try.2"}, folder.path()).code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "runs/one"));
  CHECK_THAT(cli({"show", "first-try.2"}, folder.path()).out, says("done"));
  REQUIRE(train(folder / "runs/one", with(coarse(), {"train.steps=2"})).code == 0);
  CHECK(cli({"runs", "name", "one", "first-try.2"}, folder.path()).code == 2);  // taken
  CHECK(cli({"runs", "delete", "first-try.2"}, folder.path()).code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "runs/first-try.2"));
  CHECK(std::filesystem::exists(folder / "runs/one"));
}

TEST_CASE("deleting a run takes all that it wrote, and nothing that its user put beside it") {
  const TempFolder folder;
  const std::vector<std::string> sets =
      with(coarse(), {"train.steps=4", "train.checkpoint_every=2", "schedule.kind=constant"});
  for (const char* const name : {"plain", "noted"}) {
    REQUIRE(train(folder / "runs" / name, sets).code == 0);
    REQUIRE(resume(folder / "runs" / name, {"train.steps=6"}).code == 0);
    REQUIRE(cli({"runs", "note", name, "a thought"}, folder.path()).code == 0);
  }
  CHECK_THAT(cli({"runs", "delete", "plain"}, folder.path()).out,
             says("deleted runs/plain") && !says("kept"));
  CHECK_FALSE(std::filesystem::exists(folder / "runs/plain"));
  write_file_whole(folder / "runs/noted/notes.txt", std::string_view("thesis"));
  CHECK_THAT(cli({"runs", "delete", "noted", "--yes"}, folder.path()).out,
             says("deleted runs/noted") && says("no run wrote notes.txt: kept"));
  CHECK(read_text_file(folder / "runs/noted/notes.txt", 100) == "thesis");
  CHECK_FALSE(std::filesystem::exists(folder / "runs/noted/run.toml"));
  REQUIRE(train(folder / "elsewhere", sets).code == 0);
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "runs/link");
  CHECK_THAT(cli({"runs", "delete", "link"}, folder.path()).out,
             says("the link runs/link (the run stays at"));
  CHECK(std::filesystem::exists(folder / "elsewhere/run.toml"));
}

}  // namespace isobar::test_show
