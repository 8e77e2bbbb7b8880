// ./isobar report and ./isobar import, as processes.

#include "cli/programs.h"
#include "config/toml_text.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/made_rates.h"
#include "support/made_runs.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostPage = 16U << 20;

/// With the floating-point operations that MFU needs, which the made streams do not tell, and memory.
std::string add_heavy(MadeRuns& runs, const std::string& name, MadeSteps made, double peak_bytes) {
  made.more["peak_bytes"] = peak_bytes;
  made.totals = {{"predicted_bytes", 2e9}, {"peak_bytes", peak_bytes}, {"peak_flops_per_s", 4e11}};
  const fs::path run = runs.add(name, made);
  std::string stream = stream_of(made);
  stream.insert(stream.find("\"wanted_steps\""), "\"flops_per_sample\":1e9,");
  write_file_whole(run / "rank-0000.jsonl", std::string_view(stream));
  return run.string();
}

/// An out.log of 60 epochs of 512 samples, as the tutorial writes it.
std::string long_log() {
  const auto at = [](int seconds) {
    return fmt::format("2026-01-05 {:02}:{:02}:{:02},000 - root - INFO - ", 10 + seconds / 3600,
                       seconds / 60 % 60, seconds % 60);
  };
  std::string out = at(0) + "global_batch_size 16\n" + at(0) + "Starting Training Loop...\n";
  for (int epoch = 1; epoch <= 60; ++epoch) {
    const std::string now = at(60 * epoch);
    out += now + fmt::format("Time taken for epoch {} is 51.2 sec, avg 10.0 samples/sec\n", epoch);
    out += now + fmt::format("  Avg train loss={:.4f}\n", 0.3 + 0.6 / epoch);
    out += now + fmt::format("  Avg val loss={:.4f}\n", 0.25 + 0.5 / epoch);
  }
  return out;
}

std::string logs() { return fs::absolute("tests/reading/imported/logs").string(); }

}  // namespace

TEST_CASE("report writes one page whose figures are those of show --json") {
  const Programs programs;
  MadeRuns runs;
  const std::string a = add_heavy(runs, "a", {}, 2.5e9);
  const std::string b =
      add_heavy(runs, "b", {.factor = 1.5, .keys = {{"data.workers", "4"}}}, 3.5e9);  // no repeat
  const std::string file = (runs.path() / "report.html").string();
  const ProcessOptions no_answers = {
      .environment = {"ISOBAR_PROGRESS=" + (runs.path() / "progress.jsonl").string()}};
  const ProcessResult result = programs.run({"report", a, b, "--answers", "-o", file}, no_answers);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("written: " + file));
  const std::string page = read_text_file(file, kMostPage);
  CHECK_THAT(page, says("No question of these lessons was answered yet."));
  for (const std::string& run : {a, b}) {
    const auto shown = Json::parse(programs.run({"show", run, "--json"}).out);
    CHECK_THAT(page, says(fmt::format("{:.1f}", shown["samples_per_s"].as_number())));
    CHECK_THAT(page, says(fmt::format("{:.4f}", shown["scores"].values().back()["loss"].as_number())));
    CHECK_THAT(page, says(fmt::format("{:.4f}", shown["scores"].values().back()["rmse_u10m"].as_number())));
    CHECK_THAT(page, says(fmt::format("{:.2f}", shown["step_us"].as_number() * 1e-3)));
    CHECK_THAT(page, says("<td class=\"n\">" + std::to_string(shown["steps"].as_integer()) + "</td>"));
    CHECK_THAT(page,
               says(fmt::format(
                   "<td class=\"n\">{:.1f} %</td><td class=\"n\">{}</td>", 100 * shown["mfu"].as_number(),
                   human_bytes(static_cast<std::uint64_t>(shown["memory"]["peak_bytes"].as_integer())))));
    for (const std::string& stage : shown["stages"].keys()) {
      const double us = shown["stages"][stage].as_number();
      if (us <= 0) continue;  // a column of nothing is left out
      INFO(stage);
      CHECK_THAT(page, says(fmt::format("<td class=\"n\">{:.2f}</td>", us * 1e-3)));
    }
  }
  CHECK(page.find("https://") == std::string::npos);  // no link leads out
  const std::string names = "http://www.w3.org/2000/svg";
  for (std::size_t at = page.find("http://"); at != std::string::npos; at = page.find("http://", at + 1))
    CHECK(page.compare(at, names.size(), names) == 0);
  CHECK(programs.run({"report", a, "-o", file}).code == 0);  // a page of ours is made again
}

