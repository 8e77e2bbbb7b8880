#include "12_scaling/view/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/made.h"
#include "formula/gradient_noise.h"

namespace isobar::lesson_12 {
namespace {

std::string loss_text(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.3g}", loss) : "not a number";
}

GradientNoise noise_of(const NamedRun& run) {
  const CurveRef local = run.run->series.find("train/local_square"),
                 mean = run.run->series.find("train/mean_square");
  if (!local || !mean)
    throw Cannot{"`" + run.name + "` measured no gradient noise, which train.noise_every asks for", run.name};
  std::vector<GradientSquares> steps;
  for (std::size_t i = 0; i < local.curve->y.size(); ++i)
    steps.push_back({local.curve->y[i], mean.curve->at_row(local.curve->row(i)).value_or(-1)});
  const auto ranks = static_cast<int>(run.view().summary.world);
  const std::optional<GradientNoise> out = estimate_noise(steps, run.run->samples_a_step() / ranks, ranks);
  if (!out)
    throw Cannot{fmt::format("{} of `{}` do not show a gradient beside its noise",
                             counted(std::ssize(steps), "measured step"), run.name),
                 run.name};
  return *out;
}

constexpr std::array<std::pair<const char*, const char*>, 3> kCosts = {
    {{"time", "s"}, {"cost", "rank-seconds"}, {"samples", "samples"}}};

const char* cost_unit(const Question& question) {
  const std::string of = question.argument("of");
  for (const auto& [name, unit] : kCosts) {
    if (of == name) return unit;
  }
  wrong_question(question, "to_target takes no of = \"" + printable(of, 60) + "\"", "time, cost, samples");
}

/// From the first evaluation, which stands before the first step, until another: evaluations count, the start
/// of the program does not.
std::optional<double> cost_of(const RunScores& first, const RunScores& at, const std::string& of,
                              double ranks) {
  if (of == "samples") return at.samples;
  if (!at.wall_s || !first.wall_s || first.step != 0) return std::nullopt;
  return (*at.wall_s - *first.wall_s) * (of == "cost" ? ranks : 1);
}

struct Reached {
  NamedRun run = {};
  Spread values = {};  ///< empty: not every repeat came there
  std::string text = "never";
};

Reached reached_by(const RuleInput& input, const std::string& name, double target) {
  const std::string of = input.argument("of");
  Reached out{.run = is_to_target_timed(input.question) ? timed_run(input, name) : ended_run(input, name)};
  const Repeats& repeats = out.run.run->repeats;
  std::vector<double> values;
  for (const SteadyFigures& one : repeats) {
    const std::vector<RunScores>& scores = one.view.scores;
    if (scores.empty()) throw Cannot{"`" + name + "` was never scored", name};
    const auto there = std::ranges::find_if(scores, [&](const RunScores& at) { return at.loss <= target; });
    if (there == scores.end()) continue;
    const auto value = cost_of(scores.front(), *there, of, static_cast<double>(one.view.summary.world));
    if (!value) throw Cannot{fmt::format("the scores of `{}` have no {}", name, of), name};
    values.push_back(*value);
  }
  if (values.size() < repeats.size()) return out;
  out.values = Spread(values);
  out.text = figure_text(out.values.median()) + " " + cost_unit(input.question);
  return out;
}

struct LossAt {
  double step = 0, loss = 0;
};

std::vector<LossAt> losses_of(const NamedRun& run, const char* curve) {
  std::vector<LossAt> out;
  for (const auto& [step, loss] : run.run->series.find(curve).points()) out.push_back({step, loss});
  return out;
}

/// The training loss that was reported last before an evaluation, or the first there is.
double loss_before(const std::vector<LossAt>& losses, const LossAt& evaluation) {
  double out = losses.empty() ? NAN : losses.front().loss;
  for (const LossAt& at : losses) {
    if (at.step < evaluation.step) out = at.loss;
  }
  return out;
}

/// Four evaluations in a row up to one of them, and training since the least validation loss until then.
struct LossSpan {
  double best = 0, last = 0, train_first = 0, train_last = 0, until_step = 0;
  bool is_rising = false;

