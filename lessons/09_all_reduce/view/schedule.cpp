#include "09_all_reduce/view/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.h"
#include "ring/ring_plan.h"

namespace isobar::lesson_09 {
namespace {

constexpr double kMostScheduleBytes = 1e15;
constexpr double kMostLatency_us = 1e9;

void check_plan(int ranks, int chunks, double bytes, const Link& link) {
  if (ranks < 2 || ranks > kMostScheduleRanks)
    throw Error(fmt::format("the view has no room for {} ranks", ranks), "ranks",
                fmt::format("2 to {}", kMostScheduleRanks));
  if (chunks < 1 || chunks > kMostScheduleChunks)
    throw Error(fmt::format("a buffer cannot be cut into {} chunks here", chunks), "chunks",
                fmt::format("1 to {}", kMostScheduleChunks));
  if (!(bytes >= 4 && bytes <= kMostScheduleBytes))
    throw Error(fmt::format("{:g} bytes are no buffer", bytes), "bytes",
                fmt::format("4, which is one float, to {:g}", kMostScheduleBytes));
  const bool is_link = link.latency_us >= 0 && link.latency_us <= kMostLatency_us && link.bytes_per_us >= 0 &&
                       std::isfinite(link.bytes_per_us);
  if (!is_link)
    throw Error(fmt::format("{:g} us and {:g} bytes/us are no link", link.latency_us, link.bytes_per_us),
                "link", "a latency of 0 to 1e9 us, and bytes a microsecond, 0 = no limit");
}

/// A message alone; of those to one rank that all left at once, the later ones come without a latency of
/// their own.
double message_us(const Schedule& schedule, const ScheduleStep& step, double bytes) {
  const bool overlaps = schedule.kind == AllReduceKind::naive && step.index > 0;
  const Link link{overlaps ? 0 : schedule.link.latency_us, schedule.link.bytes_per_us};
  return broadcast_us(link, 2, bytes);
}

/// Puts a step behind the others; one in which nothing moves is left out.
void add_step(Schedule& schedule, CollectivePhase phase, std::vector<ScheduleMove> moves) {
  if (moves.empty()) return;
  ScheduleStep step{
      .phase = phase, .index = schedule.steps_of(phase), .begin_us = schedule.end_us(), .end_us = 0};
  for (ScheduleMove& move : moves) {
    move.adds = phase == CollectivePhase::reduce;
    move.bytes = schedule.bytes * move.chunks / schedule.chunks;
    move.begin_us = step.begin_us;
    move.end_us = step.begin_us + message_us(schedule, step, move.bytes);
    step.end_us = std::max(step.end_us, move.end_us);
  }
  step.moves = std::move(moves);
  schedule.steps.push_back(std::move(step));
}

void plan_ring(Schedule& schedule) {
  const int n = schedule.ranks;
  const RingCut cut{.elements = schedule.chunks, .chunks = n};
  std::vector<std::vector<CollectiveStep>> by_rank;
  for (int rank = 0; rank < n; ++rank)
    by_rank.push_back(ring_steps(ring_actions(RingKind::all_reduce, rank, n, 0), n));
  for (std::size_t i = 0; i < by_rank.front().size(); ++i) {
    std::vector<ScheduleMove> moves;
    for (int rank = 0; rank < n; ++rank) {
      const auto group = cut.chunk(by_rank[static_cast<std::size_t>(rank)][i].sent_chunk);
      if (group.count == 0) continue;
      moves.push_back({.from = rank,
                       .to = (rank + 1) % n,
                       .first_chunk = static_cast<int>(group.begin),
                       .chunks = static_cast<int>(group.count)});
    }
    add_step(schedule, by_rank.front()[i].phase, std::move(moves));
  }
}

/// The moves of the way up; the way down is the same backwards.
std::vector<std::vector<ScheduleMove>> way_up(const Schedule& schedule) {
  std::vector<std::vector<ScheduleMove>> out;
  const auto whole = [&](int from, int to) {
    return ScheduleMove{.from = from, .to = to, .first_chunk = 0, .chunks = schedule.chunks};
  };
  if (schedule.kind == AllReduceKind::naive) {
    for (int rank = 1; rank < schedule.ranks; ++rank) out.push_back({whole(rank, 0)});
    return out;
  }
  for (int reach = 1; reach < schedule.ranks; reach *= 2) {
    std::vector<ScheduleMove>& moves = out.emplace_back();
    for (int rank = reach; rank < schedule.ranks; rank += 2 * reach)
      moves.push_back(whole(rank, rank - reach));
  }
  return out;
}

void plan_by_root(Schedule& schedule) {
  std::vector<std::vector<ScheduleMove>> up = way_up(schedule);
  std::vector<std::vector<ScheduleMove>> down = up;
  for (std::vector<ScheduleMove>& moves : up) add_step(schedule, CollectivePhase::reduce, std::move(moves));
  if (schedule.kind == AllReduceKind::tree) std::ranges::reverse(down);
  for (std::vector<ScheduleMove>& moves : down) {
    for (ScheduleMove& move : moves) std::swap(move.from, move.to);
    add_step(schedule, CollectivePhase::spread, std::move(moves));
  }
}

/// All messages of a step leave before one arrives.
void take_moves(const Schedule& schedule, const ScheduleStep& step, ScheduleMoment& moment) {
  std::vector<ScheduleCell> leaving;
  for (const ScheduleMove& move : step.moves) {
    const auto first = moment.ranks[static_cast<std::size_t>(move.from)].cells.begin() + move.first_chunk;
    leaving.insert(leaving.end(), first, first + move.chunks);
  }
  auto next = leaving.begin();
  for (const ScheduleMove& move : step.moves) {
    ScheduleRank& from = moment.ranks[static_cast<std::size_t>(move.from)];
    ScheduleRank& to = moment.ranks[static_cast<std::size_t>(move.to)];
    const auto sent_cells = next;
    next += move.chunks;
    ++from.sent;
    from.sent_bytes += move.bytes;
    if (!move.arrives) continue;
    ++to.received;
    to.received_bytes += move.bytes;
    for (int i = 0; i < move.chunks; ++i) {
      const auto chunk = static_cast<std::size_t>(move.first_chunk + i);
      const ScheduleCell& sent = sent_cells[i];
      ScheduleCell& cell = to.cells[chunk];
      cell.value = move.adds ? cell.value + sent.value : sent.value;
      cell.ranks = move.adds ? cell.ranks | sent.ranks : sent.ranks;
      if (i == 0 && std::isfinite(move.value)) cell.value = move.value;
      cell.changed = true;
      cell.expected = 0;
      for (int rank = 0; rank < schedule.ranks; ++rank) {
        if ((cell.ranks >> rank & 1U) != 0)
          cell.expected += schedule.start[static_cast<std::size_t>(rank)][chunk];
      }
    }
  }
  moment.clock_us = step.end_us;
}

}  // namespace

int ScheduleCell::count() const { return std::popcount(ranks); }

bool ScheduleMoment::all_hold_the_sum() const {
  return std::ranges::all_of(ranks, [&](const ScheduleRank& rank) {
    return std::ranges::all_of(rank.cells, [&](const ScheduleCell& cell) {
      return cell.count() == static_cast<int>(ranks.size()) && !cell.is_wrong();
    });
  });
}

ScheduleMoment Schedule::after(std::size_t count) const {
  ScheduleMoment out;
  for (int rank = 0; rank < ranks; ++rank) {
    ScheduleRank& one = out.ranks.emplace_back();
    for (const double value : start[static_cast<std::size_t>(rank)])
      one.cells.push_back({.value = value, .expected = value, .ranks = 1U << rank});
  }
  for (std::size_t i = 0; i < std::min(count, steps.size()); ++i) {
    for (ScheduleRank& rank : out.ranks) {
      for (ScheduleCell& cell : rank.cells) cell.changed = false;
    }
    take_moves(*this, steps[i], out);
  }
  return out;
}

int Schedule::steps_of(CollectivePhase phase) const {
  return static_cast<int>(
      std::ranges::count_if(steps, [&](const ScheduleStep& one) { return one.phase == phase; }));
}

const char* name_of(CollectivePhase phase) { return phase == CollectivePhase::reduce ? "reduce" : "spread"; }

double schedule_value(int rank, std::int64_t element) { return rank + 1 + static_cast<double>(element % 7); }

Schedule plan_schedule(AllReduceKind kind, int ranks, int chunks, double bytes, const Link& link) {
  check_plan(ranks, chunks, bytes, link);
  Schedule out{.kind = kind, .ranks = ranks, .chunks = chunks, .bytes = bytes, .link = link, .start = {}};
  const RingCut cut{.elements = static_cast<std::int64_t>(bytes / sizeof(float)), .chunks = chunks};
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<double>& values = out.start.emplace_back();
    for (int chunk = 0; chunk < chunks; ++chunk)
      values.push_back(schedule_value(rank, cut.chunk(chunk).begin));
  }
  if (kind == AllReduceKind::ring) {
    plan_ring(out);
  } else {
    plan_by_root(out);
  }
  return out;
}

