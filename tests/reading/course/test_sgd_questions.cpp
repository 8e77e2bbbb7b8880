// The questions of lesson 00, each with a right and a wrong learner, and the paths that its settings lead to.
#include "learners.h"
#include "made_descent.h"

using namespace isobar;

namespace {

const Learners kLine = {"", "1"};

const std::string kTen = "train.global_batch=10 train.steps=500 optim.lr=";
const std::string kEdge = "data.samples=20 train.global_batch=20 data.seed=5 optim.lr=";

const std::map<std::string, Learners>& sgd_learners() {
  static const std::map<std::string, Learners> all = {{"00.one_sample", {"both_fall", "both_rise"}},
                                                      {"00.update", kLine},
                                                      {"00.roughest", {"b1", "b100"}},
                                                      {"00.why_paths", {"noise", "aim"}},
                                                      {"00.stray", {"10", "100"}},
                                                      {"00.two_curvatures", {"0.5", "0.25"}},
                                                      {"00.stable_rate", {"0.789", "1"}},
                                                      {"00.fewest_samples", {"b1", "b1000"}},
                                                      {"00.fewest_steps", {"b1000", "b1"}},
                                                      {"00.same_rate", {"same", "b1000"}},
                                                      {"00.slow_one", {"overhead", "path"}},
                                                      {"00.make_ten", {kTen + "0.16", kTen + "0.3"}},
                                                      {"00.make_edge", {kEdge + "0.86", kEdge + "0.79"}},
                                                      {"00.four_ranks", {"same", "other"}},
                                                      {"00.average", kLine},
                                                      {"00.weight", {"4", "1"}},
                                                      {"00.break_no_broadcast", {"offset", "same"}},
                                                      {"00.break_no_average", {"apart", "diverges"}},
                                                      {"00.break_sum_not_mean", {"rises", "same"}},
                                                      {"00.break_uneven_shards", {"other", "same"}}};
  return all;
}

}  // namespace

TEST_CASE("every question of lesson 00 is answered by the paths that its own runs take") {
  MadeForQuestions made([](const std::filesystem::path& folder, const Config& config, std::int64_t repeat) {
    const double factor = 1 + 0.01 * static_cast<double>(repeat);
    MadeDescent descent;
    descent.step_us = [factor](std::int64_t samples) { return factor * made_step_us(samples); };
    write_descent(folder, config, descent);
  });
  check_learners("00_sgd", sgd_learners(), made);
  CHECK(made.count() < 30);  // they share their runs
  check_variants("00_sgd", made);
}

TEST_CASE("runs of lesson 00 need no preset and cost next to nothing") {
  for (const Question& question : read_questions(project_home(), "00_sgd")) {
    const std::vector<FoundRuns> found =
        find_runs(question, project_home(), std::vector<KnownRun>{}, nullptr);
    CHECK(cost_s(found) < 10);
    for (const FoundRuns& one : found)
      CHECK_THAT(one.command, says("./isobar run 00_sgd --set ") && !says("--preset") && !says("run.device"));
  }
}