TEST_CASE("what this machine's kept rates predict stands beside what was measured") {
  const Programs programs;
  MadeRuns runs;
  const std::string ours = runs.add("a", {}).string();
  write_file_whole(fs::path(ours) / "run.toml",
                   std::string_view("[environment]\nhost = " + toml_string(host_name()) +
                                    "\ncpu = " + toml_string(cpu_name()) + "\ndevice = \"cpu\"\n"));
  const std::string elsewhere = runs.add("b", {.factor = 2}).string();
  write_file_whole(runs.path() / "rates.toml", std::string_view(to_toml(made_rates())));
  const std::string file = (runs.path() / "report.html").string();
  const ProcessOptions kept = {.environment = {"ISOBAR_PREFIX=" + runs.path().string()}};
  REQUIRE(programs.run({"report", ours, elsewhere, "-o", file}, kept).code == 0);
  const std::string page = read_text_file(file, kMostPage);
  const std::size_t from = page.find("<section id=\"formulas\"");
  REQUIRE(from != std::string::npos);
  const std::string part = page.substr(from, page.find("</section>", from) - from);
  const auto shown = Json::parse(programs.run({"show", ours, "--json"}).out);
  CHECK_THAT(part, says("<th scope=\"row\">A</th><td>forward</td>") && !says("<th scope=\"row\">B</th>"));
  CHECK_THAT(part, says(fmt::format("<td class=\"n\">{:.2f}</td>", shown["step_us"].as_number() * 1e-3)));
}

TEST_CASE("report writes over nothing that is not its own") {
  const Programs programs;
  MadeRuns runs;
  const std::string run = runs.add("a", {}).string();
  const std::string file = (runs.path() / "mine.html").string();
  write_file_whole(file, std::string_view("<p>mine</p>"));
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    const ProcessResult result = programs.run(words);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says(why));
  };
  refused({"report", run, "-o", file}, "is no report of ours");
  CHECK(read_text_file(file, 100) == "<p>mine</p>");
  fs::create_symlink("away.html", runs.path() / "link.html");
  refused({"report", run, "-o", (runs.path() / "link.html").string()}, "a link that leads nowhere");
  CHECK(fs::is_symlink(runs.path() / "link.html"));
  CHECK(programs.run({"report", run, "-o", file, "--replace"}).code == 0);
  CHECK_THAT(read_text_file(file, kMostPage), says("<!DOCTYPE html>"));
  refused({"report", run, "-o", "report.txt"}, "a report is an .html file");
  fs::create_directories(runs.path() / "folder.html");
  refused({"report", run, "-o", (runs.path() / "folder.html").string()}, "it exists and is not a file");
  refused({"report", run, "-o", (runs.path() / "none/x.html").string()}, "none");
  refused({"report", run, "-o", runs.path().string() + "/a.html/"}, "a report is an .html file");
  refused({"report"}, "which runs?");
  refused({"report", run, run}, "the run is named twice");
  refused({"report", "no_such_run"}, "there is no run");
  std::vector<std::string> many(51, run);
  many.insert(many.begin(), "report");
  refused(many, "too many runs for a page");
}

