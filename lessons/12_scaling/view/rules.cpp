// Rules of predictions, and the table of all rules of lesson 12: a changed term beside published points, and
// two clusters of which not everything is published.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "12_scaling/view/run_rules.h"
#include "analyse/cluster_prediction.h"
#include "cluster/profile.h"
#include "config/load.h"
#include "core/text.h"
#include "course/rules/made.h"

namespace isobar::lesson_12 {
namespace {

using enum AnswerKind;

PointSplit split_in(const Question& question) {
  const std::string name = question.argument("split", name_of(PointSplit::test));
  const auto out = choice_named<PointSplit>(name);
  if (!out)
    wrong_question(question, "no split is called \"" + printable(name, 60) + "\"", "calibration, test");
  return *out;
}

SimulationTerms changed_terms(const Question& question) {
  SimulationTerms out = fitted_terms();
  for (const std::string& text : question.arguments("term")) {
    try {
      set_term(out, text);
    } catch (const Error& error) {
      wrong_question(question, error.what(), error.hint());
    }
  }
  return out;
}

Truth refit_truth(const RuleInput& input) {
  constexpr double kSame = 0.005;
  const PublishedFile file = read_published(input.home / "lessons/published_scaling.toml");
  const BackTest base = back_test(file, fitted_terms()),
                 other = back_test(file, changed_terms(input.question));
  const PointSplit split = split_in(input.question);
  const auto median = [&](const BackTest& test, PointSplit of) {
    const std::optional<ErrorFigures> errors = test.errors(of);
    if (!errors) throw Cannot{fmt::format("no published point of the split {} is predicted", name_of(of))};
    return errors->median;
  };
  const double before = median(base, split), after = median(other, split);
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  Truth out;
  out.accepted = {std::fabs(after - before) < kSame ? "same" : after > before ? "up" : "down"};
  out.figures = {{"base_value", percent(before)},
                 {"other_value", percent(after)},
                 {"points", std::to_string(base.errors(split)->points)}};
  for (const PointSplit one : {PointSplit::calibration, PointSplit::test}) {
    out.figures[std::string(name_of(one)) + "_base"] = percent(median(base, one));
    out.figures[std::string(name_of(one)) + "_other"] = percent(median(other, one));
  }
  out.text =
      fmt::format("median |error| over {} of the split {}: {} %, with {} {} %",
                  counted(std::stoll(out.figures["points"]), "point"), name_of(split),
                  out.figures["base_value"], joined(input.arguments("term")), out.figures["other_value"]);
  out.source = "predicted, beside what others published";
  return out;
}

void check_refit(const Question& question) {
  split_in(question);
  changed_terms(question);
}

constexpr const char* kCannotTell = "cannot_tell";

/// A cluster, and the lesson's step on one of its GPUs.
struct OnCluster {
  ClusterMachine machine;
  Prediction on_one;
};

OnCluster on_cluster(const RuleInput& input, const std::string& name) {
  const ClusterMachine machine = read_cluster(input.home / "submit/profiles" / (name + ".toml"));
  const Settings settings{.preset = input.argument("preset"), .sets = input.arguments("set")};
  const LessonInfo lesson = read_lesson(input.home, input.argument("lesson", input.question.lesson));
  return {machine, predict_on_one(lesson, settings, machine, "")};
}

Truth machine_order_truth(const RuleInput& input) {
  const int ranks = whole_argument(input.question, "ranks", 2);
  const std::vector<std::string> names = input.arguments("clusters");
  const OnCluster a = on_cluster(input, names.at(0)), b = on_cluster(input, names.at(1));
  const SimulationTerms terms = fitted_terms();
  const ClusterOrder order =
      order_of(a.on_one, a.machine, b.on_one, b.machine, ScalingLaw::weak, ranks, terms);
  Truth out;
  out.accepted = {order.better.empty() ? kCannotTell : order.better};
  for (const OnCluster* const one : {&a, &b}) {
    const OpenRange range =
        predict_on_cluster(one->on_one, one->machine, ScalingLaw::weak, {ranks}, terms).last().efficiency;
    const std::string low = percent_text(range.least), high = percent_text(range.most);
    out.figures[one->machine.name + "_low"] = low;
    out.figures[one->machine.name + "_high"] = high;
    out.text += fmt::format("{} {} to {} %, ", one->machine.name, low, high);
  }
  out.figures["term"] = order.term.empty() ? "nothing" : order.term;
  out.text += "moved most by " + out.figures["term"];
  out.source = "predicted";
  return out;
}

void check_machine_order(const Question& question) {
  whole_argument(question, "ranks", 2);
  std::vector<std::string> keys = question.arguments("clusters");
  if (keys.size() != 2 || keys[0] == keys[1])
    wrong_question(question, "machine_order compares two clusters",
                   "clusters = [\"leonardo\", \"marenostrum5\"]");
  keys.emplace_back(kCannotTell);
  check_choice_keys(question, keys, /*all=*/true);
}

// clang-format off
const LessonRules kRules{{
  {"machine_order",
   "which of two clusters has the higher weak efficiency on so many ranks, over all that is not published: its name, "
   "or cannot_tell",
   {choice}, {"clusters", "ranks"}, {"lesson", "preset", "set"}, machine_order_truth, nullptr, check_machine_order},
  {"made_diverges",
   "a run of the learner's that ends in values that are not finite, or with training losses above where they began",
   {make}, {}, {"keeps"}, made_diverges_truth, nullptr, check_made_settings},
  {"made_overfits",
   "a run of the learner's with validation losses that rise three times in a row while its training loss falls",
   {make}, {}, {"keeps"}, made_overfits_truth, nullptr, check_made_settings},
  {"noise_beside",
   "the gradient noise scale of `other` beside that of `base`: zero, less, same (within 25 %), more",
   {choice}, {"base", "other"}, {}, noise_beside_truth, nullptr, check_noise_beside},
  {"refit",
   "what the median error over published points of a `split` does where a term is changed: term = \"jitter=0\"",
   {direction}, {"term"}, {"split"}, refit_truth, nullptr, check_refit},
  {"to_target",
   "the run that first has a validation loss of `loss` by `of`: time, cost (time x ranks), samples; or never",
   {choice}, {"loss", "of"}, {"runs"}, to_target_truth, is_to_target_timed, check_to_target},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_12
