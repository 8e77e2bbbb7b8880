#pragma once
// Processors that may be used here, and how many threads a process takes: one rule for all that count them.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace isobar {

/// How many threads, and what decided it: "run.threads", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK", "quota of
/// 0.50 processors", "affinity".
struct ThreadChoice {
  int count = 1;
  std::string why;
};

/// What all processes share that run here, and what the environment gives each of them.
struct Processors {
  int count =
      1;  ///< by affinity, or fewer where a quota allows less time: whole processors of it, at least 1
  double time = 1;  ///< processors, a part of one included: 0.5 where half of one may be used
  std::string why = "affinity";
  int of_process = 0;  ///< OMP_NUM_THREADS, 0 = not set
  int of_task = 0;     ///< SLURM_CPUS_PER_TASK, 0 = not set
  std::string note{};  ///< what is set and is no number of threads, "" = nothing

  /// Threads of one of `sharers` processes of a task: `wanted` (run.threads) unless it is 0, else
  /// OMP_NUM_THREADS, both of each process; else SLURM_CPUS_PER_TASK, which affinity and quota still bound,
  /// else these, shared.
  ThreadChoice threads(std::int64_t wanted, std::int64_t sharers = 1) const;
};

/// Processor time that the least quota of the control groups allows, in hundredths of a processor.
std::optional<std::int64_t> processor_quota(const std::filesystem::path& root = "/");

/// What a process may use that may run on `affinity` processors, where files lie below `root`, with
/// variables by `get` (null = not set).
Processors processors_of(int affinity, const std::filesystem::path& root,
                         const std::function<const char*(const char*)>& get);
/// What this process may use.
Processors processors_here();

/// Processors of the machine that were at work between two texts of /proc/stat (proc(5)); 0 where they cannot
/// be read.
double processors_at_work(const std::string& before, const std::string& after);
/// Processors that all programs use together, over a fifth of a second in which this thread sleeps.
double processors_at_work();
/// Their count.
int usable_cores();

}  // namespace isobar
