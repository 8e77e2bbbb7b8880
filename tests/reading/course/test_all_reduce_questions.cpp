// The questions of lesson 09, each with a right and a wrong learner, and runs whose times follow the model.
#include "learners.h"
#include "made_all_reduce.h"

using namespace isobar;

namespace {

/// Two runs that differ in their algorithm, with a link or ranks for which the other one wins, and without.
Learners two_pairs(const std::string& other, const std::string& sets, const std::string& right,
                   const std::string& wrong) {
  const auto pair = [&](const std::string& last) {
    return sets + last + "; comm.algorithm=" + other + " " + sets + last;
  };
  return {pair(right), pair(wrong)};
}

const std::map<std::string, Learners>& all_reduce_learners() {
  static const Learners naive = two_pairs(
      "naive", "run.ranks=4 comm.bench_bytes=65536 comm.link.latency_us=1000 comm.link.gbit_per_s=", "3",
      "1");
  static const Learners tree = two_pairs(
      "tree", "comm.bench_bytes=1048576 comm.link.latency_us=10000 comm.link.gbit_per_s=1 run.ranks=", "8",
      "4");
  static const std::map<std::string, Learners> all = {{"09.owner", {"chunk 6", "chunk 5"}},
                                                      {"09.adds", {"", "1"}},  // main.cpp may change
                                                      {"09.messages", {"14", "16"}},
                                                      {"09.bytes", {"175", "100"}},
                                                      {"09.through_root", {"1.4 GB", "700"}},
                                                      {"09.naive", {"4", "2"}},
                                                      {"09.make_naive", naive},
                                                      {"09.make_tree", tree},
                                                      {"09.more_ranks", {"1.5", "1.17"}},
                                                      {"09.latency", {"2", "1"}},
                                                      {"09.bandwidth", {"62.5", "125"}},
                                                      {"09.busbw", {"algbw", "both"}},
                                                      {"09.tree_or_ring", {"tree", "ring"}},
                                                      {"09.overtakes", {"0.1", "0.5"}},
                                                      {"09.three_numbers", {"right", "failed"}},
                                                      {"09.same_bits", {"right", "apart"}},
                                                      {"09.break_race", {"apart", "right"}},
                                                      {"09.break_drop_message", {"named", "right"}},
                                                      {"09.break_slow_link", {"10", "3.25"}},
                                                      {"09.break_rank_order", {"2", "1"}}};
  return all;
}

}  // namespace

TEST_CASE("every question of lesson 09 is answered by the runs that it asks for") {
  MadeForQuestions made([](const std::filesystem::path& folder, const Config& config, std::int64_t repeat) {
    // Later than the model: processors wake up late.
    write_all_reduce(folder, config, {.factor = 1.03 + 0.01 * static_cast<double>(repeat)});
  });
  check_learners("09_all_reduce", all_reduce_learners(), made);
  CHECK(made.count() < 35);  // they share their runs
  check_variants("09_all_reduce", made);
}

TEST_CASE("runs of lesson 09 need no preset, say their ranks, and cost about what their links take") {
  double all_s = 0;
  for (const Question& question : read_questions(project_home(), "09_all_reduce")) {
    INFO(question.id);
    const std::vector<FoundRuns> found =
        find_runs(question, project_home(), std::vector<KnownRun>{}, nullptr);
    all_s += cost_s(found);
    for (const FoundRuns& one : found)
      CHECK_THAT(one.command, says("./isobar run 09_all_reduce --set ") && says(" --ranks ") &&
                                  !says("--preset") && !says("run.device"));
  }
  CHECK(all_s < 150);  // alone each; together they share most of them
}

TEST_CASE("a run of lesson 09 is expected to take what its link takes, and what waits in vain") {
  const LessonInfo lesson = read_lesson(project_home(), "09_all_reduce");
  const auto cost_s = [&](std::vector<std::string> sets) {
    sets.insert(sets.end(), kMadeLink.begin(), kMadeLink.end());
    sets.emplace_back("run.ranks=4");
    return run_cost_s(lesson, load_config(project_home(), lesson, {.sets = sets}, "cpu").config, nullptr);
  };
  const double ring = cost_s({});
  // Six times each size: 42 x 6 latencies of 1 ms, and 1.5 times 5.6 MB at 125 MB/s.
  const double latencies_s = 42 * 6e-3, bytes_s = 6 * 1.5 * 5.592e6 / 125e6;
  CHECK(cost_s({"run.fault=slow_link"}) - ring == Approx(9 * (latencies_s + bytes_s)).epsilon(0.02));
  CHECK(cost_s({"run.fault=rank_order"}) - ring == Approx(bytes_s).epsilon(0.02));  // latency is not shared
  CHECK(cost_s({"run.fault=drop_message", "comm.timeout_s=2"}) - ring == Approx(2));
  CHECK(cost_s({"comm.algorithm=naive"}) > ring);
}
