#include "09_all_reduce/view/schedule_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "09_all_reduce/view/all_reduce_run.h"
#include "core/error.h"
#include "record/run_folder.h"
#include "ring/ring_plan.h"

namespace isobar::lesson_09 {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRingTrack = "ring";  // of the all-reduce with which runs train
constexpr const char* kWhichRuns = "a run of 09_all_reduce, or one on several ranks with comm.backend=ring";

/// What tells a message from the others of one all-reduce.
using MoveKey = std::tuple<CollectivePhase, int, int, int>;  // from, to, chunk
/// A step: the phase, and the place within it.
using StepKey = std::pair<CollectivePhase, int>;

/// What both of its ends said of a message.
struct Message {
  const SpanRow* sent = nullptr;
  const SpanRow* received = nullptr;

  /// Its place within the phase: as it arrived.
  int step() const { return received != nullptr ? received->chunk_step : sent->chunk_step; }
};
using Messages = std::map<MoveKey, Message>;

ScheduleMove move_of(const MoveKey& key, const Message& message) {
  const auto& [phase, from, to, chunk] = key;
  const SpanRow& first = message.sent != nullptr ? *message.sent : *message.received;
  const SpanRow& last = message.received != nullptr ? *message.received : *message.sent;
  // The bytes of a span are what it sent; where it sends nothing, what it received.
  const bool says_bytes = message.sent != nullptr || last.sent_chunk < 0;
  return {.from = from,
          .to = to,
          .first_chunk = chunk,
          .adds = phase == CollectivePhase::reduce,
          .bytes = says_bytes ? static_cast<double>(first.bytes) : std::nan(""),
          .begin_us = static_cast<double>(first.begin_us),
          .end_us = static_cast<double>(last.end_us),
          .arrives = message.received != nullptr,
          .value = message.received != nullptr ? last.value : std::nan("")};
}

/// Steps in order; each ends no earlier than the one before it.
void set_steps(Schedule& schedule, const Messages& messages) {
  std::map<StepKey, ScheduleStep> steps;
  for (const auto& [key, message] : messages) {
    const ScheduleMove move = move_of(key, message);
    ScheduleStep& step = steps[{std::get<0>(key), message.step()}];
    step.phase = std::get<0>(key);
    step.begin_us = step.moves.empty() ? move.begin_us : std::min(step.begin_us, move.begin_us);
    step.end_us = std::max(step.end_us, move.end_us);
    step.moves.push_back(move);
  }
  for (auto& [key, step] : steps) {
    step.index = schedule.steps_of(step.phase);
    step.end_us = std::max(step.end_us, schedule.end_us());
    schedule.steps.push_back(std::move(step));
  }
}

/// Of each chunk, and of all. A message whose sender said nothing has its chunk's bytes; a chunk of which
/// nobody did is as large as the largest.
double set_bytes(Schedule& schedule, std::vector<double>& by_chunk) {
  by_chunk.assign(static_cast<std::size_t>(schedule.chunks), std::nan(""));
  const auto of_chunk = [&](const ScheduleMove& move) -> double& {
    return by_chunk[static_cast<std::size_t>(move.first_chunk)];
  };
  double most = 0, sum = 0;
  for (const ScheduleStep& step : schedule.steps) {
    for (const ScheduleMove& move : step.moves) {
      of_chunk(move) = std::fmax(of_chunk(move), move.bytes);
      most = std::fmax(most, move.bytes);
    }
  }
  for (double& bytes : by_chunk) {
    if (std::isnan(bytes)) bytes = most;
    sum += bytes;
  }
  for (ScheduleStep& step : schedule.steps) {
    for (ScheduleMove& move : step.moves) move.bytes = of_chunk(move);
  }
  return sum;
}

void set_start(Schedule& schedule, bool is_known, const std::vector<double>& by_chunk) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    std::vector<double>& values = schedule.start.emplace_back();
    double begin = 0;
    for (const double bytes : by_chunk) {
      const auto element = static_cast<std::int64_t>(begin / sizeof(float));
      values.push_back(is_known ? schedule_value(rank, element) : std::nan(""));
      begin += bytes;
    }
  }
}