ScheduleTotals totals_of(const Schedule& schedule, const ScheduleMoment& moment) {
  ScheduleTotals out;
  const int n = schedule.ranks;
  const double size = schedule.bytes;
  if (schedule.kind == AllReduceKind::ring) {
    out = {.who = "Each rank sent",
           .messages_text = "2(N-1)",
           .bytes_text = "2(N-1)S/N",
           .messages = static_cast<double>(ring_messages(n)),
           .bytes = ring_bytes(n, size)};
    for (const ScheduleRank& rank : moment.ranks) {
      out.messages_so_far = std::max(out.messages_so_far, static_cast<double>(rank.sent));
      out.bytes_so_far = std::max(out.bytes_so_far, rank.sent_bytes);
    }
    const bool alike = std::ranges::all_of(moment.ranks, [&](const ScheduleRank& rank) {
      return rank.sent_bytes == moment.ranks.front().sent_bytes && rank.sent == moment.ranks.front().sent;
    });
    if (!alike) out.who = "The busiest rank sent";
    return out;
  }
  const bool naive = schedule.kind == AllReduceKind::naive;
  const double messages = 2.0 * (naive ? n - 1 : tree_levels(n));
  const std::string text = naive ? "2(N-1)" : "2L";
  const ScheduleRank& root = moment.ranks.front();
  return {.who = "Rank 0 sent and received",
          .messages_text = text,
          .bytes_text = text + "S",
          .messages = messages,
          .bytes = messages * size,
          .messages_so_far = static_cast<double>(root.sent + root.received),
          .bytes_so_far = root.sent_bytes + root.received_bytes};
}

}  // namespace isobar::lesson_09
