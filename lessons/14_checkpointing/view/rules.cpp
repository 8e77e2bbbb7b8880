// Rules of memory: what a run's recorded step held and when, and which setting fits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analyse/parity.h"
#include "core/text.h"
#include "course/rules/made.h"

namespace isobar::lesson_14 {
namespace {

using enum AnswerKind;

std::string mb_text(std::uint64_t bytes) { return figure_text(static_cast<double>(bytes) * 1e-6); }

MemoryTimeline recorded_memory(const NamedRun& run) {
  if (!has_memory(run.run->folder))
    throw Cannot{"`" + run.name + "` did not record what its memory held", run.name};
  return memory_of(run, run.run->folder);
}

std::uint64_t most_block_bytes(const NamedRun& run, const MemoryTimeline& memory) {
  const std::uint64_t out = memory.most_block_bytes();
  if (out == 0) throw Cannot{"no activation of a block was seen in `" + run.name + "`", run.name};
  return out;
}

void add_peak(const MemoryTimeline& memory, Truth& out) {
  out.figures["peak_mb"] = mb_text(memory.peak_bytes());
  out.figures["stage"] = memory.peak_stage.empty() ? "no stage" : memory.peak_stage;
  out.figures["owner"] = name_of(memory.peak_owner());
  out.figures["owner_mb"] = mb_text(memory.peak().of(memory.peak_owner()));
}

Truth block_activations_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const MemoryTimeline memory = recorded_memory(run);
  const auto bytes = static_cast<double>(most_block_bytes(run, memory));
  Truth out = truth_of(input.question, Quantity::bytes, Spread({bytes}));
  add_peak(memory, out);
  out.figures["value"] = figure_text(out.number);
  out.figures["count"] = figure_text(calculated(input.question, input.argument("count", "0")));
  out.text = fmt::format("{} {}", out.figures["value"], input.question.unit);
  out.source = source_of(run);
  return out;
}

void check_block_activations(const Question& question) {
  check_unit<Quantity::bytes>(question);
  calculated(question, question.argument("count", "0"));
}

/// Where in its stage, from 0 to 1, the peak lies.
double place_in_stage(const MemoryTimeline& memory) {
  const std::int64_t at_us = memory.peak().at_us;
  for (const MemoryStage& stage : memory.stages) {
    if (stage.name == memory.peak_stage && at_us >= stage.begin_us && at_us <= stage.end_us)
      return static_cast<double>(at_us - stage.begin_us) /
             static_cast<double>(std::max<std::int64_t>(1, stage.end_us - stage.begin_us));
  }
  return 0;
}

std::string_view moment_of(const std::string& stage, double place) {
  if (stage == "forward") return place < 0.5 ? "begin" : "turn";
  if (stage == "backward") return place < 0.5 ? "turn" : "end";
  return stage == "comm" || stage == "optimize" ? "update" : "begin";
}

Truth peak_moment_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const MemoryTimeline memory = recorded_memory(run);
  const double place = place_in_stage(memory);
  Truth out;
  out.accepted = {std::string(moment_of(memory.peak_stage, place))};
  add_peak(memory, out);
  out.figures["place"] = fmt::format("{:.0f}", 100 * place);
  out.text = fmt::format("{} MB in {}, at {} % of it", out.figures["peak_mb"], out.figures["stage"],
                         out.figures["place"]);
  out.source = source_of(run);
  return out;
}

void check_peak_moment(const Question& question) {
  check_choice_keys(question, {"begin", "turn", "end", "update"});
}

