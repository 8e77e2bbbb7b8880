#include "analyse/pipeline_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analyse/chrome_trace.h"
#include "analyse/ranks.h"
#include "analyse/spread.h"
#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "log/run_reader.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

constexpr int kMostPipeStages = 1024, kMostPipeParts = 4096, kMostPipeRanks = 64;
constexpr std::uint64_t kMostPipeBytes = 4 << 20;  // from all ranks, to find their hosts

std::optional<std::size_t> pipeline_track(const SpanTable& table) {
  const auto found = std::ranges::find(table.tracks, kPipelineTrack);
  if (found == table.tracks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.tracks.begin());
}

std::vector<std::optional<PipelineAction>> actions_of_names(const SpanTable& table) {
  std::vector<std::optional<PipelineAction>> out;
  for (const std::string& name : table.names) out.push_back(action_named(name));
  return out;
}

/// What a rank did in each step, in the order of time.
using RankSteps = std::map<std::int64_t, std::vector<PlacedAction>>;

RankSteps steps_of(const PipelineRank& rank, int row, std::int64_t& unread) {
  RankSteps out;
  const SpanTable& table = *rank.table;
  const std::optional<std::size_t> track = pipeline_track(table);
  if (!track) return out;
  const auto actions = actions_of_names(table);
  for (const SpanRow& span : table.spans) {
    if (span.track != *track) continue;
    const std::optional<PipelineAction>& action = actions[span.name];
    if (!action) {
      ++unread;
      continue;
    }
    out[span.step].push_back({row, *action, static_cast<double>(span.begin_us + rank.shift_us),
                              static_cast<double>(span.end_us + rank.shift_us)});
  }
  for (auto& [step, placed] : out)
    std::ranges::stable_sort(placed, {}, [](const PlacedAction& one) { return one.begin_us; });
  return out;
}

std::set<int> stages_in(const RankSteps& steps) {
  std::set<int> out;
  for (const auto& [step, placed] : steps)
    for (const PlacedAction& one : placed) out.insert(one.action.stage);
  return out;
}

/// Times of a rank that lie across each other are cut, so that no two of its actions run at once.
void add_row(PipelineCourse& course, std::vector<PlacedAction> row, double origin_us) {
  double busy_us = 0, free_us = 0;
  KeptCount kept;
  for (PlacedAction& one : row) {
    kept.pass(one.action.work);
    one.begin_us = std::max(one.begin_us - origin_us, free_us);
    one.end_us = std::max(one.end_us - origin_us, one.begin_us);
    free_us = one.end_us;
    busy_us += one.end_us - one.begin_us;
    course.actions.push_back(one);
  }
  course.step_us = std::max(course.step_us, free_us);
  course.busy_us.push_back(busy_us);
  course.peak_kept.push_back(kept.most());
}

struct PipelineRows {
  std::vector<RankSteps> rows;
  std::vector<int> named;  ///< the rank of each
  int stages = 0;
  std::int64_t unread = 0;
};

PipelineRows rows_of(const std::vector<PipelineRank>& ranks) {
  PipelineRows out;
  std::set<int> known;
  for (const PipelineRank& rank : ranks) {
    RankSteps steps = steps_of(rank, static_cast<int>(out.rows.size()), out.unread);
    const std::set<int> stages = stages_in(steps);
    if (stages.empty() || std::ranges::any_of(stages, [&](int stage) { return known.contains(stage); }))
      continue;
    known.insert(stages.begin(), stages.end());
    out.rows.push_back(std::move(steps));
    out.named.push_back(rank.rank);
  }
  out.stages = known.empty() ? 0 : *known.rbegin() + 1;
  return out;
}

bool takes_time(const std::vector<PlacedAction>& row) {
  return std::ranges::any_of(row, [](const PlacedAction& one) { return one.end_us > one.begin_us; });
}

/// Steps that all rows have.
std::vector<std::int64_t> common_steps(const PipelineRows& all) {
  std::vector<std::int64_t> out;
  for (const auto& [step, placed] : all.rows.front())
    if (std::ranges::all_of(
            all.rows, [&](const RankSteps& row) { return row.contains(step) && takes_time(row.at(step)); }))
      out.push_back(step);
  return out;
}