  static constexpr std::size_t kEvaluations = 4;
  static constexpr double kRise = 1 + kSmallestThatMatters;
  bool overfits() const { return is_rising && last >= kRise * best && train_last < train_first; }
};

LossSpan span_until(const std::vector<LossAt>& valid, const std::vector<LossAt>& train, std::size_t end) {
  const auto best = std::min_element(valid.begin(), valid.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                                     [](const LossAt& a, const LossAt& b) { return a.loss < b.loss; });
  const LossAt* const first = &valid[end + 1 - LossSpan::kEvaluations];
  return {.best = best->loss,
          .last = valid[end].loss,
          .train_first = loss_before(train, *best),
          .train_last = loss_before(train, valid[end]),
          .until_step = valid[end].step,
          .is_rising = first[0].loss < first[1].loss && first[1].loss < first[2].loss &&
                       first[2].loss < first[3].loss};
}

/// What the guard of gradients ends a run with; a value of the data or of a kernel's padding is no
/// divergence.
bool ended_not_finite(const RunView& view) {
  constexpr std::array kReasons = {"weight is not a finite number",    "gradient is not a finite number",
                                   "gradients are not finite numbers", "gradients were not finite numbers",
                                   "loss is not a finite number",      "training cannot continue",
                                   "because gradients overflowed"};
  const std::string what = view.reason.substr(0, view.reason.find(';'));
  return view.state == RunState::failed &&
         std::ranges::any_of(kReasons, [&](const char* one) { return what.find(one) != std::string::npos; });
}

}  // namespace

Truth noise_beside_truth(const RuleInput& input) {
  constexpr double kZero = 0.01, kSame = 0.25;
  const auto [base, other] = ended_pair(input);
  const GradientNoise own = noise_of(base), beside = noise_of(other);
  if (!(own.scale.value > 0))
    throw Cannot{"the gradient noise of `" + base.name + "` is not above 0", base.name};
  const double ratio = beside.scale.value / own.scale.value;
  Truth out;
  out.accepted = {ratio < kZero                   ? "zero"
                  : std::fabs(ratio - 1) <= kSame ? "same"
                  : ratio < 1                     ? "less"
                                                  : "more"};
  out.figures = {{"base_value", figure_text(own.scale.value)},
                 {"other_value", figure_text(ratio < kZero ? 0 : beside.scale.value)},
                 {"steps", std::to_string(beside.steps)}};
  out.text = fmt::format("{} samples in `{}`, {} in `{}`", out.figures["base_value"], base.name,
                         out.figures["other_value"], other.name);
  out.source = source_of(base);
  return out;
}

void check_noise_beside(const Question& question) {
  check_choice_keys(question, {"zero", "less", "same", "more"}, /*all=*/true);
}

bool is_to_target_timed(const Question& question) { return question.argument("of") != "samples"; }

Truth to_target_truth(const RuleInput& input) {
  const double target = number_argument(input, "loss");
  std::vector<Reached> all;
  for (const std::string& name : names_of_runs(input, "runs")) all.push_back(reached_by(input, name, target));
  Truth out;
  const Reached* best = nullptr;
  for (const Reached& one : all) {
    check_one_source(all.front().run, one.run);
    out.figures[one.run.name + "_value"] = one.text;
    if (!one.values.empty() && (best == nullptr || one.values.median() < best->values.median())) best = &one;
  }
  const auto is_as_good = [&](const Reached& one) {
    if (&one == best || one.values.empty()) return &one == best;
    return is_to_target_timed(input.question)
               ? compare_runs(best->run, best->values, one.run, one.values).is_same()
               : one.values.median() == best->values.median();
  };
  for (const Reached& one : all) {
    if (is_as_good(one)) out.accepted.push_back(one.run.name);
  }
  if (best == nullptr) out.accepted = {"never"};
  out.figures["best"] = best == nullptr ? "never" : best->run.name;
  out.figures["value"] = best == nullptr ? "never" : best->text;
  out.figures["loss"] = input.argument("loss");
  out.text = fmt::format("validation loss {}: ", out.figures["loss"]);
  for (const Reached& one : all)
    out.text += fmt::format("{}`{}` {}", &one == &all.front() ? "" : ", ", one.run.name, one.text);
  out.source = source_of(all.front().run);
  return out;
}

