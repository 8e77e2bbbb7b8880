#include "comm/lost_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "comm/rank_words.h"
#include "core/clock.h"
#include "core/text.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr int kLooks = 100;
constexpr int kGoneLooks = 500;  // for one that is known to be gone
constexpr std::int64_t kLookPause_us = 10'000;

const char* kind_of(const Waited& waited) { return waited.is_exchange ? "exchange" : "collective"; }

/// What lies there is the number of the last one of its kind that this rank waited for.
std::string waiting_key(const CommGroup& core, int rank, const Waited& waited) {
  return fmt::format("waits/{}/{}/{}", core.key, rank, kind_of(waited));
}

/// Nothing too for what another launch left in the same folder.
std::optional<RankStatus> status_of(const CommGroup& core, int rank) {
  const CommShared& shared = *core.shared;
  if (shared.status_folder.empty()) return std::nullopt;
  std::optional<RankStatus> out = read_rank_status(shared.status_folder, rank);
  return out && out->launch == shared.launch ? out : std::nullopt;
}

/// "1, step 13, stage load, for 118 s"
std::string doing(const RankStatus& status, std::int64_t now_ns) {
  const std::vector<std::string> lines = status_lines({status}, now_ns);
  std::string out = lines.front().substr(std::min(lines.front().size(), std::string_view("rank ").size()));
  const std::size_t gap = out.find("  ");
  return gap == std::string::npos ? out : out.replace(gap, 2, ", ");
}

/// Ranks that gave up waiting.
std::vector<int> followers(const CommGroup& core) {
  std::vector<int> out;
  for (const int rank : core.members) {
    const std::optional<RankStatus> status = status_of(core, rank);
    if (status && status->phase == RankPhase::followed) out.push_back(rank);
  }
  return out;
}

/// Nothing where nothing is known of this rank.
std::optional<bool> has_arrived(CommGroup& core, int rank, const Waited& waited,
                                const std::optional<RankStatus>& status) {
  if (core.board && !waited.is_exchange && waited.number >= 0) {
    const auto place = std::find(core.members.begin(), core.members.end(), rank) - core.members.begin();
    return core.board->has_come(static_cast<int>(place), waited.number);
  }
  if (const std::optional<std::string> word = core.backends->read_word(waiting_key(core, rank, waited))) {
    std::int64_t number = -1;
    std::from_chars(word->data(), word->data() + word->size(), number);
    if (number >= waited.number) return true;  // an older word does not count
  }
  if (!status) return std::nullopt;
  if (core.is_world()) return (waited.is_exchange ? status->exchange : status->reached) >= waited.number;
  return status->phase == RankPhase::in_collective && !status->what.empty() &&
         status_text(core, waited).starts_with(status->what);
}

}  // namespace

std::string status_text(const CommGroup& core, const Waited& waited) {
  return fmt::format("group {}, {} {}: {}", core.name, kind_of(waited), waited.number, waited.what);
}

void leave_waiting(CommGroup& core, const Waited& waited) noexcept {
  if (core.backends)
    core.backends->leave_word(waiting_key(core, core.world_rank(), waited), std::to_string(waited.number));
}

std::optional<int> ended_rank(const CommGroup& core, std::string& how) {
  std::optional<int> first;
  std::int64_t first_ns = 0;
  for (const int rank : core.members) {
    if (rank == core.world_rank()) continue;
    const std::optional<RankStatus> status = status_of(core, rank);
    if (!status) continue;
    const bool gone = status->process == RankProcess::gone && status->phase != RankPhase::followed;
    if (!gone && status->phase != RankPhase::failed) continue;
    // One that is gone without a word was killed: the others end because of it, and report it later.
    const bool silent = status->phase < RankPhase::done;
    const std::int64_t when_ns = silent ? 0 : status->since_ns;
    if (first && when_ns >= first_ns) continue;
    first = rank;
    first_ns = when_ns;
    how = status->phase == RankPhase::done ? "it was done"
          : status->phase == RankPhase::failed
              ? "it failed in " + place_text(*status)
              : "it ended without a word, as one that was killed does, in " + place_text(*status);
  }
  return first;
}

std::optional<int> ended_rank_soon(const CommGroup& core, std::string& how) {
  std::optional<int> first = ended_rank(core, how);
  for (int i = 0; i < kLooks && !first && !core.shared->status_folder.empty(); ++i) {
    pause_us(kLookPause_us);
    first = ended_rank(core, how);
  }
  return first;
}

Error late_error(CommGroup& core, const Waited& waited, double waited_s) {
  std::vector<int> arrived, unknown;
  std::vector<std::string> missing, stopped;
  const std::int64_t now_ns = wall_ns();
  for (const int rank : core.members) {
    const std::optional<RankStatus> status = status_of(core, rank);
    const std::optional<bool> has =
        rank == core.world_rank() ? true : has_arrived(core, rank, waited, status);
    if (has && *has) {
      arrived.push_back(rank);
      if (status && status->process == RankProcess::stopped) stopped.push_back(doing(*status, now_ns));
    } else if (status) {
      missing.push_back(doing(*status, now_ns));
    } else {
      unknown.push_back(rank);
    }
  }
  std::string hint = "Arrived: " + rank_list(arrived) + ".";
  if (!missing.empty()) hint += " Missing: " + joined(missing, "; ") + ".";
  if (!unknown.empty()) hint += " No word from: " + rank_list(unknown) + ".";
  if (!stopped.empty()) hint += " Arrived and not going on: " + joined(stopped, "; ") + ".";
  if (missing.empty() && unknown.empty() && stopped.empty())
    hint += " All are there: the network between them does not answer.";
  return {fmt::format("waited {:.3g} s for {}", waited_s, waited.text()), core.place(), hint, Exit::failed};
}

Error lost_error(CommGroup& core, const Waited& waited, double waited_s, const std::string& raw) {
  std::string how;
  std::optional<int> first;
  // Its connections close a moment before its process is gone.
  for (int i = 0; i < kGoneLooks && !core.shared->status_folder.empty(); ++i) {
    const std::vector<int> gone = followers(core);  // read first: whom they followed has ended by now
    first = ended_rank(core, how);
    if (first) break;
    if (!gone.empty() && waited_s > core.config.timeout_s / 2) return late_error(core, waited, waited_s);
    if (!gone.empty()) {
      return {fmt::format("{} gave up before this one came to {}", ranks_text(gone), waited.text()),
              core.place(),
              fmt::format("what this rank did before took longer than comm.timeout_s = {:g}, or they had "
                          "another reason: see their output",
                          core.config.timeout_s),
              Exit::failed};
    }
    pause_us(kLookPause_us);
  }
  if (first) {
    return {fmt::format("rank {} ended first: {}", *first, how),
            fmt::format("{}, in {}", core.place(), waited.text()),
            fmt::format("this is a consequence, not the cause: see the output of rank {}", *first),
            Exit::failed};
  }
  const std::string said = printable_line(raw, 160);
  const std::string numbers =
      core.is_world() ? "" : fmt::format(" (counted within the group of {})", ranks_text(core.members));
  return {"a rank that this one works with is gone: " + said + numbers,
          fmt::format("{}, in {}", core.place(), waited.text()),
          "this is a consequence, not the cause: see first the output of the other ranks", Exit::failed};
}

}  // namespace isobar