PipelineStep step_at(const PipelineRows& all, std::int64_t number, const PipelineShape& shape) {
  PipelineStep out{.stages = all.stages, .form = shape.form, .is_measured = true, .step = number};
  out.named = all.named;
  double origin_us = all.rows.front().at(number).front().begin_us;
  for (const RankSteps& row : all.rows) origin_us = std::min(origin_us, row.at(number).front().begin_us);
  for (const RankSteps& row : all.rows) add_row(out.course, row.at(number), origin_us);
  return out;
}

std::vector<std::int64_t> steady_steps(const std::vector<std::int64_t>& steps, StepRange steady) {
  std::vector<std::int64_t> out;
  for (const std::int64_t step : steps)
    if (step >= steady.first && step <= steady.last) out.push_back(step);
  if (!out.empty()) return out;
  const std::size_t left_out = steps.size() < 2 ? 0 : std::max<std::size_t>(1, steps.size() / 10);
  return {steps.begin() + static_cast<std::ptrdiff_t>(left_out), steps.end()};
}

/// The schedule that this step followed; nothing where actions are missing or there twice.
std::optional<PipelineSchedule> schedule_in(const PipelineStep& step) {
  PipelineSchedule out{.stages = step.stages, .parts = step.parts()};
  out.ranks.resize(static_cast<std::size_t>(step.ranks()));
  out.rank_of_stage.assign(static_cast<std::size_t>(step.stages), -1);
  for (const PlacedAction& placed : step.course.actions) {
    out.ranks[static_cast<std::size_t>(placed.rank)].push_back(placed.action);
    out.rank_of_stage[static_cast<std::size_t>(placed.action.stage)] = placed.rank;
  }
  // so that what is damaged needs no table of what it lacks
  const std::size_t least = 2 * static_cast<std::size_t>(out.stages) * static_cast<std::size_t>(out.parts);
  if (step.course.actions.size() < least || holds(out.rank_of_stage, -1)) return std::nullopt;
  try {
    check_schedule(out, "the spans of the run");
  } catch (const Error&) {
    return std::nullopt;
  }
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Whether the step has what the configuration asks for.
bool fits(const PipelineStep& step, const PipelineShape& shape) {
  return (shape.stages < 1 || shape.stages == step.stages) &&
         (shape.parts < 1 || shape.parts == step.parts());
}

void add_scheduled(PipelineRun& out, const PipelineShape& shape) {
  const std::optional<PipelineSchedule> schedule = schedule_in(out.drawn);
  out.drawn.is_whole = schedule && fits(out.drawn, shape);
  if (!out.drawn.is_whole) {
    out.lacks = fmt::format("step {} lacks actions of some micro-batches", out.drawn.step);
    return;
  }
  out.scheduled = PipelineStep{
      .course = course_of(*schedule, out.costs), .stages = schedule->stages, .form = out.drawn.form};
  out.scheduled->named = out.drawn.named;
  const PipelineCosts equal = PipelineCosts::equal(schedule->stages, mean_of(out.costs.forward_us),
                                                   mean_of(out.costs.input_us), mean_of(out.costs.weight_us));
  out.equal_idle = course_of(*schedule, equal).idle_share();
}

/// The pipelines of a run have one clock where their machine is the same.
std::vector<std::int64_t> clock_shifts(const fs::path& run, const std::vector<int>& ranks,
                                       const std::vector<SpanTable>& tables) {
  std::map<int, std::string> hosts;
  try {
    for (const RankFigures& rank : read_ranks(run, kMostPipeBytes).ranks) hosts[rank.rank] = rank.host;
  } catch (const Error&) {  // a stream cannot be read: collectives set the clocks
  }
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < tables.size(); ++i)
    out.push_back(clock_shift_us(tables.front(), tables[i], hosts[ranks[i]] == hosts[ranks.front()]));
  return out;
}

}  // namespace

std::optional<PipelineAction> action_named(std::string_view cell) {
  static constexpr std::string_view kLetters = "FBIW";
  PipelineAction out;
  const char* const end = cell.data() + cell.size();
  const auto stage = std::from_chars(cell.data(), end, out.stage);
  if (stage.ec != std::errc() || stage.ptr == end || out.stage < 0 || out.stage >= kMostPipeStages)
    return std::nullopt;
  const std::size_t work = kLetters.find(*stage.ptr);
  if (work == std::string_view::npos) return std::nullopt;
  out.work = static_cast<PipelineWork>(work);
  const auto part = std::from_chars(stage.ptr + 1, end, out.part);
  if (part.ec != std::errc() || part.ptr != end || out.part < 0 || out.part >= kMostPipeParts)
    return std::nullopt;
  return out;
}