void check_to_target(const Question& question) {
  cost_unit(question);
  if (!(number_of<double>(question.argument("loss")).value_or(0) > 0))
    wrong_question(question, "to_target wants a loss above 0", "loss = \"0.6\"");
  std::vector<std::string> keys = question.arguments("runs");
  if (keys.empty()) std::ranges::transform(question.runs, std::back_inserter(keys), &NeededRun::name);
  if (keys.size() < 2) wrong_question(question, "to_target compares two runs or more", "runs = [...]");
  keys.emplace_back("never");
  check_choice_keys(question, keys, /*all=*/true);
}

Truth made_overfits_truth(const RuleInput& input) {
  const NamedRun run = made_runs(input, 1).front();
  check_kept(input, run, /*is_timed=*/false);
  const std::vector<LossAt> valid = losses_of(run, "valid/loss"), train = losses_of(run, "train/loss");
  if (valid.size() < LossSpan::kEvaluations)
    throw Cannot{fmt::format("`{}` has {}, {} are needed", run.name, counted(std::ssize(valid), "evaluation"),
                             LossSpan::kEvaluations)};
  LossSpan found;  // the last one that overfits, else the last one
  for (std::size_t end = LossSpan::kEvaluations - 1; end < valid.size(); ++end) {
    const LossSpan span = span_until(valid, train, end);
    if (span.overfits() || !found.overfits()) found = span;
  }
  Truth out;
  if (found.overfits()) out.accepted = {"yes"};
  out.figures = {{"best", loss_text(found.best)},
                 {"last", loss_text(found.last)},
                 {"train_first", loss_text(found.train_first)},
                 {"train_last", loss_text(found.train_last)},
                 {"evaluations", std::to_string(valid.size())}};
  out.text = fmt::format("validation loss {} at least and {} after {:.0f} steps{}; training loss {}, then {}",
                         out.figures["best"], out.figures["last"], found.until_step,
                         found.is_rising ? ", higher three times in a row" : "", out.figures["train_first"],
                         out.figures["train_last"]);
  out.source = source_of(run);
  return out;
}

Truth made_diverges_truth(const RuleInput& input) {
  constexpr std::size_t kLeastLosses = 4;
  const NamedRun run = made_runs(input, 1).front();
  const bool broke = ended_not_finite(run.view());
  check_made(input, run);
  if (!broke) check_ended(run);
  check_settings(input, run);
  const std::vector<LossAt> losses = losses_of(run, "train/loss");
  if (!broke && losses.size() < kLeastLosses)
    throw Cannot{fmt::format("`{}` reports {}, {} are needed to see where it ends", run.name,
                             counted(std::ssize(losses), "value") + " of the training loss", kLeastLosses)};
  const double start = losses.empty() ? NAN : losses.front().loss;
  const auto quarter = losses.end() - static_cast<std::ptrdiff_t>(losses.size() / 4);
  const double above = (1 + kSmallestThatMatters) * start;
  const bool not_finite =
      broke || std::any_of(quarter, losses.end(), [](const LossAt& at) { return !std::isfinite(at.loss); });
  const bool is_above =
      !not_finite && std::all_of(quarter, losses.end(), [&](const LossAt& at) { return at.loss > above; });
  Truth out;
  if (not_finite || is_above) out.accepted = {"yes"};
  out.figures = {{"start", losses.empty() ? "-" : loss_text(start)},
                 {"end", not_finite ? "not finite" : loss_text(losses.back().loss)},
                 {"steps", std::to_string(run.view().summary.steps)},
                 {"how", not_finite ? "not finite"
                         : is_above ? "above where it began"
                                    : "not above where it began"}};
  out.text =
      fmt::format("training loss from {} to {} in {}{}", out.figures["start"], out.figures["end"],
                  counted(run.view().summary.steps, "step"), not_finite ? "" : ": " + out.figures["how"]);
  out.source = source_of(run);
  return out;
}

}  // namespace isobar::lesson_12
