#pragma once
// What each rank is doing, where others can read it when it does not answer: one small file a rank in the run
// folder, mapped into memory, so that publishing it costs nanoseconds. Torch-free: the launcher reads it too.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

enum class RankPhase : std::uint32_t {
  starting,
  working,
  in_collective,
  done,
  failed,
  followed  ///< it ended because another rank had, or did not answer
};

/// The state of a rank's process; unknown where this machine cannot see it.
enum class RankProcess { unknown, runs, stopped, gone };

struct RankStatus {
  int rank = 0;
  std::int64_t pid = 0;
  std::string host = "";
  RankPhase phase = RankPhase::starting;
  std::int64_t step = -1;                      ///< from 0, -1 = before the first
  std::string stage = "";                      ///< "forward", "validate", "checkpoint", ...
  std::int64_t collective = -1;                ///< number of what it entered last, from 0; -1 = it has none
  std::string what = "";                       ///< what the collective does: "all_reduce f32[1024] bucket 3"
  std::int64_t reached = -1;                   ///< the highest collective that it ever entered
  std::int64_t exchange = -1;                  ///< the last exchange between hosts that it began
  std::int64_t since_ns = 0;                   ///< wall clock: when the phase began
  std::uint64_t launch = 0;                    ///< number of the launch, 0 = the ranks have not met yet
  RankProcess process = RankProcess::unknown;  ///< known where this process sees the same processes
};

/// The writer's side. All functions may be called by any one thread at a time, cost nothing worth mentioning
/// and never throw after construction.
class StatusSlot {
 public:
  StatusSlot() = default;  ///< publishes nothing
  /// Makes `status_file(folder, rank)`.
  StatusSlot(const std::filesystem::path& folder, int rank);
  ~StatusSlot();
  StatusSlot(StatusSlot&& other) noexcept;
  StatusSlot& operator=(StatusSlot&& other) noexcept;

  /// Ranks that work together have one number, which no other launch has: it distinguishes an old page.
  void join(std::uint64_t launch) noexcept;
  void stage(std::int64_t step, const char* name) noexcept;
  void enter(std::int64_t collective, const char* what) noexcept;
  void begin_exchange(std::int64_t number) noexcept;
  void leave() noexcept;
  void end(RankPhase phase) noexcept;

 private:
  friend std::optional<RankStatus> read_rank_status(const std::filesystem::path& folder, int rank);
  struct Page;
  Page* page_ = nullptr;
};

/// "<folder>/rank-0003.status"
std::filesystem::path status_file(const std::filesystem::path& folder, int rank);

/// nullopt when there is no such file, or it is not whole. The status of a rank of another machine arrives
/// when the file system of the folder writes it back, half a minute later or so.
std::optional<RankStatus> read_rank_status(const std::filesystem::path& folder, int rank);

/// "step 13, stage forward", "step 13, collective 37: all_reduce f32[1024] bucket 3", "the start": where it
/// is, or was at its end. Steps are counted from 1, as everywhere on the console.
std::string place_text(const RankStatus& rank);

/// Who is where, a line a rank: "rank 1  step 13, stage load, for 118 s".
std::vector<std::string> status_lines(const std::vector<RankStatus>& ranks, std::int64_t now_ns);

}  // namespace isobar