std::int64_t clock_shift_us(const SpanTable& first, const SpanTable& other, bool is_one_machine) {
  if (&first == &other) return 0;
  const bool one_clock = is_one_machine && first.origin_us >= 0 && other.origin_us >= 0;
  return one_clock ? other.origin_us - first.origin_us : ends_apart_us(first, other);
}

bool has_pipeline(const SpanTable& table) { return pipeline_track(table).has_value(); }

std::optional<PipelineRun> pipeline_run(const std::vector<PipelineRank>& ranks, const PipelineShape& shape,
                                        StepRange steady, std::int64_t wanted) {
  const PipelineRows all = rows_of(ranks);
  if (all.rows.empty()) return std::nullopt;
  const std::vector<std::int64_t> steps = common_steps(all);
  if (steps.empty() || (wanted >= 0 && !holds(steps, wanted))) {
    const std::string traced = steps.empty()
                                   ? std::string("none was")
                                   : fmt::format("steps {} to {} were", steps.front(), steps.back());
    throw Error(wanted >= 0 ? fmt::format("step {} was not traced by all ranks of the pipeline", wanted)
                            : "no step was traced by all ranks of the pipeline",
                "track \"pipeline\"", traced + "; run.trace_steps sets how many are");
  }
  std::vector<PipelineStep> used;
  std::vector<double> shares, of_ideal, lengths_us;
  for (const std::int64_t number : steady_steps(steps, steady)) {
    used.push_back(step_at(all, number, shape));
    shares.push_back(used.back().course.idle_share());
    of_ideal.push_back(used.back().course.idle_of_ideal());
    lengths_us.push_back(used.back().course.step_us);
  }
  PipelineRun out;
  out.steps = std::ssize(used);
  out.traced = steps;
  out.of = {used.front().step, used.back().step};
  out.idle_share = Spread(shares).median();
  out.of_ideal = Spread(of_ideal).median();
  out.costs = mean_costs(used);
  out.slowest = slowest_stage(out.costs);
  const double median_us = Spread(lengths_us).median();
  const auto away = [&](const PipelineStep& one) { return std::fabs(one.course.step_us - median_us); };
  out.drawn = wanted >= 0 ? step_at(all, wanted, shape) : *std::ranges::min_element(used, {}, away);
  for (const PlacedAction& placed : out.drawn.course.actions)
    if (placed.action.stage == out.slowest.stage) out.slowest_rank = out.drawn.name_of_row(placed.rank);
  add_scheduled(out, shape);
  if (all.unread > 0 && out.lacks.empty())
    out.lacks = fmt::format("{} of the track are no actions", counted(all.unread, "span"));
  return out;
}

PipelineShape pipeline_shape(const ConfigText& config) {
  std::string name = value_in(config, "mesh.schedule");
  std::erase(name, '"');
  const auto number = [&](const char* key) {
    return std::clamp(number_of<int>(value_in(config, key)).value_or(0), 0, kMostPipeParts);
  };
  return {choice_named<PipelineForm>(name), number("mesh.pp") * std::max(1, number("mesh.chunks")),
          number("train.accumulate")};
}

std::optional<PipelineRun> read_pipeline(const fs::path& run, StepRange steady, std::int64_t wanted) {
  const std::int64_t world = std::min<std::int64_t>(kMostPipeRanks, glance(run).summary.world);
  std::vector<int> ranks;
  std::vector<SpanTable> tables;
  std::string lacks;
  for (int rank = 0; rank < world; ++rank) {
    try {
      tables.push_back(read_spans(run, rank));
      ranks.push_back(rank);
    } catch (const Error&) {
      if (lacks.empty()) lacks = fmt::format("rank {} has no spans that can be read", rank);
    }
  }
  if (std::ranges::none_of(tables, has_pipeline)) return std::nullopt;
  const std::vector<std::int64_t> shifts = clock_shifts(run, ranks, tables);
  std::vector<PipelineRank> all;
  for (std::size_t i = 0; i < tables.size(); ++i) all.push_back({ranks[i], &tables[i], shifts[i]});
  ConfigText config;
  try {
    config = config_of(run);
  } catch (const Error&) {  // the picture needs no formula
  }
  std::optional<PipelineRun> out = pipeline_run(all, pipeline_shape(config), steady, wanted);
  if (out && !lacks.empty()) out->lacks = lacks;
  return out;
}

