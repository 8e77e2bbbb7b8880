// The launcher as a process: what it refuses before anything starts, and that it hands arguments and exit
// codes over unchanged.
#include <unistd.h>

#include <set>

#include "cli/programs.h"
#include "config/option_parser.h"
#include "core/files.h"
#include "core/text.h"
#include "record/tfevents_writer.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("arguments reach the lesson unchanged, and no shell sees them") {
  const Programs programs;
  const std::string hostile = "data.root=a b;$(touch canary)`touch canary`'\"\n";
  const ProcessResult result =
      programs.run({"run", "01_baseline", "--set", hostile, "--preset", "cpu_micro"});
  CHECK(result.code == 0);
  CHECK(result.out == "lesson <--set> <" + hostile + "> <--preset> <cpu_micro>");
  CHECK_FALSE(std::filesystem::exists(programs.folder() / "canary"));
  CHECK_FALSE(std::filesystem::exists("canary"));
}

TEST_CASE("--version prints the version, behind a command too") {
  const Programs programs;
  CHECK(programs.run({"--version"}).out == version_text() + "\n");
  CHECK(programs.run({"show", "--version"}).out == version_text() + "\n");
}

TEST_CASE("a lesson may be named by its number, or by how its name begins") {
  const Programs programs;
  for (const char* const typed : {"01", "1", "01_b", "baseline"}) {
    INFO(typed);
    CHECK(programs.run({"run", typed, "--set", "data.root=x"}).out == "lesson <--set> <data.root=x>");
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "77"},
                                             {"quartet", "77"},
                                             {"predict", "77"},
                                             {"show", "77", "--recorded"},
                                             {"ladder", "--lessons", "1,77"}}) {
    const ProcessResult result = programs.run(words);
    INFO(words.front());
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says("there is no lesson \"77\"") && says("lessons: 00_sgd, 01_baseline"));
  }
  CHECK_THAT(programs.run({"ladder", "--lessons", "1,01"}).err, says("01_baseline is there twice"));
  const ProcessResult alone = programs.run({"predict", "0"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, says("00_sgd does not train") && says("./isobar run 00_sgd"));
}

TEST_CASE("exit codes pass through") {
  const Programs programs(75);
  CHECK(programs.run({"run", "01_baseline", "--set", "data.root=x"}).code == 75);
  Programs failing;
  failing.script("make_fields", "exit 1");
  const ProcessResult result = failing.run({"run", "01_baseline"});
  CHECK(result.code == 1);
  CHECK(result.out.find("lesson") == std::string::npos);
}

TEST_CASE("missing embedded data is made first, data that is there is left alone") {
  const Programs programs;
  CHECK_THAT(programs.run({"run", "01_baseline", "--preset", "cpu_micro"}).out,
             says("make_fields <--grid> <48x96>lesson"));
  std::filesystem::create_directories(programs.folder() / "prefix/data/fields-48x96-v1");
  write_file_whole(programs.folder() / "prefix/data/fields-48x96-v1/dataset.toml", "");
  CHECK(programs.run({"run", "01_baseline", "--preset", "cpu_micro"}).out == "lesson <--preset> <cpu_micro>");
}

