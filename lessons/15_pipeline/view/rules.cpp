// Rules of pipelines: how long ranks of a run are idle and which one is most, what an order keeps and how
// long it idles on a clock of events, whether a table can run, and how a run ends.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/number_text.h"
#include "core/pattern.h"
#include "core/text.h"
#include "course/rules/made.h"
#include "pipeline/course.h"

namespace isobar::lesson_15 {
namespace {

// ---- Runs ------------------------------------------------------------------------------------------------

/// The ranks of a run. Cannot where it was no pipeline.
const RanksView& ranks_of(const NamedRun& run, const SteadyFigures& repeat) {
  if (!repeat.ranks || !repeat.ranks->comm.pipe_idle)
    throw Cannot{"`" + run.name + "` has no step of a pipeline; mesh.pp cuts it into stages", run.name};
  return *repeat.ranks;
}

Spread idle_of(const NamedRun& run) {
  std::vector<double> out;
  for (const SteadyFigures& repeat : run.run->repeats)
    out.push_back(ranks_of(run, repeat).comm.pipe_idle.value_or(0));
  return Spread(out);
}

std::int64_t setting_of(const NamedRun& run, const char* key, std::int64_t otherwise) {
  return number_of<std::int64_t>(value_in(run.run->config, key)).value_or(otherwise);
}

/// The run's own numbers of ranks, micro-batches and stages a rank.
struct RunShape {
  std::int64_t ranks = 1, parts = 1, stages = 1;
};

RunShape shape_of(const NamedRun& run) {
  const RunShape out{.ranks = setting_of(run, "mesh.pp", 0),
                     .parts = setting_of(run, "train.accumulate", 0),
                     .stages = setting_of(run, "mesh.chunks", 1)};
  if (out.ranks < 1 || out.parts < 1 || out.stages < 1)
    throw Cannot{"`" + run.name + "` does not report its stages and micro-batches", run.name};
  return out;
}

double most_kept(const NamedRun& run, const RanksView& view) {
  double out = 0;
  for (const RankFigures& rank : view.ranks) out = std::max(out, rank.pipe_kept.value_or(0));
  return out / static_cast<double>(shape_of(run).stages);
}

Truth idle_share_truth(const RuleInput& input) {
  const NamedRun run = timed_run(input, input.argument("run"));
  const Spread values = idle_of(run);
  const RanksView& view = ranks_of(run, run.run->repeats.front());
  const RunShape shape = shape_of(run);
  double messages = 0;
  for (const RankFigures& rank : view.ranks) messages += std::round(rank.pipe_calls.value_or(0));
  Truth out = truth_of(input.question, Quantity::share, values);
  out.figures = {{"value", percent_text(values.median())},
                 {"formula", percent_text(bubble_of_step(shape.ranks, shape.parts, shape.stages))},
                 {"ideal", percent_text(bubble_of_ideal(shape.ranks, shape.parts, shape.stages))},
                 {"messages", figure_text(messages)}};
  out.text = fmt::format("ranks of `{}` are idle {} % of the step, {} % by formula", run.name,
                         out.figures["value"], out.figures["formula"]);
  out.source = source_of(run);
  return out;
}

Truth waits_most_truth(const RuleInput& input) {
  constexpr double kEqual = 0.05;
  const NamedRun run = timed_run(input, input.argument("run"));
  const RanksView& view = ranks_of(run, run.run->repeats.front());
  Truth out;
  std::vector<std::string> words;
  const RankFigures *least = nullptr, *most = nullptr;
  for (const RankFigures& rank : view.ranks) {
    if (!rank.pipe_idle) throw Cannot{fmt::format("rank {} has no step of a pipeline", rank.rank), run.name};
    if (least == nullptr || *rank.pipe_idle < *least->pipe_idle) least = &rank;
    if (most == nullptr || *rank.pipe_idle > *most->pipe_idle) most = &rank;
    out.figures[fmt::format("idle_{}", rank.rank)] = percent_text(*rank.pipe_idle);
    words.push_back(fmt::format("rank {} {} %", rank.rank, percent_text(*rank.pipe_idle)));
  }
  const bool is_equal = *most->pipe_idle - *least->pipe_idle < kEqual;
  out.figures["value"] = std::to_string(most->rank);
  out.accepted = {is_equal ? "equal" : out.figures["value"]};
  out.text = fmt::format("idle shares of the step in `{}`: {}", run.name, joined(words));
  out.source = source_of(run);
  return out;
}

void check_waits_most(const Question& question) {
  std::vector<std::string> keys = {"equal"};
  for (int rank = 0; rank < 16; ++rank) keys.push_back(std::to_string(rank));
  check_choice_keys(question, keys);
}

/// Most bytes that activations of blocks take on a rank at any moment of the recorded step.
double block_activations(const NamedRun& run, int rank) {
  const std::uint64_t most = memory_of(run, run.run->folder, rank).most_block_bytes();
  if (most == 0)
    throw Cannot{fmt::format("rank {} of `{}` recorded no activation of a block", rank, run.name), run.name};
  return static_cast<double>(most);
}

int rank_argument(const Question& question) {
  return whole_argument(question, "rank", 0, std::numeric_limits<int>::max(), "0");
}

std::string kept_by(const NamedRun& run, int rank) {
  const auto& ranks = run.run->repeats.front().ranks;
  const bool is_there = ranks && rank < std::ssize(ranks->ranks);
  const std::optional<double> kept =
      is_there ? ranks->ranks[static_cast<std::size_t>(rank)].pipe_kept : std::nullopt;
  return kept ? figure_text(std::round(*kept)) : "an unknown number";
}

Truth activations_ratio_truth(const RuleInput& input) {
  const auto [base, other] = ended_pair(input);
  const int rank = rank_argument(input.question);
  const double of_base = block_activations(base, rank), of_other = block_activations(other, rank);
  Truth out = truth_of(input.question, Quantity::ratio, Spread({of_base / of_other}));
  out.figures = {{"base_mb", number_text(Quantity::bytes, of_base)},
                 {"other_mb", number_text(Quantity::bytes, of_other)},
                 {"base_kept", kept_by(base, rank)},
                 {"other_kept", kept_by(other, rank)},
                 {"value", figure_text(out.number)}};
  out.text = fmt::format("activations of blocks on rank {}: {} MB in `{}`, {} MB in `{}`", rank,
                         out.figures["base_mb"], base.name, out.figures["other_mb"], other.name);
  out.source = source_of(base);
  return out;
}

void check_activations_ratio(const Question& question) {
  check_unit<Quantity::ratio>(question);
  rank_argument(question);
}

Truth how_it_ends_truth(const RuleInput& input) {
  const NamedRun run = run_of(input, input.argument("run"));
  const RunView& view = run.view();
  const bool has_ended = view.state == RunState::done || view.state == RunState::failed;
  if (!has_ended) check_ended(run);  // refuses it
  Truth out;
  out.figures = {{"reason", view.state == RunState::done ? "none" : printable_line(view.reason, 300)},
                 {"timeout_s", value_in(run.run->config, "comm.timeout_s")}};
  if (view.state == RunState::done) {
    out.accepted = {"right"};
    out.text = fmt::format("`{}` ended well", run.name);
  } else {
    if (matches_of(view.reason, "rank [0-9]").empty())
      throw Cannot{fmt::format("`{}` failed for another reason: {}", run.name, out.figures["reason"]),
                   run.name};
    out.accepted = {"named"};
    out.text = fmt::format("`{}` failed: {}", run.name, out.figures["reason"]);
  }
  out.source = source_of(run);
  return out;
}

void check_how_it_ends(const Question& question) {
  check_choice_keys(question, {"right", "named", "hangs", "wrong"});
}

Truth made_idle_truth(const RuleInput& input) {
  Truth out = made_truth_of(
      input,
      {.name = "the idle share of the step", .quantity = Quantity::share, .is_timed = true, .of = idle_of});
  const std::vector<NamedRun> runs = made_runs(input, 0);
  const NamedRun& run = runs.front();
  const double kept = most_kept(run, ranks_of(run, run.run->repeats.front()));
  const RunShape shape = shape_of(run);
  const double least = number_argument(input, "kept_least", 0),
               most = number_argument(input, "kept_most", std::numeric_limits<double>::infinity());
  if (runs.size() == 1) out.figures["value"] = percent_text(idle_of(run).median());
  out.figures["kept"] = figure_text(kept);
  out.figures["formula"] = percent_text(bubble_of_step(shape.ranks, shape.parts, shape.stages));
  if (kept >= least && kept <= most) return out;
  out.accepted.clear();
  out.text += fmt::format("; at most {} micro-batches are kept on a rank, and {} to {} are required",
                          out.figures["kept"], figure_text(least), figure_text(most));
  return out;
}

void check_made_idle(const Question& question) { check_made_arguments(question); }

// ---- Orders ----------------------------------------------------------------------------------------------

/// All of a rank's blocks take 1 for each of F, I and W.
PipelineCourse unit_course(const PipelineSchedule& schedule) {
  const double each = static_cast<double>(schedule.ranks.size()) / schedule.stages;
  return course_of(schedule, PipelineCosts::equal(schedule.stages, each, each, each));
}

/// In micro-batches of all of a rank's blocks.
double kept_of(const PipelineSchedule& schedule, const PipelineCourse& course) {
  const auto chunks = static_cast<double>(schedule.stages) / static_cast<double>(schedule.ranks.size());
  return *std::ranges::max_element(course.peak_kept) / chunks;
}

PipelineSchedule schedule_named(const RuleInput& input, const char* which) {
  constexpr int kMost = 1024;
  const std::string name = input.argument(which);
  const std::optional<PipelineForm> form = choice_named<PipelineForm>(name);
  if (!form || *form == PipelineForm::file)
    wrong_question(input, fmt::format("{} = \"{}\" is no order", which, printable(name, 60)),
                   "gpipe, 1f1b, interleaved, zb_h1 or zb_v");
  const bool has_two = *form == PipelineForm::interleaved || *form == PipelineForm::zb_v;
  return make_schedule(*form, whole_argument(input.question, "ranks", 2, kMost), has_two ? 2 : 1,
                       whole_argument(input.question, "parts", 1, kMost));
}

Truth schedules_beside_truth(const RuleInput& input) {
  constexpr double kSameShare = 1e-4, kSameKept = 1e-6;
  const PipelineSchedule base = schedule_named(input, "from"), other = schedule_named(input, "to");
  const PipelineCourse of_base = unit_course(base), of_other = unit_course(other);
  const double base_kept = kept_of(base, of_base), other_kept = kept_of(other, of_other);
  Truth out;
  out.accepted = {fmt::format("{}_{}", word_between(of_base.idle_share(), of_other.idle_share(), kSameShare),
                              word_between(base_kept, other_kept, kSameKept))};
  out.figures = {{"base_idle", percent_text(of_base.idle_share())},
                 {"other_idle", percent_text(of_other.idle_share())},
                 {"base_kept", figure_text(base_kept)},
                 {"other_kept", figure_text(other_kept)}};
  out.text =
      fmt::format("idle {} and {} % of the step, {} and {} micro-batches kept", out.figures["base_idle"],
                  out.figures["other_idle"], out.figures["base_kept"], out.figures["other_kept"]);
  out.source = "by a clock of events";
  return out;
}

void check_schedules_beside(const Question& question) {
  check_choice_keys(question, pairs_of({"less", "same", "more"}));
}

/// By what check_schedule reports.
std::string key_of(const std::string& error) {
  if (error == "none") return "runs";
  if (error.starts_with("ranks wait for each other")) return "cycle";
  return error.ends_with(", which it needs") ? "order" : "missing";
}

Truth schedule_check_truth(const RuleInput& input) {
  Truth out;
  out.figures = {{"error", "none"}};
  try {
    check_schedule(parse_schedule(joined(input.arguments("rows"), "\n"), "the table"), "the table");
  } catch (const Error& error) {
    out.figures["error"] = printable_line(error.what(), 300);
  }
  const std::string found = key_of(out.figures["error"]);
  if (found != input.argument("key"))
    wrong_question(input, "the check of this table gives \"" + out.figures["error"] + "\"",
                   "key = \"" + found + "\"");
  out.accepted = {found};
  out.text = found == "runs" ? "the table can run" : "the table cannot run: " + out.figures["error"];
  out.source = "by the checker of schedules";
  return out;
}

void check_schedule_check(const Question& question) {
  check_choice_keys(question, {"runs", "missing", "order", "cycle"}, /*all=*/true);
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"activations_ratio",
   "most bytes of activations of blocks that a `rank` holds in its recorded step, in `base` over `other`",
   {number}, {"base", "other"}, {"rank"}, activations_ratio_truth, nullptr, check_activations_ratio},
  {"how_it_ends",
   "whether a run ends well (right) or fails with an error that names a rank (named)",
   {choice}, {"run"}, {}, how_it_ends_truth, nullptr, check_how_it_ends},
  {"idle_share",
   "the share of the step for which the ranks of a pipeline are idle, in %",
   {number}, {"run"}, {}, idle_share_truth, always_timed, check_unit<Quantity::share>},
  {"made_idle",
   "the idle share of a run of the learner's, from `least` to `most` %, with `kept_least` to `kept_most` "
   "micro-batches kept on a rank; `keeps`, `times`, `wins`, `differ` as in made",
   {make}, {}, {"least", "most", "times", "keeps", "wins", "differ", "kept_least", "kept_most"}, made_idle_truth,
   always_timed, check_made_idle},
  {"schedule_check",
   "whether a table of actions (`rows`, a text a rank) can run: runs, or missing, order, cycle; `key` states it",
   {choice}, {"rows", "key"}, {}, schedule_check_truth, nullptr, check_schedule_check},
  {"schedules_beside",
   "what becomes of idle time and of kept micro-batches `from` an order `to` another: same_less, less_more, ...",
   {choice}, {"from", "to", "ranks", "parts"}, {}, schedules_beside_truth, nullptr, check_schedules_beside},
  {"waits_most",
   "the rank that is idle the largest share of the step of a pipeline; equal where all are about as long",
   {choice}, {"run"}, {}, waits_most_truth, always_timed, check_waits_most},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_15
