#pragma once
// A group of ranks as those see it who look after it: who they are, what they
// have in common, what each of them waits for. For comm/*.cpp only.
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends.h"
#include "comm/comm_seam.h"
#include "comm/transport.h"
#include "comm/work.h"
#include "config/config.h"
#include "launch/rank_status.h"
#include "record/span_writer.h"

namespace isobar {

/// What a rank waits for. Collectives and exchanges between hosts count apart,
/// from 0 in each group, in one order on all ranks.
struct Waited {
  std::int64_t number = -1;  ///< -1 = not started yet
  std::string what;
  bool is_exchange = false;

  /// "collective 37: all_reduce f32[1024] bucket 3", "checkpoint"
  std::string text() const;
};

/// What a world and all its groups have in common.
struct CommShared {
  std::int64_t step = -1;
  std::int64_t steps_begun = 0;
  SpanWriter* spans = nullptr;
  StatusSlot* status = nullptr;
  StatusSlot own_status;  ///< until there is a run folder
  std::filesystem::path status_folder;
  std::uint64_t launch = 0;  ///< pages of another one are no news
  std::shared_ptr<CommSeam> seam = std::make_shared<CommSeam>();
  bool records = false;                ///< collectives are put into a graph and run later
  int signal_in_wait = 0;              ///< for this process, once it waits for a collective that has begun
  std::atomic<bool> followed = false;  ///< one of them broke because of other ranks
};

/// Whose fault it is that a Comm is broken.
enum class Blame { this_rank, all, others };

class CommGroup {
 public:
  std::string name = "world";
  std::string key = "world";       ///< what it is called at the meeting: used once,
                                   ///< though names may be again
  std::int64_t groups_made = 0;    ///< groups made of this one
  std::vector<int> members = {0};  ///< ranks of the world, by rank in this group
  CommConfig config;
  std::shared_ptr<Backends> backends;  ///< null in a process that is alone
  std::unique_ptr<Transport> payload;  ///< null in a group that this rank is not part of
  std::unique_ptr<Transport> control;
  std::unique_ptr<ArrivalBoard> board;  ///< null where there is none
  std::int64_t last_end_us = 0;         ///< end of the last collective
  CommCounts counts;
  bool is_counted = true;  ///< what is sent counts, and leaves spans
  bool compares = true;    ///< collectives before they start
  std::shared_ptr<CommShared> shared;

  explicit CommGroup(std::shared_ptr<CommShared> shared_by_all) : shared(std::move(shared_by_all)) {}
  virtual ~CommGroup() = default;
  CommGroup(const CommGroup&) = delete;
  CommGroup& operator=(const CommGroup&) = delete;

  int size() const { return static_cast<int>(members.size()); }
  int rank() const { return payload ? payload->rank() : -1; }
  int world_rank() const { return payload ? members[static_cast<std::size_t>(payload->rank())] : -1; }
  bool is_world() const { return name == "world"; }
  /// "rank 1, step 12" of this process.
  std::string place() const;

  virtual bool is_broken() = 0;
  /// Ends all that is under way; `failure` is what every later call throws.
  virtual void break_off(std::exception_ptr failure, Blame blame) noexcept = 0;
};

}  // namespace isobar
