// Rules of buckets and buffers: overlap, the last bucket, latency or bandwidth, and what buffers do.
#include "asked_rule.h"
#include "record/json_line.h"
#include "support/errors.h"
#include "support/made_ranks.h"
#include "support/made_spans.h"
#include "support/says.h"

namespace isobar::test_rules_buckets {

namespace {

const char* const kBuckets = "10_buckets";

/// Steps of 100 ms with backward until 50; two buckets of 10 ms, which begin at these times.
std::string two_buckets(int first_ms, int last_ms) {
  MadeSpans out;
  out.attempt(0);
  for (int step = 0; step < 20; ++step) {
    const int at = 100'000 * step;
    out.span(step, "loop", "backward", at, 50'000).span(step, "loop", "comm", at + 50'000, 50'000);
    out.span(step, "bucket.0", "all-reduce", at + 1000 * first_ms, 10'000);
    out.span(step, "bucket.1", "all-reduce", at + 1000 * last_ms, 10'000);
  }
  return out.text();
}

MadeRanks talking() {
  MadeRanks out;
  out.more = [](int, int, JsonLine& line) {
    line.add("backward_us", 50'000).add("comm_us", 10'000).add("comm_total_us", 20'000);
    line.add("comm_calls", 2).add("wire_bytes", 200'000);
  };
  return out;
}

void write(const std::filesystem::path& folder, MadeRanks made, const std::string& spans = "") {
  std::filesystem::create_directory(folder);
  made.write(folder);
  for (int rank = 0; !spans.empty() && rank < made.world; ++rank)
    write_file_whole(folder / ("rank-000" + std::to_string(rank) + ".spans.jsonl"), std::string_view(spans));
}

/// Three repeats; the first of them.
std::filesystem::path write_three(const TempFolder& folder, const std::string& name,
                                  const std::string& spans) {
  for (int i = 0; i < 3; ++i) {
    MadeRanks made = talking();
    made.step_us += 100 * i;
    made.config = "[comm]\nsync = \"" + name + "\"\n";
    write(folder / (name + std::to_string(i)), made, spans);
  }
  return folder / (name + "0");
}

/// A link by its probe: so many us, so many GB/s on the bus.
MadeRanks with_probe(double latency_us, double busbw) {
  MadeRanks out = talking();
  out.notes = [=](int) {
    return JsonLine("note")
        .add("text", "probe")
        .add("backend", "ring")
        .add("latency_us", latency_us)
        .add("bytes", 1'000'000)
        .add("algbw_gb_per_s", busbw)
        .add("busbw_gb_per_s", busbw)
        .text();
  };
  return out;
}

MadeRanks with_buffers(const std::vector<double>& apart) {
  MadeRanks out = talking();
  out.notes = [apart](int rank) {
    std::string notes;
    for (std::size_t i = 0; i < apart.size(); ++i)
      notes += JsonLine("note")
                   .add("text", "buffers")
                   .add("step", 10 * (i + 1))
                   .add("apart", rank == 0 ? 0.0 : apart[i])
                   .text();
    return notes;
  };
  return out;
}

Truth truth_of_run(const AskedRule& asked, const MadeRanks& made) {
  const TempFolder folder;
  write(folder / "r", made);
  return AskedRule(asked).run("r", folder / "r", "06_ddp").truth();
}

}  // namespace

TEST_CASE("the direction of the overlap is that of the spans, and small differences are none") {
  const TempFolder folder;
  const auto early = write_three(folder, "early", two_buckets(20, 45));    // 15 of 20 ms
  const auto late = write_three(folder, "late", two_buckets(50, 60));      // none
  const auto alike = write_three(folder, "alike", two_buckets(20, 45));    // as early
  const auto nearly = write_three(folder, "nearly", two_buckets(21, 45));  // and this
  const auto direction = [](const std::filesystem::path& base, const std::filesystem::path& other) {
    return AskedRule("direction",
                     {{"base", {"base"}}, {"other", {"other"}}, {"of", {"overlap"}}, {"within", {"0.05"}}})
        .run("base", base, "06_ddp")
        .run("other", other, "06_ddp");
  };
  CHECK(direction(early, late).accepted() == Keys{"down"});
  CHECK(direction(late, early).accepted() == Keys{"up"});
  CHECK(direction(early, alike).accepted() == Keys{"same"});
  CHECK(direction(early, nearly).accepted() == Keys{"same"});
  CHECK(direction(late, late).accepted() == Keys{"same"});
  CHECK(direction(early, late).truth().figures.at("base_value") == "75");
  CHECK(direction(early, late).truth().figures.at("other_value") == "0");
  write(folder / "bare", talking());
  CHECK_THAT(direction(early, folder / "bare").cannot("other"), says("run.trace_steps"));
  write(
      folder / "once",
      [] {
        MadeRanks made = talking();
        made.config = "[run]\nranks = 7\n";
        return made;
      }(),
      two_buckets(20, 45));
  CHECK_THAT(direction(early, folder / "once").cannot("other"), says("`other` has 1 run, 3 are needed"));
}

TEST_CASE("the last bucket's share is of the exposed time") {
  const TempFolder folder;
  const With last = {{"run", {"r"}}, {"of", {"last_bucket"}}, {"beside", {"exposed_us"}}};
  const auto share = [&](const std::string& name, int first_ms, int last_ms) {
    const auto run = write_three(folder, name, two_buckets(first_ms, last_ms));
    return AskedRule("value", last, "%").run("r", run, "06_ddp");
  };
  CHECK(share("alone", 20, 50).truth().number == Approx(100));
  CHECK(share("queued", 45, 55).truth().number == Approx(100 * 10 / 15.0));
  CHECK(share("before", 60, 20).truth().number == Approx(0).margin(1e-9));
  CHECK(share("again", 45, 55).truth().figures.at("value") == "67");
  write(folder / "bare", talking());
  CHECK_THAT(AskedRule("value", last, "%").run("r", folder / "bare", "06_ddp").cannot("r"),
             says("reports no last_bucket, which run.trace_steps asks for"));
  CHECK_THAT(error_of([&] {
               const AskedRule wrong("value", last, "ms");
               wrong.rule().check(wrong.question());
             }),
             says("does not give ms"));
}

TEST_CASE("a link is bound by what takes more than half of a mean all-reduce") {
  const With with = {{"run", {"r"}}, {"of", {"latency_share"}}, {"beside", {"message_bytes"}}};
  With choice = with;
  choice["classes"] = {"bandwidth 0", "latency 0.5"};
  const AskedRule link = AskedRule("value", choice).kind(AnswerKind::choice);
  const auto bound = [&](double latency_us, double busbw) {
    return truth_of_run(link, with_probe(latency_us, busbw));  // 100 kB a call: 100 us at 1 GB/s
  };
  CHECK(bound(101, 1).accepted == Keys{"latency"});
  CHECK(bound(99, 1).accepted == Keys{"bandwidth"});
  CHECK(bound(4000, 1.25).figures.at("value") == "98");
  CHECK(bound(4000, 1.25).figures.at("message_mb") == "0.1");
  const TempFolder folder;
  write(folder / "r", with_probe(300, 1));
  AskedRule number("value", with, "%");
  CHECK(number.run("r", folder / "r", "06_ddp").kind(AnswerKind::number).truth().number == Approx(75));
  CHECK_THAT(truth_of_run(link, talking()).cannot, says("reports no latency_share"));
  MadeRanks silent = with_probe(10, 1);
  silent.more = [](int, int, JsonLine& line) { line.add("backward_us", 50'000).add("comm_us", 10); };
  CHECK_THAT(truth_of_run(link, silent).cannot, says("reports no latency_share"));
}

TEST_CASE("buffers are constant, equal, or apart") {
  const auto what = [](const std::vector<double>& apart) {
    return truth_of_run(AskedRule("buffers_apart", {{"run", {"r"}}}), with_buffers(apart));
  };
  CHECK(what({}).accepted == Keys{"constant"});
  CHECK(what({0, 0}).accepted == Keys{"equal"});
  CHECK(what({0, 0.25}).accepted == Keys{"apart"});
  CHECK(what({0.5, 0}).accepted == Keys{"apart"});
  CHECK(what({0.5, 0.25}).figures.at("most") == "0.5");
  CHECK(what({0.5, 0.25}).figures.at("last") == "0.25");
  CHECK(what({std::nan("")}).accepted == Keys{"apart"});  // no number is equal to none
  MadeRanks alone = with_buffers({});
  alone.world = 1;
  CHECK_THAT(truth_of_run(AskedRule("buffers_apart", {{"run", {"r"}}}), alone).cannot,
             says("is a run of one rank"));
  MadeRanks stopped = with_buffers({});
  stopped.end = "stopped";
  CHECK_THAT(truth_of_run(AskedRule("buffers_apart", {{"run", {"r"}}}), stopped).cannot, says("was stopped"));
}

}  // namespace isobar::test_rules_buckets