Truth blocks_beside_truth(const RuleInput& input) {
  constexpr double kSame = 0.05;
  const auto [base, other] = ended_pair(input);
  const std::uint64_t of_base = most_block_bytes(base, recorded_memory(base)),
                      of_other = most_block_bytes(other, recorded_memory(other));
  const double ratio = static_cast<double>(of_other) / static_cast<double>(of_base);
  Truth out;
  out.accepted = {std::fabs(ratio - 1) < kSame ? "same" : ratio > 1 ? "up" : "down"};
  out.figures = {{"base_value", mb_text(of_base)},
                 {"other_value", mb_text(of_other)},
                 {"ratio", fmt::format("{:.2f}", ratio)}};
  out.text = fmt::format("activations of blocks: {} MB in `{}`, {} MB in `{}`", mb_text(of_base), base.name,
                         mb_text(of_other), other.name);
  out.source = source_of(base);
  return out;
}

std::string loss_text(const NamedRun& run) { return fmt::format("{:.5g}", run.view().summary.last_loss); }

const KeyedValue& fitting(const Question& question, const std::vector<KeyedValue>& entries, double room) {
  const auto found = std::ranges::find_if(entries, [&](const KeyedValue& one) { return one.value <= room; });
  if (found == entries.end())
    wrong_question(question, fmt::format("nothing fits into {:g}", room), "the last of `of` is to fit");
  return *found;
}

Truth first_fit_truth(const RuleInput& input) {
  const std::vector<KeyedValue> entries = keyed_values(input.question, "of");
  const double room = calculated(input.question, input.argument("most"));
  const KeyedValue& found = fitting(input.question, entries, room);
  Truth out;
  out.accepted = {found.key};
  for (const KeyedValue& one : entries) out.figures[one.key] = figure_text(one.value);
  out.figures["room"] = figure_text(room);
  out.figures["fits"] = found.key;
  out.text = fmt::format("{} needs {}, there is room for {}", found.key, figure_text(found.value),
                         out.figures["room"]);
  out.source = "by formula";
  return out;
}

void check_first_fit(const Question& question) {
  const std::vector<KeyedValue> entries = keyed_values(question, "of");
  fitting(question, entries, calculated(question, question.argument("most")));
  for (const KeyedValue& one : entries) {
    if (question.choice(one.key) == nullptr || question.choices.size() != entries.size())
      wrong_question(question, "its choices are not the keys of `of`", "one choice for each");
  }
}

Truth made_memory_truth(const RuleInput& input) {
  const auto peak_of = [](const NamedRun& run) {
    return Spread({static_cast<double>(recorded_memory(run).peak_bytes())});
  };
  Truth out = made_truth_of(
      input, {.name = "peak of tensors", .quantity = Quantity::bytes, .wants_more = false, .of = peak_of});
  const std::vector<NamedRun> runs = made_runs(input, 2);
  const LossesCompared losses = losses_between(runs[0], runs[1]);
  if (losses.parity == Parity::differs) {
    out.accepted.clear();
    out.text += "; their losses differ: " + losses.text();
  }
  out.figures["first_loss"] = loss_text(runs[0]);
  out.figures["second_loss"] = loss_text(runs[1]);
  return out;
}

// clang-format off
const LessonRules kRules{{
  {"block_activations",
   "the most that activations of all blocks take at a moment of the recorded step; `count`: a formula in the unit",
   {number}, {"run"}, {"count"}, block_activations_truth, nullptr, check_block_activations},
  {"blocks_beside",
   "whether activations of blocks take more at their largest in `other` than in `base` (5 % are the same)",
   {direction}, {"base", "other"}, {}, blocks_beside_truth},
  {"first_fit",
   "the first choice whose formula gives `most` or less: of = [\"none 36 * {depth}\", \"block 4 * {depth} + 36\"]",
   {choice}, {"of", "most"}, {}, first_fit_truth, nullptr, check_first_fit},
  {"made_memory",
   "two runs of the learner's with equal losses, of which the tensors of one take so many `times` less at their peak",
   {make}, {"times", "differ"}, {"keeps"}, made_memory_truth, nullptr, check_made_arguments},
  {"peak_moment",
   "when the tensors of the recorded step take most: begin (of forward), turn, end (of backward), update",
   {choice}, {"run"}, {}, peak_moment_truth, nullptr, check_peak_moment},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_14