/// What run.toml does not say is seen: in a ring all ranks send in the first step.
AllReduceKind kind_of(const ConfigText& config, bool is_training, const Schedule& schedule) {
  if (is_training) return AllReduceKind::ring;
  if (const auto said = choice_named<AllReduceKind>(value_in(config, "comm.algorithm"))) return *said;
  const std::size_t first = schedule.steps.empty() ? 0 : schedule.steps.front().moves.size();
  return first == static_cast<std::size_t>(schedule.ranks) ? AllReduceKind::ring
         : first == 1 && schedule.ranks > 3                ? AllReduceKind::naive
                                                           : AllReduceKind::tree;
}

}  // namespace

ScheduleRun::ScheduleRun(const fs::path& run, RunGoesOn goes_on) : where_(run.string()) {
  check_run_folder(run);
  try {
    config_ = config_of(run);
  } catch (const Error&) {  // then it says less
  }
  const std::vector<int> ranks = ranks_in(run);
  ranks_ = ranks.empty() ? 0 : ranks.back() + 1;
  check_ranks();
  bool any = false;
  for (const int rank : ranks) {
    any = read_rank(run, rank) || any;
    check_ranks();
  }
  if (!any) read_spans(run);  // says how to get some
  list_choices(goes_on);
  if (choices_.empty() && !rows_.empty() && goes_on == RunGoesOn::yes)
    throw Error("no all-reduce of the run is whole on all ranks yet", where_,
                "it goes on: they come as they are recorded");
  if (choices_.empty() || ranks_ < 2)
    throw Error("the spans of the run tell of no all-reduce step by step", where_, kWhichRuns);
}

void ScheduleRun::check_ranks() const {
  if (ranks_ <= kMostScheduleRanks) return;
  throw Error(fmt::format("the run has {} ranks, the view has room for {}", ranks_, kMostScheduleRanks),
              where_, "a run on fewer ranks");
}

bool ScheduleRun::read_rank(const fs::path& run, int rank) {
  const fs::path file = RunFolder{run}.spans_file(rank);
  SpanTableBuilder builder(file.string());
  bool any = false;
  EventLog(file).read_all([&](const Event& event) {
    const bool is_span = event.kind() == "span";
    any |= is_span;
    // Spans that are no steps of a collective need no room.
    if (!is_span || event.integer("chunk_step", -1) >= 0) builder.take(event);
  });
  const SpanTable& table = builder.table();
  const std::int64_t origin_us = std::max<std::int64_t>(0, table.origin_us);
  last_steps_.resize(std::max(last_steps_.size(), static_cast<std::size_t>(rank) + 1), -1);
  std::int64_t& last_step = last_steps_[static_cast<std::size_t>(rank)];
  for (const SpanRow& span : table.spans) {
    const std::string& name = table.names[span.name];
    if (span.of == SpanRow::kNoTrack || (name != "reduce" && name != "spread")) continue;
    std::vector<Row>& rows = rows_[{span.step, table.tracks[span.of]}];
    Row& row = rows.emplace_back(Row{span, rank, table.tracks[span.track] == kRingTrack,
                                     name == "reduce" ? CollectivePhase::reduce : CollectivePhase::spread});
    row.span.begin_us += origin_us;
    row.span.end_us += origin_us;
    ranks_ = std::max({ranks_, rank + 1, span.to + 1, span.from + 1});
    last_step = std::max(last_step, span.step);
  }
  return any;
}

void ScheduleRun::list_choices(RunGoesOn goes_on) {
  // Of a training run's ring a phase alone is another collective; of the lesson's it is one that was cut off.
  const auto is_all_reduce = [](const std::vector<Row>& rows) {
    bool reduced = false, spread = false;
    for (const Row& row : rows) {
      reduced |= row.phase == CollectivePhase::reduce;
      spread |= row.phase == CollectivePhase::spread || !row.is_training;
    }
    return reduced && spread;
  };
  last_steps_.resize(static_cast<std::size_t>(ranks_), -1);
  for (auto& [key, rows] : rows_) {
    const ScheduleChoice choice{key.first, key.second};
    if (!is_all_reduce(rows) || (goes_on == RunGoesOn::yes && !is_whole(choice))) continue;
    if (choices_.size() < kMostScheduleChoices) {
      choices_.push_back(choice);
    } else {
      ++left_out_;
      rows = {};
    }
  }
}

/// What all ranks have gone on from, and what made the sum everywhere.
bool ScheduleRun::is_whole(const ScheduleChoice& choice) const {
  const std::int64_t reached = *std::ranges::min_element(last_steps_);
  if (choice.step != reached) return choice.step < reached;
  try {
    const Schedule schedule = made(choice);
    return schedule.after(schedule.steps.size()).all_hold_the_sum();
  } catch (const Error&) {
    return false;
  }
}