TEST_CASE("large data is not made unasked; the command that makes it is given") {
  const Programs programs;
  const ProcessResult result = programs.run({"run", "01_baseline", "--preset", "short"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err,
             says("360x720") && says("./isobar data make --grid 360x720 --samples 512") && says("14.6 GB"));
}

TEST_CASE("mistakes end with code 2 before any program starts") {
  const Programs programs;
  const auto refused = [&](const std::vector<std::string>& words) {
    const ProcessResult result = programs.run(words);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(refused({"rnu"}), says("rnu") && says("mean run?"));
  CHECK_THAT(refused({"run"}), says("which lesson?") && says("01_baseline"));
  CHECK_THAT(refused({"run", "01_basline"}), says("mean 01_baseline?"));
  CHECK_THAT(refused({"run", "01_baseline", "--set", "train.step=4"}), says("mean train.steps?"));
  CHECK_THAT(refused({"run", "01_baseline", "--presett", "x"}), says("mean --preset?"));
  CHECK_THAT(refused({"data", "mkae"}), says("data make"));
}

TEST_CASE("every command of ./isobar that is a program's has a page of its own") {
  const Programs programs;
  const std::string script = read_text_file(project_home() / "isobar", 100'000);
  const std::string begin = "\n  ./isobar ";
  std::set<std::string> pages, others;
  for (std::size_t at = script.find(begin); at != std::string::npos; at = script.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    const std::string name = script.substr(from, script.find_first_of(" \n", from) - from);
    const ProcessResult result = programs.run({name, "--help"});
    (result.code == 0 ? pages : others).insert(name);
    INFO(name);
    CHECK_THAT(result.code == 0 ? result.out : result.err,
               says(result.code == 0 ? "./isobar " + name : "unknown command"));
  }
  CHECK(pages.size() == 23);
  CHECK(others == std::set<std::string>{"bench", "bundle", "clean", "doctor", "first-gpu", "gui", "help",
                                        "setup", "test"});
}

TEST_CASE("a term is explained, as text and as JSON, and all are listed") {
  const Programs programs;
  const ProcessResult text = programs.run({"explain", "Peak", "memory"});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, says("peak memory\n  Most bytes at once") && says("\n  see: "));
  for (const std::string& line : split(text.out, '\n')) CHECK(line.size() <= 80);
  CHECK_THAT(programs.run({"explain", "--json", "mfu"}).out,
             says("{\"term\":\"MFU\",\"text\":\"Model FLOPs") && says("\"also\":[\"model FLOPs") &&
                 says("\"see\":[\"FLOP\""));
  CHECK_THAT(programs.run({"explain"}).out, says("  ACC ") && says(" worker") && says("explain WORD"));
  CHECK_THAT(programs.run({"explain", "--json"}).out, says("{\"terms\":[\"1F1B\",\"ablation\""));
  CHECK_THAT(programs.run({"explain", "ring", "latency"}).out,
             says("ring\n  An all-reduce") && says("latency\n  Time that"));
  CHECK_THAT(programs.run({"explain", "ring", "latency", "--json"}).out,
             says("[{\"term\":\"ring\"") && says("{\"term\":\"latency\""));
  const ProcessResult wrong = programs.run({"explain", "peak", "memry"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, says("did you mean peak memory?"));
  CHECK(wrong.out.empty());
}

TEST_CASE("a lesson that is not built is said with the command that builds it") {
  const Programs programs;
  std::filesystem::remove(programs.folder() / "01_baseline");
  const ProcessResult result = programs.run({"run", "01_baseline", "--set", "data.root=x"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("not built") && says("./isobar setup"));
}

TEST_CASE("names that no file can have, and links in a circle, are refused with a way out") {
  const Programs programs;
  const auto show = [&](const std::string& run) {
    const ProcessResult result = programs.run({"show", run}, {.folder = programs.folder().path().string()});
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK_THAT(show(std::string(256, 'x')), says("too long") && says("where:") && says("a shorter name"));
  fs::create_symlink("b", programs.folder() / "a");
  fs::create_symlink("a", programs.folder() / "b");
  CHECK_THAT(show((programs.folder() / "a").string()), says("where:") && says("circle"));
}

TEST_CASE("a tree of logs is listed and shown, whoever wrote them") {
  const Programs programs;
  const auto logs = programs.folder() / "tree/base/1GPU/00/logs";
  TfEventsWriter writer(logs, "host");
  for (int step = 0; step < 5; ++step) writer.scalar("Loss/train", 1.0 / (1 << step), step);
  const auto recorded = project_home() / "lessons/08_cuda_graphs/recorded/predicted-h200/cpu_tiny-graph";
  fs::create_directories(programs.folder() / "tree/exp");
  fs::copy(recorded, programs.folder() / "tree/exp/one", fs::copy_options::recursive);
  const ProcessResult listed = programs.run({"runs", (programs.folder() / "tree").string()});
  CHECK(listed.code == 0);
  CHECK_THAT(listed.out, says("base/1GPU/00/logs") && says("events") && says("exp/one") &&
                             says("1 run, 1 of event files"));
  const ProcessResult shown = programs.run({"show", logs.string()});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, says("event files of another program: 1") && says("Loss/train") && says("0.0625"));
  writer.image("map", "PNG", 1, 1, 4);
  CHECK_THAT(programs.run({"show", logs.string()}).out, says("1 image left out: "));
  const ProcessResult as_json = programs.run({"show", logs.string(), "--json"});
  CHECK(as_json.code == 0);
  CHECK_THAT(as_json.out, says(R"("values":5)") && says(R"("left_out":[{"count":1,"what":"image")"));
  CHECK_THAT(programs.run({"runs", (programs.folder() / "tree/base/1GPU/00").string()}).out,
             says("0 runs, 1 of event"));
  fs::create_directories(programs.folder() / "bare");
  CHECK_THAT(programs.run({"runs", (programs.folder() / "bare").string()}).out,
             says("no run is at any depth below"));
}

TEST_CASE("compare takes two runs or more, each once, and no event files") {
  const Programs programs;
  const fs::path recorded = project_home() / "lessons/08_cuda_graphs/recorded/predicted-h200";
  const std::string graph = (recorded / "cpu_tiny-graph").string();
  const std::string launched = (recorded / "cpu_tiny-launched").string();
  const auto compare = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"compare"};
    all.insert(all.end(), words.begin(), words.end());
    return programs.run(all);
  };
  const ProcessResult both = compare({graph, launched});
  CHECK(both.code == 0);
  CHECK_THAT(both.out, says("B - A") && says("keys that differ") && says("graph.enabled"));
  CHECK_THAT(both.out, says("predicted by a model, and nobody measured them"));
  CHECK_THAT(compare({graph, launched, "--json"}).out, says(R"("differences":[)"));
  const auto refused = [&](const std::vector<std::string>& words) {
    const ProcessResult result = compare(words);
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK_THAT(refused({}), says("which runs?"));
  CHECK_THAT(programs.run({"verdict"}).err, says("which run?"));
  CHECK_THAT(programs.run({"verdict", launched}).out, says("bound by") && says("predicted by model"));
  CHECK_THAT(refused({graph}), says("compares with nothing"));
  CHECK_THAT(refused({graph, graph + "/."}), says("named twice"));
  CHECK_THAT(refused({graph, launched + "x"}), says("cpu_tiny-launched"));
  TfEventsWriter(programs.folder() / "logs", "host").scalar("Loss/train", 1, 0);
  CHECK_THAT(refused({graph, (programs.folder() / "logs").string()}), says("event files"));
}

TEST_CASE("what cannot be printed is exit code 1, of every command") {
  const Programs programs;
  const std::string home = project_home().string();
  const fs::path recorded = project_home() / "lessons/08_cuda_graphs/recorded/predicted-h200/cpu_tiny-graph";
  fs::create_directories(programs.folder() / "runs");
  fs::copy(recorded, programs.folder() / "runs/one", fs::copy_options::recursive);
  fs::copy(recorded, programs.folder() / "runs/two", fs::copy_options::recursive);
  fs::create_directories(programs.folder() / "empty");
  const auto data = (programs.folder() / "d").string();
  REQUIRE(run_process({ISOBAR_MAKE_FIELDS, "--grid", "16x16", "--samples", "16", "--out", data}).code == 0);
  fs::copy(fs::path(ISOBAR_CLI).parent_path() / "isobar-h5", programs.folder() / "isobar-h5");
  const std::string cli = shell_quoted((programs.folder() / "isobar-cli").string());
  for (const char* const words :
       {"runs", "runs .", "data check d", "show one", "show one --json", "show one --types",
        "show 08_cuda_graphs --recorded", "compare one two", "verdict one", "predict 08_cuda_graphs",
        "predict 08_cuda_graphs --json", "ladder --list", "submit 01_baseline --dry-run",
        "sweep 01_baseline --help", "quartet 01_baseline --help", "ladder --help"}) {
    INFO(words);
    const auto into = [&](const std::string& end) {
      return run_process({"/bin/bash", "-c", "exec " + cli + " " + words + end},
                         {.folder = programs.folder().path().string()});
    };
    REQUIRE(into("").code == 0);
    for (const char* const end : {" > /dev/full", " >&-"}) {
      const ProcessResult lost = into(end);
      CHECK(lost.code == 1);
      CHECK_THAT(lost.err, says("not all of it could be printed") && says("standard output"));
    }
  }
}
