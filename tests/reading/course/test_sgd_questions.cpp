// The questions of lesson 00, each with a right and a wrong learner, and the paths that its settings lead to.
#include <map>
#include <set>

#include "course/grade.h"
#include "course/needed_runs.h"
#include "made_descent.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

struct Learners {
  std::string right;
  std::string wrong;
};

/// Of a question for a line: main.cpp may change, its first line is never the one.
const Learners kLine = {"", "1"};

const std::map<std::string, Learners>& learners() {
  static const std::map<std::string, Learners> all = {{"00.one_sample", {"both_fall", "both_rise"}},
                                                      {"00.update", kLine},
                                                      {"00.roughest", {"b1", "b100"}},
                                                      {"00.why_paths", {"noise", "longer"}},
                                                      {"00.stray", {"10", "100"}},
                                                      {"00.stable_rate", {"0.789", "1"}},
                                                      {"00.fewest_samples", {"b1", "b1000"}},
                                                      {"00.fewest_steps", {"b1000", "b1"}},
                                                      {"00.same_rate", {"same", "b1000"}},
                                                      {"00.slow_one", {"overhead", "path"}},
                                                      {"00.four_ranks", {"same", "other"}},
                                                      {"00.average", kLine},
                                                      {"00.break_no_broadcast", {"offset", "same"}},
                                                      {"00.break_no_average", {"apart", "diverges"}},
                                                      {"00.break_sum_not_mean", {"rises", "same"}},
                                                      {"00.break_uneven_shards", {"other", "same"}}};
  return all;
}

/// Each run of the questions, made once.
class Made {
 public:
  RuleInput input(const Question& question) {
    std::vector<FoundRuns> found = find_runs(question, project_home(), std::vector<KnownRun>{}, nullptr);
    for (FoundRuns& one : found) {
      CHECK(one.cannot == "");
      CHECK(one.missing == one.wanted.repeats);
      for (std::int64_t i = 0; i < one.wanted.repeats; ++i) one.folders.push_back(run(one, i));
    }
    return rule_input(question, project_home(), found);
  }
  std::size_t count() const { return made_.size(); }

 private:
  fs::path run(const FoundRuns& found, std::int64_t repeat) {
    const auto [at, is_new] = made_.try_emplace(found.command + std::to_string(repeat));
    if (!is_new) return at->second;
    at->second = folder_ / ("run" + std::to_string(made_.size()));
    const double factor = 1 + 0.01 * static_cast<double>(repeat);
    MadeDescent made;
    made.step_us = [factor](std::int64_t samples) { return factor * made_step_us(samples); };
    write_descent(at->second, found.config.config, made);
    return at->second;
  }

  TempFolder folder_;
  std::map<std::string, fs::path> made_;
};

}  // namespace

TEST_CASE("every question of lesson 00 is answered by the paths that its own runs take") {
  Made made;
  std::set<std::string> asked;
  for (const Question& question : read_questions(project_home(), "00_sgd")) {
    INFO(question.id << " at " << question.origin);
    REQUIRE(learners().contains(question.id));
    asked.insert(question.id);
    const Truth truth = rule_named(question.rule)->find(made.input(question));
    INFO(truth.text << truth.cannot);
    const auto told = [&](const std::string& answer) {
      return grade(question, parse_answer(question, answer, /*page_lines=*/200), truth);
    };
    const Learners& two = learners().at(question.id);
    REQUIRE((!two.right.empty() || truth.accepted.size() == 1));
    const Graded right =
        told(two.right.empty() ? truth.accepted[0].substr(0, truth.accepted[0].find('-')) : two.right);
    CHECK(right.cannot == "");
    CHECK(right.outcome == Outcome::right);
    CHECK_THAT(right.reveal, !says("{") && !says("not a number"));
    const Graded wrong = told(two.wrong);
    CHECK(wrong.outcome == Outcome::not_right);
    CHECK_THAT(wrong.says, !says("{"));
    CHECK(wrong.says != "");
    for (const Misconception& one : question.wrong) {
      if (one.answer != "below" && one.answer != "above") CHECK(told(one.answer).says != "");
    }
  }
  CHECK(asked.size() == learners().size());
  CHECK(made.count() < 30);  // they share their runs
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
