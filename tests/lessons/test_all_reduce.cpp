// Lesson 09: sums, messages and bytes against the formulas for every number of ranks, mistakes on purpose,
// and what is refused.
#include <fmt/format.h>

#include <set>

#include "formula/link.h"
#include "lessons/alone_run.h"
#include "lessons/rank_run.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_all_reduce {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLesson = "09_all_reduce";
const std::vector<std::string> kLink = {"comm.link.latency_us=200", "comm.link.gbit_per_s=1"};

std::vector<Json> steps_of(const fs::path& run, int rank) { return of_kind(stream_of(run, rank), "step"); }

/// Of one step over all ranks: the numbers that each of them recorded.
std::vector<double> by_rank(const fs::path& run, int ranks, std::size_t step, const char* field) {
  std::vector<double> out;
  for (int rank = 0; rank < ranks; ++rank) out.push_back(steps_of(run, rank).at(step)[field].as_number());
  return out;
}

double sum(const std::vector<double>& values) {
  double out = 0;
  for (const double value : values) out += value;
  return out;
}

}  // namespace

TEST_CASE("every sum is right to the bit, and messages and bytes are those of the formulas") {
  // 1237 values are no multiple of any of these numbers of ranks; 3 are fewer than most.
  for (const std::int64_t values : {1237, 3}) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
      for (const char* const algorithm : {"ring", "tree", "naive"}) {
        const TempFolder folder;
        const std::string bytes = std::to_string(4 * values);
        const ProcessResult result = run_alone(
            kLesson, ranks, folder / "run",
            {"train.steps=4", "comm.bench_bytes=" + bytes, std::string("comm.algorithm=") + algorithm});
        INFO(algorithm << " " << ranks << " ranks\n" << result.out << result.err);
        REQUIRE(result.code == 0);
        CHECK_THAT(result.out, says("every value is the sum over the ranks"));
        CHECK_THAT(result.out, says("the same on all ranks"));
        for (std::size_t step = 0; step < 4; ++step) {
          const double size = steps_of(folder / "run", 0).at(step)["bytes"].as_number();
          const auto calls = by_rank(folder / "run", ranks, step, "comm_calls");
          const auto wire = by_rank(folder / "run", ranks, step, "wire_bytes");
          CHECK(sum(by_rank(folder / "run", ranks, step, "wrong_values")) == 0);
          CHECK(sum(by_rank(folder / "run", ranks, step, "same_bits")) == ranks);
          CHECK(sum(wire) == 2 * (ranks - 1) * size);  // of all ranks together, whatever the way
          if (std::string(algorithm) == "ring") {
            const double chunk = 4 * std::ceil(size / 4 / ranks);
            CHECK(calls == std::vector<double>(static_cast<std::size_t>(ranks),
                                               static_cast<double>(ring_messages(ranks))));
            for (const double sent : wire) {
              CHECK(std::abs(sent - ring_bytes(ranks, size)) <= 2 * 4);
              CHECK(sent <= 2 * (ranks - 1) * chunk);
            }
          } else {
            CHECK(sum(calls) == 2 * (ranks - 1));
          }
          if (std::string(algorithm) == "naive") {
            CHECK(calls[0] == ranks - 1);
            CHECK(wire[1] == size);
          }
        }
      }
    }
  }
}

