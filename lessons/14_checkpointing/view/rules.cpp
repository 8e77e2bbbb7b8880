// Rules of memory: what a run's recorded step held and when, and which setting fits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analyse/parity.h"
#include "core/find.h"
#include "core/text.h"
#include "course/rules/made.h"
#include "record/memory_timeline.h"

namespace isobar::lesson_14 {
namespace {

using enum AnswerKind;

std::string mb_text(std::uint64_t bytes) { return figure_text(static_cast<double>(bytes) * 1e-6); }

MemoryTimeline memory_of(const NamedRun& run) {
  if (!has_memory(run.run->folder))
    throw Cannot{"`" + run.name + "` did not record what its memory held", run.name};
  return read_memory(run.run->folder);
}

/// Activations of all blocks at one moment, without those of the ends of the model.
std::uint64_t block_bytes(const MemoryTimeline& memory, const MemoryMoment& moment) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < memory.owners.size() && i < moment.activations.size(); ++i) {
    if (memory.owners[i].starts_with("blocks.")) out += moment.activations[i];
  }
  return out;
}

std::uint64_t most_block_bytes(const NamedRun& run, const MemoryTimeline& memory) {
  std::uint64_t out = 0;
  for (const MemoryMoment& one : memory.moments) out = std::max(out, block_bytes(memory, one));
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
  const MemoryTimeline memory = memory_of(run);
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

constexpr std::array<std::string_view, 4> kMoments = {"begin", "turn", "end", "update"};

std::string_view moment_of(const std::string& stage, double place) {
  if (stage == "forward") return place < 0.5 ? "begin" : "turn";
  if (stage == "backward") return place < 0.5 ? "turn" : "end";
  return stage == "comm" || stage == "optimize" ? "update" : "begin";
}

Truth peak_moment_truth(const RuleInput& input) {
  const NamedRun run = ended_run(input, input.argument("run"));
  const MemoryTimeline memory = memory_of(run);
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

template <std::size_t Count>
void check_choices(const Question& question, const std::array<std::string_view, Count>& keys) {
  for (const QuestionChoice& choice : question.choices) {
    if (std::ranges::find(keys, choice.key) == keys.end())
      wrong_question(question, "the rule never accepts \"" + printable(choice.key, 60) + "\"",
                     "its answers: " + joined(std::vector<std::string>(keys.begin(), keys.end())));
  }
}

void check_peak_moment(const Question& question) { check_choices(question, kMoments); }

Truth blocks_beside_truth(const RuleInput& input) {
  constexpr double kSame = 0.05;
  const NamedRun base = ended_run(input, input.argument("base")),
                 other = ended_run(input, input.argument("other"));
  check_one_source(base, other);
  const std::uint64_t of_base = most_block_bytes(base, memory_of(base)),
                      of_other = most_block_bytes(other, memory_of(other));
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

LossesCompared losses_of(const NamedRun& base, const NamedRun& other) {
  const LossesCompared out = compare_losses(base.view(), base.run->series, other.view(), other.run->series);
  if (out.parity == Parity::unknown)
    throw Cannot{fmt::format("`{}` and `{}` have no losses at the same steps", base.name, other.name),
                 other.name};
  return out;
}

std::string loss_text(const NamedRun& run) { return fmt::format("{:.5g}", run.view().summary.last_loss); }

struct FitEntry {
  std::string key;
  double needs = 0;
};

/// "KEY FORMULA" of each, in their order.
std::vector<FitEntry> entries_of(const Question& question) {
  std::vector<FitEntry> out;
  for (const std::string& one : question.arguments("of")) {
    const std::size_t end = std::min(one.find(' '), one.size());
    out.push_back({one.substr(0, end), calculated(question, one.substr(std::min(end + 1, one.size())))});
  }
  return out;
}

const FitEntry& fitting(const Question& question, const std::vector<FitEntry>& entries, double room) {
  const auto found = std::ranges::find_if(entries, [&](const FitEntry& one) { return one.needs <= room; });
  if (found == entries.end())
    wrong_question(question, fmt::format("nothing fits into {:g}", room), "the last of `of` is to fit");
  return *found;
}

Truth first_fit_truth(const RuleInput& input) {
  const std::vector<FitEntry> entries = entries_of(input.question);
  const double room = calculated(input.question, input.argument("most"));
  const FitEntry& found = fitting(input.question, entries, room);
  Truth out;
  out.accepted = {found.key};
  for (const FitEntry& one : entries) out.figures[one.key] = figure_text(one.needs);
  out.figures["room"] = figure_text(room);
  out.figures["fits"] = found.key;
  out.text = fmt::format("{} needs {}, there is room for {}", found.key, figure_text(found.needs),
                         out.figures["room"]);
  out.source = "by formula";
  return out;
}

void check_first_fit(const Question& question) {
  const std::vector<FitEntry> entries = entries_of(question);
  fitting(question, entries, calculated(question, question.argument("most")));
  for (const FitEntry& one : entries) {
    if (question.choice(one.key) == nullptr || question.choices.size() != entries.size())
      wrong_question(question, "its choices are not the keys of `of`", "one choice for each");
  }
}

Truth made_memory_truth(const RuleInput& input) {
  const auto peak_of = [](const NamedRun& run) {
    return Spread({static_cast<double>(memory_of(run).peak_bytes())});
  };
  Truth out = made_truth_of(
      input, {.name = "peak of tensors", .quantity = Quantity::bytes, .wants_more = false, .of = peak_of});
  const std::vector<NamedRun> runs = made_runs(input, 2);
  const LossesCompared losses = losses_of(runs[0], runs[1]);
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
