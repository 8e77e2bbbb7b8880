// Rules of runs of several ranks, and of what runs beside a stage.
#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"
#include "support/made_spans.h"
#include "support/says.h"

namespace isobar::test_rules_ranks {

namespace {

const char* const kDdp = "06_ddp";

/// Ranks that compute 50 of 100 ms and communicate `total_us`, of which `exposed_us` show.
MadeRanks talking(double total_us, double exposed_us) {
  MadeRanks out;
  out.more = [=](int, int, JsonLine& line) {
    line.add("forward_us", 30'000).add("backward_us", 20'000).add("comm_us", exposed_us);
    if (total_us > 0) line.add("comm_total_us", total_us).add("comm_calls", 5);
  };
  return out;
}

/// Rank `slow` computes 40 of 100 ms longer than the others, who wait for it; -1 = none does.
MadeRanks with_slow(int slow) {
  MadeRanks out;
  out.more = [slow](int rank, int, JsonLine& line) {
    const bool is_slow = rank == slow;
    line.add("forward_us", 30'000).add("backward_us", is_slow ? 60'000 : 20'000);
    line.add("comm_us", slow < 0 || is_slow ? 10'000 : 50'000);
  };
  return out;
}

AskedRule of_ranks(const std::string& rule, const MadeRanks& made, const std::string& unit = "",
                   With with = {}) {
  const TempFolder folder;
  made.write(folder);
  with["run"] = {"r"};
  return AskedRule(rule, with, unit).run("r", folder.path(), kDdp);
}

/// Six steps of 100 us: forward from 0 to 40, backward to 100, and what `more` adds to each.
std::string spans_with(const std::function<void(MadeSpans&, int step, int begin_us)>& more) {
  MadeSpans out;
  out.attempt(0);
  for (int step = 0; step < 6; ++step) {
    const int begin_us = 100 * step;
    out.span(step, "loop", "forward", begin_us, 40).span(step, "loop", "backward", begin_us + 40, 60);
    more(out, step, begin_us);
  }
  return out.text();
}

std::filesystem::path with_spans(MadeRuns& runs, const std::string& name, const std::string& spans) {
  const auto folder = runs.add(name, {.keys = {{"data.workers", "\"" + name + "\""}}});
  write_file_whole(folder / "rank-0000.spans.jsonl", std::string_view(spans));
  return folder;
}

/// Uploads of 20 us, 15 of them beside forward; reading all the time; waiting in between.
void uploads(MadeSpans& out, int step, int begin_us) {
  out.span(step, "upload", "copy", begin_us + 25, 20).span(step, "load.0", "read", begin_us + 50, 30);
  out.span(step, "load.1", "read", begin_us, 10).span(step, "queue", "wait", begin_us, 100);
}

}  // namespace

TEST_CASE("communication that is hidden is what is under way and does not show") {
  const With hidden = {{"of", {"hidden"}}, {"beside", {"exposed_us", "comm_total_us"}}};
  const Truth most = of_ranks("value", talking(20'000, 2'000), "%", hidden).truth();
  CHECK(most.number == Approx(90));
  CHECK(most.accepted.empty());
  CHECK(most.figures.at("exposed_ms") == "2");
  CHECK(most.figures.at("comm_total_ms") == "20");
  With classes = hidden;
  classes["classes"] = {"none 0", "half 0.25", "most 0.75"};
  const auto choice = [&](double total_us, double exposed_us) {
    return of_ranks("value", talking(total_us, exposed_us), "", classes).kind(AnswerKind::choice).accepted();
  };
  CHECK(choice(20'000, 2'000) == Keys{"most"});
  CHECK(choice(20'000, 20'000) == Keys{"none"});
  CHECK(choice(20'000, 30'000) == Keys{"none"});  // it waits for others too
  CHECK(choice(20'000, 9'000) == Keys{"half"});
  CHECK(of_ranks("value", talking(0, 1'000), "%", hidden).cannot("r") == "`r` reports no hidden");
}

TEST_CASE("the rank that the others wait for is named, or none") {
  CHECK(of_ranks("straggler", with_slow(1)).accepted() == Keys{"rank 1"});
  CHECK(of_ranks("straggler", with_slow(0)).accepted() == Keys{"rank 0"});
  CHECK(of_ranks("straggler", with_slow(1)).truth().figures.at("kept_ms") == "40");
  CHECK(of_ranks("straggler", with_slow(-1)).accepted() == Keys{"none"});
  MadeRuns runs;
  const AskedRule alone = AskedRule("straggler", {{"run", {"r"}}}).run("r", runs.add("one", {}));
  CHECK_THAT(alone.cannot("r"), says("`r` is no run of several ranks"));
}

TEST_CASE("a straggler bounds a run by the verdict too") {
  CHECK(of_ranks("bound_by", with_slow(1)).accepted() == Keys{"straggler"});
}

TEST_CASE("the distance between replicas stays, grows, shrinks, or is none") {
  const auto distance = [](const std::vector<double>& apart) {
    MadeRanks made = talking(0, 0);
    made.notes = [apart](int rank) {
      std::string out;
      for (std::size_t i = 0; i < apart.size(); ++i) {
        JsonLine note("note");
        note.add("text", "replicas").add("step", 10 * (i + 1)).add("apart", rank == 0 ? 0.0 : apart[i]);
        out += note.text();
      }
      return out;
    };
    const TempFolder folder;
    made.write(folder);
    return AskedRule("replica_distance", {{"run", {"r"}}}).run("r", folder.path(), kDdp).truth();
  };
  CHECK(distance({0.2, 0.21, 0.19}).accepted == Keys{"stays"});
  CHECK(distance({0.1, 0.2}).accepted == Keys{"grows"});
  CHECK(distance({0.1, 0.14}).accepted == Keys{"stays"});
  CHECK(distance({0, 0.2}).accepted == Keys{"grows"});
  CHECK(distance({0.2, 0.01}).accepted == Keys{"shrinks"});
  CHECK(distance({0, 0}).accepted == Keys{"zero"});
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double lost : {nan, infinity}) {  // no replica is equal to one that is no number
    CHECK(distance({0.2, lost}).accepted == Keys{"grows"});
    CHECK(distance({0, lost}).accepted == Keys{"grows"});
    CHECK_THAT(distance({lost, lost}).cannot, says("no numbers from the start"));
  }
  CHECK(distance({0.2, 0.21, 0.19}).figures.at("first") == "0.2");
  CHECK(distance({0.2, 0.21, 0.19}).figures.at("last") == "0.19");
  CHECK_THAT(distance({0.2}).cannot, says("reports fewer than twice"));
}

TEST_CASE("efficiency is samples/s a rank of many over those of few") {
  const TempFolder folder;
  const auto add = [&](const std::string& name, int world, std::int64_t step_us, int repeats) {
    for (int i = 0; i < repeats; ++i) {
      const auto run = folder / (name + std::to_string(i));
      std::filesystem::create_directory(run);
      MadeRanks{.world = world,
                .step_us = step_us + 100 * i,
                .config = "[run]\nranks = " + std::to_string(world) +
                          "\n[data]\nworkers = " + std::to_string(repeats) + "\n"}
          .write(run);
    }
    return folder / (name + "0");
  };
  const auto efficiency = [](const std::filesystem::path& one, const std::filesystem::path& four) {
    return AskedRule("ratio", {{"base", {"one"}}, {"other", {"four"}}, {"of", {"samples_per_s_rank"}}}, "%")
        .run("one", one, kDdp)
        .run("four", four, kDdp);
  };
  const auto one = add("one", 1, 100'000, 3);
  const Truth truth = efficiency(one, add("four", 4, 125'000, 3)).truth();
  CHECK(truth.number == Approx(80).epsilon(0.01));
  CHECK(truth.low < truth.number);
  CHECK(truth.high > truth.number);
  CHECK(truth.figures.at("ratio") == "80");
  CHECK(truth.figures.at("other_value") == "63.9");
  CHECK(efficiency(one, add("slow", 2, 400'000, 3)).truth().number == Approx(25).epsilon(0.01));
  CHECK_THAT(efficiency(one, add("two", 2, 100'000, 2)).cannot("four"),
             says("`four` has 2 runs, 3 are needed"));
}

TEST_CASE("the kind of track that runs most beside a stage is told, waiting left out") {
  MadeRuns runs;
  const auto run = with_spans(runs, "one", spans_with(uploads));
  const auto track = [&](const std::string& stage) {
    return AskedRule("overlapping_track", {{"run", {"r"}}, {"stage", {stage}}}).run("r", run);
  };
  CHECK(track("forward").accepted() == Keys{"upload"});
  CHECK(track("forward").truth().figures.at("share") == "38");  // 15 of 40 us
  CHECK(track("backward").accepted() == Keys{"load"});
  CHECK_THAT(track("replay").cannot("r"), says("traced no replay"));
  const auto bare = runs.add("bare", {.keys = {{"data.workers", "8"}}});
  CHECK_THAT(AskedRule("overlapping_track", {{"run", {"r"}}}).run("r", bare).cannot("r"),
             says("run.trace_steps"));
  const auto alone = with_spans(runs, "alone", spans_with([](MadeSpans&, int, int) {}));
  CHECK(AskedRule("overlapping_track", {{"run", {"r"}}}).run("r", alone).cannot("r") ==
        "in `r` nothing overlaps forward");
}

TEST_CASE("on a device what computes there counts, not what the loop hands over") {
  MadeRuns runs;
  const auto run = with_spans(
      runs, "cuda", spans_with([](MadeSpans& out, int step, int begin_us) {
        out.span(step, "device", "forward", begin_us + 50, 40);
        out.span(step, "load.0", "read", begin_us, 40).span(step, "upload", "copy", begin_us + 50, 30);
      }));
  CHECK(AskedRule("overlapping_track", {{"run", {"r"}}}).run("r", run).accepted() == Keys{"upload"});
}

TEST_CASE("a run of one's own has the overlap that is asked for, or what it has is told") {
  MadeRuns runs;
  const auto run = with_spans(runs, "mine", spans_with(uploads));
  const auto overlap = [&](const std::string& track, const std::string& share) {
    return AskedRule("made_overlap", {{"track", {track}}, {"stage", {"forward"}}, {"share", {share}}})
        .made(run);
  };
  CHECK(overlap("upload", "70").accepted() == Keys{"yes"});  // 15 of 20 us
  CHECK(overlap("upload", "90").accepted().empty());
  CHECK(overlap("upload", "90").truth().text == "75 % of upload overlaps forward; 90 % is required");
  CHECK(overlap("bucket", "90").truth().text == "`mine` has no track bucket");
  CHECK(overlap("bucket", "90").accepted().empty());
  const With with = {{"track", {"upload"}}, {"stage", {"forward"}}, {"share", {"90"}}};
  CHECK(AskedRule("made_overlap", with).cannot() == "one run of yours is needed, there are 0");
  CHECK_THAT(AskedRule("made_overlap", with).made(runs.add("stopped", {.end = "stopped"})).truth().cannot,
             says("was stopped"));
  const auto refused = [&](const std::string& name, MadeSteps made) {
    return AskedRule("made_overlap", with).made(runs.add(name, made)).cannot();
  };
  CHECK(refused("other", {.lesson = "02_workers"}) ==
        "`other` is a run of 02_workers, one of 01_baseline is needed");
  CHECK_THAT(refused("recorded", {.provenance = "recorded"}), says("a run of yours is needed"));
  const auto broken = runs.add("broken", {});
  std::string stream = read_text_file(broken / "rank-0000.jsonl", 1 << 24);
  const std::string lesson = "\"lesson\":\"01_baseline\"";
  REQUIRE(stream.find(lesson) != std::string::npos);
  stream.insert(stream.find(lesson), "\"fault\":\"no_shuffle\",");
  write_file_whole(broken / "rank-0000.jsonl", std::string_view(stream));
  CHECK_THAT(AskedRule("made_overlap", with).made(broken).cannot(), says("has the fault no_shuffle"));
}

TEST_CASE("twice the ranks that gain nothing are a pair only when nothing else differs") {
  const TempFolder folder;
  const auto add = [&](const std::string& name, int world, std::int64_t step_us,
                       const std::string& more = "") {
    for (int i = 0; i < 3; ++i) {
      const auto run = folder / (name + std::to_string(i));
      std::filesystem::create_directory(run);
      MadeRanks{.world = world,
                .step_us = step_us + 100 * i,
                .config = "[run]\nranks = " + std::to_string(world) +
                          "\nthreads = " + std::to_string(4 / world) + "\n" + more}
          .write(run);
    }
    return folder / (name + "0");
  };
  const auto pair = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    return AskedRule("made_no_gain").of_lesson("06_ddp").made(a).made(b);
  };
  const auto one = add("one", 1, 100'000), two = add("two", 2, 200'000);
  CHECK(pair(one, two).accepted() == Keys{"yes"});
  CHECK(pair(two, one).accepted() == Keys{"yes"});
  CHECK(pair(one, two).truth().figures.at("many_ranks") == "2");
  CHECK(pair(one, add("worse", 2, 300'000, "[data]\nseed = 1\n")).accepted().empty());
  CHECK(pair(one, folder / "worse0").truth().text == "they differ in data.seed too");
  const auto four = add("four", 4, 110'000);
  CHECK(pair(two, four).accepted().empty());
  CHECK_THAT(pair(two, four).truth().text, says("times ("));
  CHECK(pair(one, four).truth().text == "they have 1 rank and 4, not twice as many");
  CHECK_THAT(AskedRule("made_no_gain").made(one).made(two).cannot(), says("one of 01_baseline is needed"));
  const auto by_hand = [] { return AskedRule("made_no_gain").of_lesson("06_ddp"); };
  CHECK(by_hand().made(one).cannot() == "runs with two settings are needed, there is 1");
  // Each repeat named: a pair all the same.
  AskedRule all = by_hand();
  for (const char* run : {"one1", "two2", "one0", "one2", "two0", "two1"}) all.made(folder / run);
  CHECK(all.accepted() == Keys{"yes"});
  CHECK(all.truth().figures.at("few_ranks") == "1");
  CHECK(by_hand().made(one).made(folder / "one1").cannot() ==
        "runs with two settings are needed, there is 1, with repeats");
  CHECK(by_hand().made(one).made(two).made(four).cannot() ==
        "runs with two settings are needed, there are 3");
  const auto single = folder / "single";
  std::filesystem::create_directory(single);
  MadeRanks{.world = 8, .config = "[run]\nranks = 8\n"}.write(single);
  CHECK_THAT(pair(four, single).cannot("single"), says("`single` has 1 run, 3 are needed"));
}

}  // namespace isobar::test_rules_ranks