std::vector<ScheduleRun::Row> ScheduleRun::rows_of(const ScheduleChoice& choice) const {
  using Said = std::tuple<CollectivePhase, int, int, int, int, int>;
  std::vector<Row> out;
  std::map<int, std::set<Said>> said;
  std::set<int> over;  // ranks whose first call has ended
  std::int64_t first_us = INT64_MAX;
  for (const Row& row : rows_.at({choice.step, choice.of})) {
    if (over.contains(row.rank)) continue;
    const SpanRow& span = row.span;
    const Said key = {row.phase, span.chunk_step, span.to, span.from, span.sent_chunk, span.received_chunk};
    if (!said[row.rank].insert(key).second) {
      over.insert(row.rank);
      continue;
    }
    out.push_back(row);
    if (row.is_training) {
      SpanRow& mine = out.back().span;
      if (mine.to < 0) mine.to = static_cast<std::int16_t>((row.rank + 1) % ranks_);
      if (mine.from < 0) mine.from = static_cast<std::int16_t>((row.rank + ranks_ - 1) % ranks_);
    }
    first_us = std::min(first_us, span.begin_us);
  }
  for (Row& row : out) {
    row.span.begin_us -= first_us;
    row.span.end_us -= first_us;
  }
  return out;
}

Schedule ScheduleRun::schedule(const ScheduleChoice& choice) const {
  if (std::ranges::find(choices_, choice) == choices_.end())
    throw Error(fmt::format("step {} of the run tells of no all-reduce", choice.step), where_,
                fmt::format("steps {} to {} do; a run keeps those of its first run.trace_steps steps",
                            choices_.front().step, choices_.back().step));
  return made(choice);
}

Schedule ScheduleRun::made(const ScheduleChoice& choice) const {
  const std::vector<Row> rows = rows_of(choice);
  Schedule out{.ranks = ranks_, .chunks = 1, .start = {}, .of = choice.of, .run_step = choice.step};
  Messages messages;
  for (const Row& row : rows) {
    const SpanRow& span = row.span;
    out.chunks = std::max({out.chunks, span.sent_chunk + 1, span.received_chunk + 1});
    if (span.sent_chunk >= 0 && span.to >= 0 && span.to != row.rank)
      messages[{row.phase, row.rank, span.to, span.sent_chunk}].sent = &span;
    if (span.received_chunk >= 0 && span.from >= 0 && span.from != row.rank)
      messages[{row.phase, span.from, row.rank, span.received_chunk}].received = &span;
  }
  const bool is_training = rows.front().is_training;
  check_room(out, messages.size());
  if (is_training && out.chunks != ranks_)
    throw Error(fmt::format("rings of {} among {} ranks: the view shows one ring", out.chunks, ranks_),
                where_, "a run with mesh.tp=1");
  set_steps(out, messages);
  if (out.steps.size() > kMostScheduleSteps)
    throw Error(fmt::format("an all-reduce of {} steps has no room in the view", out.steps.size()), where_,
                fmt::format("at most {}", kMostScheduleSteps));
  out.kind = kind_of(config_, is_training, out);
  out.link = link_in(config_);
  std::vector<double> by_chunk;
  out.bytes = set_bytes(out, by_chunk);
  set_start(out, !is_training && choice.step == 0, by_chunk);
  return out;
}

void ScheduleRun::check_room(const Schedule& schedule, std::size_t messages) const {
  if (messages == 0)
    throw Error(fmt::format("step {} of the run tells of no message between ranks", schedule.run_step),
                where_, kWhichRuns);
  if (schedule.chunks > kMostScheduleChunks)
    throw Error(fmt::format("a buffer of {} chunks has no room in the view", schedule.chunks), where_,
                fmt::format("at most {}", kMostScheduleChunks));
  if (messages > kMostScheduleMoves)
    throw Error(fmt::format("an all-reduce of {} messages has no room in the view", messages), where_,
                fmt::format("at most {}", kMostScheduleMoves));
}

Schedule read_schedule(const fs::path& run, std::int64_t step) {
  const ScheduleRun all(run);
  for (const ScheduleChoice& choice : all.choices()) {
    if (choice.step == step) return all.schedule(choice);
  }
  return all.schedule({step, ""});
}

}  // namespace isobar::lesson_09