std::vector<std::string> pipeline_sentences(const PipelineRun& run) {
  std::vector<std::string> out;
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  const std::optional<BubbleFormula> formula = bubble_formula(run.drawn);
  out.push_back(fmt::format(
      "steps {} to {}, medians: idle {} of the step{}, {} beside the ideal step{}", run.of.first, run.of.last,
      percent(run.idle_share), formula ? fmt::format(" (by formula {})", percent(formula->of_step)) : "",
      percent(run.of_ideal), formula ? fmt::format(" (by formula {})", percent(formula->of_ideal)) : ""));
  if (run.scheduled) {
    const double scheduled = run.scheduled->course.idle_share();
    out.push_back(fmt::format(
        "the schedule with this run's mean times would idle {} of its step: {} with equal stages, {:+.1f} "
        "points since stages differ; {:+.1f} points are messages, and times that vary",
        percent(scheduled), percent(run.equal_idle), 100 * (scheduled - run.equal_idle),
        100 * (run.idle_share - scheduled)));
  }
  const PipelineIdle parts = idle_parts(run.drawn);
  out.push_back(fmt::format(
      "step {}: ranks wait {} of it for another rank's work and {} for messages behind it, have no "
      "more work for {}, and pass {} between actions that wait for no other rank",
      run.drawn.step, percent(parts.late), percent(parts.message), percent(parts.behind),
      percent(parts.between)));
  if (run.slowest.stage >= 0 && run.drawn.stages > 1)
    out.push_back(fmt::format("slowest stage: {} on rank {}, {:.2f} ms a micro-batch; the others {:.2f} ms",
                              run.slowest.stage, run.slowest_rank, run.slowest.part_us * 1e-3,
                              run.slowest.others_us * 1e-3));
  if (!run.lacks.empty()) out.push_back("not all of it: " + run.lacks);
  return out;
}

Json pipeline_json(const PipelineRun& run) {
  Json out;
  out["step"] = run.drawn.step;
  out["step_us"] = run.drawn.course.step_us;
  out["steps"] = run.steps;
  out["idle_share"] = run.idle_share;
  out["idle_of_ideal"] = run.of_ideal;
  if (const std::optional<BubbleFormula> formula = bubble_formula(run.drawn)) {
    out["formula_of_step"] = formula->of_step;
    out["formula_of_ideal"] = formula->of_ideal;
  }
  if (run.scheduled) {
    out["scheduled_idle"] = run.scheduled->course.idle_share();
    out["equal_idle"] = run.equal_idle;
  }
  if (run.slowest.stage >= 0) {
    out["slowest_stage"] = run.slowest.stage;
    out["slowest_us"] = run.slowest.part_us;
    out["others_us"] = run.slowest.others_us;
  }
  for (const PlacedAction& placed : run.drawn.course.actions)
    out["actions"].push_back({{"rank", run.drawn.name_of_row(placed.rank)},
                              {"action", cell_of(placed.action)},
                              {"begin_us", placed.begin_us},
                              {"end_us", placed.end_us}});
  return out;
}

SpanTable with_works(SpanTable table) {
  static constexpr std::array<const char*, 4> kWorks = {"forward", "backward", "backward", "weights"};
  const std::optional<std::size_t> track = pipeline_track(table);
  if (!track) return table;
  const auto actions = actions_of_names(table);
  for (SpanRow& span : table.spans) {
    const std::optional<PipelineAction>& action = actions[span.name];
    if (span.track != *track || !action) continue;
    const std::string work = kWorks[static_cast<std::size_t>(action->work)];
    const auto found = std::ranges::find(table.names, work);
    span.name = static_cast<std::uint16_t>(found - table.names.begin());
    if (found == table.names.end()) table.names.push_back(work);
  }
  return table;
}

}  // namespace isobar
