// Rules of lesson 13: what brings a model below so many GiB, what is largest at the peak of a step, and what
// a change of settings does to bytes sent and bytes held.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "config/load.h"
#include "core/find.h"
#include "course/rules/made.h"
#include "formula/memory_plan.h"

namespace isobar::lesson_13 {
namespace {

std::string mb_text(double bytes) { return number_text(Quantity::bytes, bytes); }

/// A model on so many GPUs, as it is, with shared states, and with half the samples.
struct ThreePlans {
  MemoryPlan plain, shared, halved;
  double limit = 0;  ///< bytes

  bool fits(const MemoryPlan& plan) const { return static_cast<double>(plan.total()) <= limit; }
  std::string key() const {
    if (fits(shared)) return fits(halved) ? "either" : "states";
    return fits(halved) ? "samples" : "neither";
  }
};

ThreePlans three_plans(const RuleInput& input) {
  constexpr double kGib = 1024.0 * 1024 * 1024, kFar = 0.03;
  const std::int64_t ranks = whole_argument(input.question, "ranks", 2),
                     samples = whole_argument(input.question, "samples", 2);
  const LessonInfo lesson = read_lesson(input.home, input.argument("lesson", input.question.lesson));
  const auto plan_with = [&](std::int64_t zero, std::int64_t each) {
    Settings settings{.preset = input.argument("preset"), .sets = input.arguments("set")};
    for (const auto& [key, value] :
         {std::pair{"mesh.zero", zero}, {"run.ranks", ranks}, {"train.global_batch", ranks * each}})
      settings.sets.push_back(fmt::format("{}={}", key, value));
    const Config config = read_config(input.home, lesson, settings, "cuda").config;
    return plan_memory(lesson, config, memory_facts(config, /*on_cuda=*/true));
  };
  const ThreePlans out{.plain = plan_with(0, samples),
                       .shared = plan_with(3, samples),
                       .halved = plan_with(0, samples / 2),
                       .limit = kGib * number_argument(input, "gib")};
  if (out.fits(out.plain)) wrong_question(input, "it fits as it is", "fewer GiB, or more samples");
  for (const MemoryPlan* const plan : {&out.plain, &out.shared, &out.halved}) {
    const double apart = static_cast<double>(plan->total()) / out.limit - 1;
    if (std::fabs(apart) < kFar)
      wrong_question(input,
                     fmt::format("a plan of {} GiB lies within 3 % of the limit",
                                 gib_text(static_cast<double>(plan->total()))),
                     "a plan is not so exact: another limit");
  }
  return out;
}

Truth fits_by_truth(const RuleInput& input) {
  const ThreePlans plans = three_plans(input);
  const auto text = [](std::uint64_t bytes) { return gib_text(static_cast<double>(bytes)); };
  Truth out;
  out.accepted = {plans.key()};
  out.figures = {{"value", text(plans.plain.total())},
                 {"state_gib", text(plans.plain.state())},
                 {"activations_gib", text(plans.plain.activations)},
                 {"shared_gib", text(plans.shared.total())},
                 {"halved_gib", text(plans.halved.total())}};
  out.text = fmt::format("{} GiB as it is, {} with shared states, {} with half the samples",
                         out.figures["value"], out.figures["shared_gib"], out.figures["halved_gib"]);
  out.source = "by formula";
  return out;
}

void check_fits_by(const Question& question) {
  check_choice_keys(question, {"states", "samples", "either", "neither"});
}

/// Peaks of all its repeats, in bytes without the program.
Spread peaks_of(const NamedRun& run) {
  std::vector<double> out;
  for (const std::filesystem::path& folder : run.run->folders)
    out.push_back(static_cast<double>(memory_of(run, folder).peak_bytes()));
  return Spread(out);
}

constexpr std::array kOfModel = {MemoryCategory::weights, MemoryCategory::gradients, MemoryCategory::moments,
                                 MemoryCategory::activations};

Truth peak_owner_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const MemoryTimeline memory = memory_of(run, run.run->folder);
  const MemoryMoment& peak = memory.peak();
  const MemoryCategory most =
      *std::ranges::max_element(kOfModel, {}, [&](MemoryCategory one) { return peak.of(one); });
  Truth out;
  out.accepted = {name_of(most)};
  for (const MemoryCategory one : kOfModel)
    out.figures[name_of(one)] = mb_text(static_cast<double>(peak.of(one)));
  out.figures["stage"] = memory.peak_stage;
  out.figures["peak"] = mb_text(static_cast<double>(memory.peak_bytes()));
  out.text = fmt::format("the peak is in {}, {} MB without the program, and {} take most", memory.peak_stage,
                         out.figures["peak"], name_of(most));
  out.source = source_of(run);
  return out;
}

void check_peak_owner(const Question& question) {
  std::vector<std::string> keys;
  for (const MemoryCategory one : kOfModel) keys.emplace_back(name_of(one));
  check_choice_keys(question, keys);
}

Truth sends_and_holds_truth(const RuleInput& input) {
  constexpr double kSame = 0.01;  // the moments of messages vary a little
  const Figure& wire = *figure_named("wire_mb_per_step");
  const auto [base, other] = ended_pair(input);
  const auto sent = [&](const NamedRun& run) {
    const Spread out = values_of(wire, run.run->repeats);
    if (out.empty()) throw Cannot{"`" + run.name + "` counts no bytes that it sends", run.name};
    return out.median();
  };
  const double wire_before = sent(base), wire_after = sent(other);
  const double peak_before = peaks_of(base).median(), peak_after = peaks_of(other).median();
  Truth out;
  out.accepted = {fmt::format("{}_{}", word_between(wire_before, wire_after, kSame * wire_before),
                              word_between(peak_before, peak_after, kSame * peak_before))};
  out.figures = {{"base_wire", mb_text(wire_before)},
                 {"other_wire", mb_text(wire_after)},
                 {"base_peak", mb_text(peak_before)},
                 {"other_peak", mb_text(peak_after)}};
  out.text = fmt::format("{} and {} MB sent a step, {} and {} MB at the peak without the program",
                         out.figures["base_wire"], out.figures["other_wire"], out.figures["base_peak"],
                         out.figures["other_peak"]);
  out.source = source_of(base);
  return out;
}

void check_sends_and_holds(const Question& question) {
  check_choice_keys(question, pairs_of({"less", "same", "more"}));
}

Truth made_peak_truth(const RuleInput& input) {
  return made_truth_of(input, {.name = "the peak without the program",
                               .quantity = Quantity::bytes,
                               .of = [](const NamedRun& run) { return peaks_of(run); }});
}

/// Distances that grow or shrink by less stay: the largest value of an update varies from step to step.
const char* distance_word(double first, double last) {
  constexpr double kStays = 2;
  if (first == 0 && last == 0) return "zero";
  if (last > kStays * first) return "grows";
  return last < first / kStays ? "shrinks" : "stays";
}

/// Without the equal weights that ranks begin with.
Truth apart_since_update_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  std::map<std::int64_t, double> distances = distances_between(run, "replicas");
  distances.erase(0);
  if (distances.size() < 2)
    throw Cannot{fmt::format("`{}` reports fewer than twice how far its ranks are apart", run.name),
                 run.name};
  const double first = distances.begin()->second, last = distances.rbegin()->second;
  if (!std::isfinite(first) || !std::isfinite(last))
    throw Cannot{fmt::format("the weights of `{}` are no numbers", run.name), run.name};
  Truth out;
  out.accepted = {distance_word(first, last)};
  out.figures = {{"first", fmt::format("{:.3g}", first)}, {"last", fmt::format("{:.3g}", last)}};
  out.text = fmt::format("weights of two ranks are up to {} apart after {} steps and {} at last",
                         out.figures["first"], distances.begin()->first, out.figures["last"]);
  out.source = source_of(run);
  return out;
}

