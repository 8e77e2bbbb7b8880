// The timeline of real runs: what the loop wrote, what readers make of it, and a file system that fails under
// it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "core/files.h"
#include "core/machine.h"
#include "launch/rank_status.h"
#include "lessons/resumed_run.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/until.h"

namespace isobar::test_timeline {

namespace {

std::vector<Json> spans_of(const fs::path& run) {
  std::istringstream text(read_text_file(run / "rank-0000.spans.jsonl", 100'000'000));
  std::vector<Json> out;
  for (std::string line; std::getline(text, line);) out.push_back(Json::parse(line));
  return out;
}

ProcessResult show(const fs::path& run, std::vector<std::string> words) {
  words.insert(words.begin(), {std::string(ISOBAR_BIN) + "/isobar-cli", "show", run.string()});
  return run_process(words);
}

/// A run of eight steps of which five are traced, made once.
const fs::path& traced() {
  static const TempFolder folder;
  static const fs::path run = [] {
    REQUIRE(train(folder / "run", {"train.steps=8", "run.trace_steps=5", "run.threads=1"}).code == 0);
    return folder / "run";
  }();
  return run;
}

const std::vector<std::string> kStages = {"load", "copy", "forward", "backward", "optimize"};

}  // namespace

TEST_CASE("the spans of a step's stages sum to the times of the step, for as many steps as were asked for") {
  const std::vector<Json> lines = spans_of(traced());
  Json first = lines[0];
  CHECK(first.at("origin_us").as_integer() > 0);  // so that ranks can be laid side by side
  first.erase("origin_us");
  REQUIRE(first == Json{{"kind", "attempt"}, {"schema", 1}, {"attempt", 0}, {"from_step", 0}});
  std::map<std::int64_t, std::map<std::string, std::int64_t>> sums;
  std::map<std::string, int> between;
  std::int64_t end_us = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Json& span = lines[i];
    REQUIRE(span["kind"] == "span");
    REQUIRE(span["track"] == "loop");
    CHECK(span["begin_us"].as_integer() >= end_us);  // the loop does one thing after the other
    end_us = span["begin_us"].as_integer() + span["duration_us"].as_integer();
    const std::string name = span["name"].as_text();
    if (std::find(kStages.begin(), kStages.end(), name) == kStages.end()) {
      ++between[name];
    } else {
      sums[span["step"].as_integer()][name] += span["duration_us"].as_integer();
    }
  }
  CHECK(between == std::map<std::string, int>{{"validate", 1}});  // the one at the end is not traced any more
  REQUIRE(sums.size() == 5);
  for (const Json& step : of_kind(stream(traced()), "step")) {
    if (step["step"].as_number() >= 5) continue;
    for (const std::string& stage : kStages) {
      INFO("step " << step["step"].text() << " " << stage);
      CHECK(sums[step["step"].as_integer()][stage] == step[stage + "_us"]);
    }
  }
}

TEST_CASE("without run.trace_steps there is no file, and the timeline says how to get one") {
  const TempFolder folder;
  REQUIRE(train(folder / "run", {"train.steps=2", "run.trace_steps=0"}).code == 0);
  CHECK_FALSE(fs::exists(folder / "run/rank-0000.spans.jsonl"));
  const ProcessResult shown = show(folder / "run", {"--timeline"});
  CHECK(shown.code == 2);
  CHECK_THAT(shown.err, says("no spans") && says("--set run.trace_steps="));
}

TEST_CASE("a run is drawn in the terminal, as JSON, and as a trace") {
  const ProcessResult drawn = show(traced(), {"--timeline"});
  CHECK(drawn.code == 0);
  // It opens on the steps around the median one, whichever that was.
  CHECK_THAT(drawn.out, (says("steps 1 to 3") || says("steps 2 to 4")) && says("  loop ") &&
                            says("F forward") && says("backward") && says("Over steps 1 to 4") &&
                            !says("\x1b"));
  const Json figures =
      Json::parse(show(traced(), {"--timeline", "--json", "--step", "2", "--steps", "1"}).out);
  CHECK(figures["drawn"]["spans"].values().size() == kStages.size());
  CHECK(figures["steady"]["tracks"][0]["track"] == "loop");
  const TempFolder folder;
  const ProcessResult written = show(traced(), {"--trace", folder / "t.json"});
  CHECK(written.code == 0);
  CHECK_THAT(written.out, says("t.json"));
  const Json trace = Json::parse(read_text_file(folder / "t.json", 1 << 20));
  const std::vector<Json>& events = trace["traceEvents"].values();
  const auto complete =
      std::count_if(events.begin(), events.end(), [](const Json& event) { return event["ph"] == "X"; });
  CHECK(complete == static_cast<std::ptrdiff_t>(spans_of(traced()).size()) - 1);
  CHECK(trace["traceEvents"][0]["args"]["name"] == "rank 0: 01_baseline");
  CHECK(show(traced(), {"--trace", folder / "t.json"}).code == 0);  // again, over one of ours
  write_file_whole(folder / "package.json", std::string_view("{}"));
  const ProcessResult over = show(traced(), {"--trace", folder / "package.json"});
  CHECK(over.code == 2);
  CHECK_THAT(over.err, says("is no trace of ours") && says("--replace"));
  CHECK(read_text_file(folder / "package.json", 100) == "{}");
  CHECK(show(traced(), {"--trace", folder / "package.json", "--replace"}).code == 0);
}