TEST_CASE("import makes runs of the logs below a folder, once, and compare takes them") {
  const Programs programs;
  MadeRuns runs;
  const std::string ours = runs.add("ours", {.samples = 40}).string();
  const std::string into = (runs.path() / "imported").string();
  const ProcessResult first =
      programs.run({"import", logs() + "/tutorial_out.log", "--into", into, "--json"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  const auto told = Json::parse(first.out)["runs"];
  REQUIRE(told.values().size() == 1);
  CHECK(told[0]["source"] == "tutorial");
  CHECK(told[0]["result"] == "imported");
  CHECK(told[0]["steps"] == 64);
  const std::string run = told[0]["run"].as_text();
  const ProcessResult again =
      programs.run({"import", logs() + "/tutorial_out.log", "--into", into, "--json"});
  CHECK(Json::parse(again.out).at("runs")[0]["result"] == "known");
  const auto shown = Json::parse(programs.run({"show", run, "--json"}).out);
  CHECK(shown["source"] == "tutorial");
  CHECK_THAT(shown["provenance"].as_text(), says("recorded with the Python tutorial"));
  const std::string told_of = programs.run({"show", run}).out;
  CHECK_THAT(told_of,
             says("loss 0.3750") && says("without the first 32 steps") && !says("RMSE") && !says("on ,"));
  CHECK_THAT(told_of, says("valid loss   0.3750"));
  CHECK(shown["valid_loss"] == 0.3750002);
  CHECK(shown["mfu"] == Json());  // what is not known is not 0
  const ProcessResult verdict = programs.run({"verdict", run});
  CHECK(verdict.code == 0);
  CHECK_THAT(verdict.out, says("nothing can be said") && says("./isobar show " + run) && !says("host"));
  CHECK_THAT(programs.run({"show", run, "--timeline"}).err,
             says("./isobar show RUN") && !says("trace_steps"));
  CHECK_THAT(programs.run({"runs", into}).out, says("[the Python tutorial]"));
  const ProcessResult compared = programs.run({"compare", ours, run});
  CHECK(compared.code == 0);
  CHECK_THAT(compared.out, says("they make no ratio") && says("validation loss"));
}

TEST_CASE("a log of sixty epochs stands beside a run of ours") {
  const Programs programs;
  MadeRuns runs;
  const std::string ours = runs.add("ours", {.steps = 40, .samples = 40}).string();
  fs::create_directories(runs.path() / "exp/long/1GPU/00");
  const std::string log = (runs.path() / "exp/long/1GPU/00/out.log").string();
  write_file_whole(log, std::string_view(long_log()));
  const auto told =
      Json::parse(programs.run({"import", log, "--into", (runs.path() / "in").string(), "--json"}).out)
          .at("runs")[0];
  CHECK(told["steps"] == 1920);
  CHECK(told["scores"] == 60);
  const std::string theirs = told["run"].as_text();
  const ProcessResult compared = programs.run({"compare", ours, theirs, "--json"});
  INFO(compared.out);
  REQUIRE(compared.code == 0);
  const auto found = Json::parse(compared.out);
  const auto& difference = found["differences"][0];
  CHECK_THAT(difference["no_ratio"].as_text(), says("recorded with the Python tutorial"));
  CHECK(difference["stages"].empty());
  const auto& losses = difference["losses"];
  CHECK(losses["parity"] == "unknown");  // no step of ours is a mean over an epoch
  CHECK(losses["at_equal_samples"]["samples"] == 1600);
  CHECK(losses["at_equal_samples"]["other_loss"].as_number() ==
        Approx(0.4167 + (0.375 - 0.4167) / 8));  // of the 3rd and 4th epoch
  CHECK(found["runs"][1]["valid_loss"].as_number() == Approx(0.25 + 0.5 / 60).epsilon(1e-3));
}

TEST_CASE("import goes on behind a log that it cannot read, and says so") {
  const Programs programs;
  const TempFolder place;
  for (const char* name : {"good", "bad"}) fs::create_directories(place / "logs" / name);
  fs::copy_file(logs() + "/metrics.csv", place / "logs/good/metrics.csv");
  write_file_whole(place / "logs/bad/metrics.csv", std::string_view("epoch,loss\n0,1\n"));
  const ProcessResult result = programs.run(
      {"import", (place / "logs").string(), "--into", (place / "runs").string(), "--batch", "4"});
  CHECK(result.code == 2);
  CHECK_THAT(result.out, says("left out") && says("no column \"step\"") && says("imported"));
  CHECK(programs.run({"import", (place / "logs/bad").string()}).code == 2);
  CHECK_THAT(programs.run({"import", (place / "none").string()}).err, says("there is no such folder"));
  CHECK_THAT(programs.run({"import"}).err, says("which folder?"));
  const std::string file = (place / "logs/good/metrics.csv").string();
  const ProcessResult into_a_file = programs.run({"import", file, "--into", file});
  CHECK(into_a_file.code == 1);
  CHECK_THAT(into_a_file.err, says("cannot make the run folder"));
  CHECK_THAT(into_a_file.out, !says("left out"));
  write_file_whole(place / "events.out.tfevents.1", std::string_view("junk"));
  CHECK_THAT(programs.run({"import", (place / "events.out.tfevents.1").string()}).err,
             says("no epoch of the tutorial; 1 record left out: it is the last of its file") &&
                 says("tfevents.1\n"));
  CHECK_THAT(programs.run({"import", (place / "logs").string(), "--batch", "0"}).err,
             says("at least one sample"));
}

TEST_CASE("import makes a link profile of output of nccl-tests, once, and names the next command") {
  const Programs programs;
  const TempFolder place;
  const std::string one = logs() + "/nccl_1n.log", two = logs() + "/nccl_2n.log",
                    into = (place / "links").string();
  const ProcessResult first = programs.run({"import", one, two, "--into", into, "--name", "ours"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  const std::string file = into + "/ours.toml";
  CHECK_THAT(first.out, says("imported  " + file + "  2 logs of nccl-tests, 33 sizes") &&
                            says("472.3 GB/s on 1 node, 190.7 GB/s on 2 nodes") &&
                            says("./isobar predict 06 --ranks 64 --cluster " + file));
  const auto again =
      Json::parse(programs.run({"import", one, two, "--into", into, "--name", "ours", "--json"}).out);
  CHECK(again["result"] == "known");
  CHECK(again["gpus_per_node"] == 8);
  CHECK(again["busbw_by_nodes"][1]["gb_s"] == 190.69);
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--into", into});
    const ProcessResult result = programs.run(words);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(refused({"import", two, "--name", "ours"}), says("other contents") && says("--name"));
  CHECK_THAT(refused({"import", two, "--name", "../ours"}), says("is no name for a profile"));
  CHECK_THAT(refused({"import", two, logs() + "/metrics.csv"}), says("import each kind by itself"));
  CHECK_THAT(refused({"import", one, "--gpus-per-node", "0"}), says("--gpus-per-node"));
  fs::create_directories(place / "folder");
  for (const std::string& log : {one, two}) fs::copy_file(log, place / "folder" / fs::path(log).filename());
  CHECK(programs.run({"import", (place / "folder").string(), "--into", into}).code == 0);
  CHECK(fs::exists(into + "/nccl_1n.toml"));
}