TEST_CASE("no sum is quicker than its link, and the run says which link fits its times") {
  const TempFolder folder;
  const ProcessResult result = run_alone(
      kLesson, 2, folder / "run", {"comm.link.latency_us=2000", "comm.link.gbit_per_s=0.5", "train.steps=7"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("fit      a message takes"));
  const std::vector<Json> steps = steps_of(folder / "run", 0);
  REQUIRE(steps.size() == 7);
  for (const Json& step : steps)  // a busy machine makes times longer, never shorter
    CHECK(step["all_reduce_us"].as_number() >=
          0.99 * ring_all_reduce_us(link_of(2000, 0.5), 2, step["bytes"].as_number()));
}

TEST_CASE("spans say which chunk went where, and what came of it") {
  const TempFolder folder;
  REQUIRE(run_alone(kLesson, 4, folder / "run", {"train.steps=1", "comm.bench_bytes=64"}).code == 0);
  // After the first phase rank r has the whole sum of chunk r + 1; after the second all have all of them.
  for (int rank = 0; rank < 4; ++rank) {
    std::istringstream text(
        read_text_file(folder / "run" / fmt::format("rank-000{}.spans.jsonl", rank), 1'000'000));
    std::vector<Json> reduce, spread;
    for (std::string line; std::getline(text, line);) {
      const Json span = Json::parse(line);
      if (span["kind"] != "span" || span["track"] != "all_reduce") continue;
      (span["name"] == "reduce" ? reduce : spread).push_back(span);
    }
    REQUIRE(reduce.size() == 3);
    REQUIRE(spread.size() == 3);
    for (int k = 0; k < 3; ++k) {
      const Json& span = reduce.at(static_cast<std::size_t>(k));
      CHECK(span["of"] == "all_reduce");
      CHECK(span["chunk_step"] == k);
      CHECK(span["sent_chunk"] == (rank - k + 4) % 4);
      CHECK(span["received_chunk"] == (rank - k + 7) % 4);
      CHECK(span["to"] == (rank + 1) % 4);
      CHECK(span["from"] == (rank + 3) % 4);
      CHECK(span["bytes"] == 16);
    }
    const int own = (rank + 1) % 4, first = 4 * own;  // its first value: r + 1 + first mod 7 of each rank r
    CHECK(reduce.back()["received_chunk"] == own);
    CHECK(reduce.back()["value"] == 10 + 4 * (first % 7));
    std::set<std::int64_t> came = {own};
    for (const Json& span : spread) came.insert(span["received_chunk"].as_integer());
    CHECK(came.size() == 4);
  }
}

TEST_CASE("mistakes on purpose do to the sums what they are said to do") {
  const TempFolder folder;
  const auto with_mistake = [&](const char* fault, const std::vector<std::string>& more) {
    return run_alone(
        kLesson, 4, folder / "run",
        with(with(kLink, {"train.steps=2", "comm.bench_bytes=4096", std::string("run.fault=") + fault}),
             more));
  };
  SECTION("race: ranks add what has not come") {
    // On its way for a second each: no machine is so busy that all have come when they are added.
    const ProcessResult result = with_mistake("race", {"comm.link.latency_us=1000000"});
    CHECK(result.code == 0);
    CHECK_THAT(result.out, says("FAULT   race"));
    CHECK_THAT(result.out, says("values of a buffer are not the sum over the ranks"));
    CHECK(steps_of(folder / "run", 0).front()["wrong_values"].as_number() > 0);
  }
  SECTION("drop_message: all ranks say who sent nothing") {
    const ProcessResult result = with_mistake("drop_message", {"comm.timeout_s=1", "run.fault_rank=2"});
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says("rank 2 did not send its next message for 1 s"));
    CHECK_FALSE(result.err.find("rank 1 did not send") != std::string::npos);
  }
  SECTION("slow_link: right sums, and no step is quicker than one slow message in each") {
    REQUIRE(with_mistake("slow_link", {}).code == 0);
    for (const Json& step : steps_of(folder / "run", 0)) {
      CHECK(step["wrong_values"] == 0);
      // What the slow rank sends last hangs on what it sent a lap before.
      CHECK(step["all_reduce_us"].as_number() > 2 * 10 * 200);
    }
  }
  SECTION("rank_order: right sums, over neighbours that share the bandwidth of a link") {
    REQUIRE(with_mistake("rank_order", {}).code == 0);
    const Link half = link_of(200, 0.5);
    const std::string spans = read_text_file(folder / "run" / "rank-0000.spans.jsonl", 1'000'000);
    CHECK_THAT(spans, says(R"("to":2)"));
    for (const Json& step : steps_of(folder / "run", 0)) {
      CHECK(step["wrong_values"] == 0);
      CHECK(step["all_reduce_us"].as_number() >=
            0.99 * ring_all_reduce_us(half, 4, step["bytes"].as_number()));
    }
  }
}

TEST_CASE("settings that cannot be are refused before anything is written, with what would help") {
  const TempFolder folder;
  const auto refused = [&](int ranks, const std::vector<std::string>& sets) {
    const ProcessResult result = run_alone(kLesson, ranks, folder / "run", sets);
    INFO(result.out << result.err);
    CHECK(result.code == 2);
    CHECK_FALSE(fs::exists(folder / "run" / "rank-0000.jsonl"));
    return result.err;
  };
  CHECK_THAT(refused(2, {"comm.bench_bytes=1023"}), says("a multiple of 4, such as 1024"));
  CHECK_THAT(refused(2, {"comm.bench_bytes=0"}), says("comm.bench_bytes"));
  CHECK_THAT(refused(2, {"comm.algorithm=star"}), says("naive"));
  CHECK_THAT(refused(2, {"comm.link.gbit_per_s=1000"}), says("at most 10"));
  CHECK_THAT(refused(2, {"comm.link.latency_us=-1"}), says("comm.link.latency_us"));
  CHECK_THAT(refused(4, {"run.fault=race"}), says("none is emulated"));
  CHECK_THAT(refused(2, with(kLink, {"run.fault=rank_order"})), says("--ranks 4"));
  CHECK_THAT(refused(5, with(kLink, {"run.fault=rank_order"})), says("no such halves"));
  CHECK_THAT(refused(4, {"comm.link.latency_us=200", "run.fault=rank_order"}),
             says("share the bandwidth of a link"));
  CHECK_THAT(refused(1, with(kLink, {"run.fault=slow_link"})), says("--ranks 2"));
  CHECK_THAT(refused(2, {"comm.bucket_mb=1"}), says("does not honour comm.bucket_mb"));
}

TEST_CASE("a link that takes longer than ranks wait is told in words") {
  const TempFolder folder;
  const ProcessResult result = run_alone(
      kLesson, 2, folder / "run",
      {"comm.link.gbit_per_s=0.0001", "comm.timeout_s=1", "comm.bench_bytes=1048576", "train.steps=9"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("is under way for"));
  CHECK_THAT(result.err, says("a faster comm.link"));
}

TEST_CASE("who waits longer for a rank that waits for its link is told so, and nobody is blamed") {
  // 0.8 s a message: rank 0 takes three, one behind the other, and rank 1 waits for its answer.
  const TempFolder folder;
  const ProcessResult result = run_alone(kLesson, 4, folder / "run",
                                         {"comm.algorithm=naive", "comm.link.gbit_per_s=0.01",
                                          "comm.timeout_s=1", "comm.bench_bytes=1048576", "train.steps=6"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, says("messages to rank 0 are under way for longer than the 1 s that ranks wait"));
  CHECK_THAT(result.err, says("a faster comm.link"));
}

TEST_CASE("one rank alone sums at once") {
  const TempFolder folder;
  const ProcessResult result =
      run_process({bin_folder(ISOBAR_BIN) + "/09_all_reduce", "--run-dir", (folder / "run").string(), "--set",
                   "run.ranks=1", "--set", "train.steps=3"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(sum(by_rank(folder / "run", 1, 0, "comm_calls")) == 0);
}

}  // namespace isobar::test_all_reduce