void check_apart_since_update(const Question& question) {
  check_choice_keys(question, {"zero", "stays", "grows", "shrinks"});
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"apart_since_update",
   "what the distance between ranks' weights does from the first report behind an update to the last: zero, stays, "
   "grows, shrinks",
   {choice}, {"run"}, {}, apart_since_update_truth, nullptr, check_apart_since_update},
  {"fits_by",
   "what alone brings a preset with so many `samples` on each of `ranks` GPUs below so many `gib`: states (shared out "
   "by mesh.zero = 3), samples (half of them), either, neither",
   {choice}, {"preset", "ranks", "samples", "gib"}, {"lesson", "set"}, fits_by_truth, nullptr, check_fits_by},
  {"made_peak",
   "the peak without the program of a run of the learner's, from `least` to `most` MB, or of two that are so many "
   "`times` apart; `keeps`, `wins`, `differ` as in made",
   {make}, {}, {"least", "most", "times", "keeps", "wins", "differ"}, made_peak_truth, nullptr, check_made_arguments},
  {"peak_owner",
   "what of the model takes most at the peak of a run's step: weights, gradients, moments, activations",
   {choice}, {"run"}, {}, peak_owner_truth, nullptr, check_peak_owner},
  {"sends_and_holds",
   "what becomes of bytes sent and of the peak without the program from `base` to `other`: less_more, same_less, ...",
   {choice}, {"base", "other"}, {}, sends_and_holds_truth, nullptr, check_sends_and_holds},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_13
