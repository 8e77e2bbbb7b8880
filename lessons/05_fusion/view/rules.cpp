// Rules of fused kernels: what takes most of a predicted step, which of several pieces gains most, and a run
// that was made faster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "course/rules/made.h"
#include "formula/device_rates.h"
#include "formula/stage_prediction.h"
#include "formula/step_time.h"

namespace isobar::lesson_05 {
namespace {

struct ClassShare {
  const char* key;
  const char* words;
  double us;
};

Truth largest_class_truth(const RuleInput& input) {
  const LessonSettings settings = settings_in(input);
  const DeviceRates& device = rates_of(input.argument("device"));
  const StepTime step = predict_step(step_form(settings.lesson, settings.config, /*on_cuda=*/true), device);
  const ClassTimes classes = step.classes();
  const ClassShare shares[] = {{"attention", "attention", classes.attention_us},
                               {"gemm", "matrix products", classes.gemm_us},
                               {"elementwise", "element-wise work", classes.element_us},
                               {"misc", "loss, update and gaps", classes.misc_us}};
  const ClassShare& most = *std::ranges::max_element(shares, [](auto& a, auto& b) { return a.us < b.us; });
  Truth out;
  out.accepted = {most.key};
  out.figures = {{"largest", most.words},
                 {"share", percent_text(most.us / step.step_us())},
                 {"step_ms", ms_text(step.step_us())}};
  for (const ClassShare& one : shares)
    out.figures[std::string(one.key) + "_share"] = percent_text(one.us / step.step_us());
  out.text =
      fmt::format("{}: {} % of a step of {} ms", most.words, out.figures["share"], out.figures["step_ms"]);
  out.source = "predicted by model for " + device.name;
  return out;
}

struct Without {
  NamedRun run;
  Spread rates;
};

/// Runs that are slower than the one with all pieces, beyond the spread; the slowest first.
std::vector<Without> slower_ones(const RuleInput& input, const NamedRun& base) {
  const Spread of_base = rates_of(base);
  std::vector<Without> out;
  for (const std::string& name : names_of_runs(input, "runs")) {
    if (name == base.name) continue;
    Without one{timed_run(input, name), {}};
    one.rates = rates_of(one.run);
    if (compare_runs(base, of_base, one.run, one.rates).direction == Direction::less)
      out.push_back(std::move(one));
  }
  std::ranges::sort(out,
                    [](const Without& a, const Without& b) { return a.rates.median() < b.rates.median(); });
  return out;
}

Truth largest_gain_truth(const RuleInput& input) {
  const NamedRun base = timed_run(input, input.argument("base"));
  const std::vector<Without> slower = slower_ones(input, base);
  Truth out;
  out.source = source_of(base);
  out.figures["base_rate"] = figure_text(rates_of(base).median());
  if (slower.empty()) {
    out.accepted = {"none"};
    out.figures["largest"] = "none";
    out.figures["gain_percent"] = "0";
    out.text = "no run is slower beyond the spread";
    return out;
  }
  const Without& slowest = slower.front();
  for (const Without& one : slower) {
    if (&one == &slowest || compare_runs(slowest.run, slowest.rates, one.run, one.rates).is_same())
      out.accepted.push_back(one.run.name);
  }
  const double gain = rates_of(base).median() / slowest.rates.median() - 1;
  out.figures["largest"] = slowest.run.name;
  out.figures["gain_percent"] = percent_text(gain);
  out.text = fmt::format("`{}` gains {} %: {} in place of {} samples/s", slowest.run.name, percent_text(gain),
                         out.figures["base_rate"], figure_text(slowest.rates.median()));
  return out;
}

/// Runs of this lesson that were started behind the newest repeat of the slow one.
std::int64_t runs_since(const NamedRun& slow) {
  constexpr const char* kStarted = "environment.started";
  std::string since;
  for (const auto& folder : slow.run->folders) since = std::max(since, value_in(config_of(folder), kStarted));
  return std::ranges::count_if(known_runs(slow.run->folder.parent_path()), [&](const KnownRun& one) {
    const std::string command = value_in(one.config, "environment.command");
    const bool is_ours = command.empty() || command.find("/" + slow.view().lesson + " ") != std::string::npos;
    return is_ours && value_in(one.config, kStarted) > since;
  });
}

/// The key of the one change of the fast run that `run` takes back. Cannot for any other run.
std::string key_taken_back(const NamedRun& slow, const NamedRun& fast, const NamedRun& run) {
  const std::vector<std::string> apart = keys_apart(fast, run);
  const auto value = [&](const NamedRun& of) { return value_in(of.run->config, apart[0]); };
  if (apart.size() == 1 && value(run) == value(slow)) return apart[0];
  throw Cannot{
      fmt::format("`{}` differs from the fast run in {}: it is to take back one change, to what the "
                  "slow run has",
                  run.name, joined(apart))};
}

Truth made_defended_truth(const RuleInput& input) {
  std::vector<NamedRun> runs = made_runs(input, 0);
  for (const NamedRun& run : runs) check_kept(input, run, /*is_timed=*/true);
  const auto is_slow = [&](const NamedRun& run) {
    return std::ranges::all_of(input.arguments("slow"),
                               [&](auto& one) { return has_setting(input.question, &run, one); });
  };
  std::ranges::sort(
      runs, [](const NamedRun& a, const NamedRun& b) { return rates_of(a).median() > rates_of(b).median(); });
  const auto found = std::ranges::find_if(runs, is_slow);
  if (runs.size() < 3 || found == runs.end() || found == runs.begin())
    throw Cannot{"the slow run, a faster one, and one for each change are needed"};
  const NamedRun slow = *found, fast = runs.front();
  const auto faster_than = [&](const NamedRun& run) {
    return compare_runs(run, rates_of(run), fast, rates_of(fast));
  };
  std::map<std::string, Compared> worth;  // by key
  for (const NamedRun& run : runs) {
    if (run.run != slow.run && run.run != fast.run) worth[key_taken_back(slow, fast, run)] = faster_than(run);
  }
  const Compared speed = faster_than(slow);
  const double times = number_argument(input, "times"), budget = number_argument(input, "budget");
  const auto loss = [](const NamedRun& run) { return run.view().summary.valid_loss; };
  const double apart = 100 * std::fabs(loss(fast) / loss(slow) - 1),
               within = number_argument(input, "within");
  const std::int64_t count = runs_since(slow);
  std::vector<std::string> report, lacks;
  const auto want = [&](bool is_so, const std::string& otherwise) {
    if (!is_so) lacks.push_back(otherwise);
  };
  want(speed.ratio >= times && speed.direction == Direction::more,
       fmt::format("{:g} times is required", times));
  want(apart <= within, fmt::format("the losses lie {:.2g} % apart, {:g} % at most", apart, within));
  want(static_cast<double>(count) <= budget, fmt::format("{} runs were made, {:g} at most", count, budget));
  for (const std::string& key : keys_apart(slow, fast)) {
    const std::string change = key + " = " + value_in(fast.run->config, key);
    want(worth.contains(key), "no run takes back " + change);
    if (!worth.contains(key)) continue;
    want(worth[key].direction == Direction::more, change + " is worth nothing beyond the spread");
    report.push_back(change + ": " + ratio_sentence(worth[key]));
  }
  Truth out;
  if (lacks.empty()) out.accepted = {"yes"};
  out.figures = {{"apart", fmt::format("{:.2g}", apart)},
                 {"runs", std::to_string(count)},
                 {"report", joined(report, "; ")}};
  out.text = fmt::format("{} samples/s became {}: {}", figure_text(rates_of(slow).median()),
                         figure_text(rates_of(fast).median()), ratio_sentence(speed));
  if (!lacks.empty()) out.text += "; but " + joined(lacks, "; ");
  out.source = source_of(slow);
  return out;
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"largest_class",
   "what takes most of a predicted step: attention, gemm, elementwise, misc",
   {choice}, {"device"}, {"lesson", "preset", "set"}, largest_class_truth},
  {"largest_gain",
   "the run, each with one piece less than `base`, that is slowest; none if none is slower",
   {choice}, {"base"}, {"runs"}, largest_gain_truth, always_timed},
  {"made_defended",
   "runs of the learner's: the one with the settings `slow`; the quickest, so many `times` as fast, its loss `within` "
   "so many %; and one for each key that differs, which takes it back and is slower. `budget`: runs behind the slow",
   {make}, {"slow", "times", "within", "budget"}, {"keeps"}, made_defended_truth, always_timed},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_05