TEST_CASE("mistakes in asking for a timeline end with code 2 and the usage") {
  const auto refused = [](const std::vector<std::string>& words) {
    const ProcessResult result = show(traced(), words);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(refused({"--timeline", "--step", "5"}), says("step 5 was not traced") && says("0 to 4"));
  for (const char* number : {"-1", "x", "1.5", "99999999999999999999", "", "2x"}) {
    INFO(number);
    CHECK_THAT(refused({"--timeline", "--step", number}), says("whole number"));
  }
  CHECK_THAT(refused({"--timeline", "--steps", "0"}), says("from 1 on"));
  CHECK_THAT(refused({"--timeline", "--steps"}), says("--steps what?"));
  CHECK_THAT(refused({"--step", "2"}), says("choose what --timeline draws"));
  CHECK_THAT(refused({"--trace"}), says("--trace what?"));
  CHECK_THAT(refused({"--trace", "trace.txt"}), says(".json"));
  CHECK_THAT(refused({"--trace", "no/such/folder/t.json"}), says("no/such/folder"));
  CHECK_THAT(refused({"--timeline", "--follow"}), says("--follow"));
  CHECK_THAT(refused({"--timeline", "twice"}), says("./isobar show RUN"));
  CHECK_THAT(refused({"--timelin"}), says("did you mean --timeline?"));
}

TEST_CASE("a resumed run goes on in the same file, and readers keep its newest attempt") {
  const TempFolder folder;
  const std::vector<std::string> sets = with(kTwenty, {"run.trace_steps=3"});
  const ProcessResult stopped = train(folder / "run", with(sets, {"run.fault=slow_stage", "run.fault_ms=50"}),
                                      {.signal = 15, .interrupt_when = when_steps(folder / "run", 6)});
  REQUIRE(stopped.code == 75);
  REQUIRE(resume(folder / "run").code == 0);
  const std::vector<Json> lines = spans_of(folder / "run");
  const std::vector<Json> attempts = of_kind(lines, "attempt");
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[1]["attempt"] == 1);
  const auto from = attempts[1]["from_step"].as_integer();
  CHECK(from >= 6);
  const auto second = std::find(lines.begin(), lines.end(), attempts[1]);
  for (auto span = second + 1; span != lines.end(); ++span) {
    CHECK((*span)["step"].as_integer() >= from);
    CHECK((*span)["step"].as_integer() < from + 3);
  }
  const ProcessResult drawn = show(folder / "run", {"--timeline", "--step", std::to_string(from)});
  CHECK_THAT(drawn.out, says("of attempt 1") && says("Over steps " + std::to_string(from)));
  CHECK(show(folder / "run", {"--timeline", "--step", "0"}).code == 2);
}

TEST_CASE("a disk that is full under the spans costs the timeline alone, and is told at the end") {
  for (const int at : {1, 3}) {
    const TempFolder folder;
    const fs::path spans = folder / "run/rank-0000.spans.jsonl";
    const ProcessResult result =
        train(folder / "run", kTwenty,
              {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_UNDER=" + spans.string(),
                               "SHIM_ONLY=write", "SHIM_FAIL_AT=" + std::to_string(at), "SHIM_ERRNO=28"}});
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says("No space left") && says(spans.string()));
    CHECK_THAT(result.out, says("20 of 20"));
    CHECK(losses(folder / "run") == losses(uninterrupted()));
    CHECK(scores(folder / "run") == scores(uninterrupted()));
    CHECK(weights(folder / "run") == weights(uninterrupted()));
    const std::vector<Json> lines = stream(folder / "run");
    CHECK(of_kind(lines, "summary").size() == 1);
    CHECK(lines.back()["kind"] == "end");
    CHECK(lines.back()["status"] == "failed");
    CHECK_THAT(lines.back()["reason"].as_text(), says("No space left"));
    for (const Json& line : spans_of(folder / "run")) CHECK(line.contains("kind"));  // whole lines
  }
}

TEST_CASE("the age of what a running run wrote last is told when it is old") {
  const TempFolder folder;
  write_file_whole(folder / "run.toml", "");
  write_file_whole(folder / "rank-0000.jsonl", JsonLine("run")
                                                   .add("schema", 1)
                                                   .add("lesson", "test_timeline")  // this process writes it
                                                   .add("host", host_name())
                                                   .add("pid", static_cast<std::int64_t>(getpid()))
                                                   .text());
  CHECK_THAT(show(folder.path(), {}).out, says("  running") && !says("last sign"));
  const auto now = fs::last_write_time(folder / "rank-0000.jsonl");
  fs::last_write_time(folder / "rank-0000.jsonl", now - std::chrono::seconds(90));
  CHECK_THAT(show(folder.path(), {}).out, says("  running: last sign 1 min 30 s ago"));
}

TEST_CASE("training does not wait for a file system that stalls") {
  const TempFolder folder;
  const fs::path run = folder / "run";
  const fs::path gate = folder / "gate";  // no write to the stream ends while it is there
  // Scores, which are written at once, come after 32 steps.
  const std::vector<std::string> sets = {"train.steps=30", "train.global_batch=1", "train.report_every=1",
                                         "data.limit_valid=2"};
  std::jthread stalls([&] {
    const auto step = [&] {
      const std::optional<RankStatus> status = read_rank_status(run, 0);
      return status ? status->step : -1;
    };
    until([&] { return step() >= 3; });
    write_file_whole(gate, std::string_view());
    const std::int64_t from = step();
    until([&] { return step() >= 29; });
    CHECK(from < 29);  // else it was stalled at no step
    fs::remove(gate);
  });
  const ProcessResult result = train(run, sets,
                                     {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM,
                                                      "SHIM_UNDER=" + (run / "rank-0000.jsonl").string(),
                                                      "SHIM_ONLY=write", "SHIM_GATE=" + gate.string()}});
  CHECK(result.code == 0);
  CHECK(of_kind(stream(run), "step").size() == 30);
}

}  // namespace isobar::test_timeline
