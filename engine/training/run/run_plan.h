#pragma once
// What a run is to be: resolved and found possible before anything is written and before other ranks are met.
#include <c10/core/Device.h>

#include <filesystem>
#include <memory>
#include <string>

#include "config/fault.h"
#include "config/load.h"
#include "core/memory.h"
#include "core/seam.h"
#include "cuda/memory.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "launch/mesh.h"
#include "run/progress.h"
#include "run/resume.h"
#include "running/run_main.h"

namespace isobar {

namespace seams {

/// Refuses runs in which a plugged-in part would have nothing to do, with an Error (exit code 2).
inline constinit Seam<void(const Config&, c10::Device)> check_run{[](const Config&, c10::Device) {}};

}  // namespace seams

struct RunPlan {
  RankEnvironment ranks;
  LessonInfo lesson;
  Resume resume;
  LoadedConfig loaded;
  FaultSetting fault;  ///< from run.fault
  Config page_config;  ///< what the page sees: with the mistake of run.fault in it
  c10::Device device{c10::kCPU};
  std::filesystem::path data_root;  ///< data.root, or the embedded set of this grid
  int threads = 1;
  std::string threads_by;    ///< what decided their number (core/processors.h)
  std::string threads_note;  ///< names a variable that is no number of threads; "" = none
  bool emulated = false;     ///< the 16 bits of amp.mode, by fp32 products
  std::string attention;     ///< what it runs as, in words; "" in a lesson that does not choose
  MemoryPlan memory;         ///< this rank's, `host` beside it
  std::unique_ptr<MemoryPromise> promised;  ///< on a CPU, until the model is there

  const Config& config() const { return loaded.config; }
  /// Whether a key of the configuration means something in this lesson.
  bool honours(const std::string& key) const { return isobar::honours(lesson, key); }
  bool measures() const { return config().run.measure != MeasureKind::none; }
  std::int64_t replicas() const { return isobar::replicas(config()); }
  /// Operations of one sample's forward pass that backward does again; 0 where this lesson redoes none.
  double redone_flops() const;
  /// What this process will take of its device at most, which for a CPU is the machine: with states in host
  /// memory then.
  std::uint64_t predicted_bytes() const;
  /// Error (exit code 2) when the axes of the mesh do not fit the ranks.
  Mesh mesh() const;
  /// Where the run begins: at 0, or where the checkpoint of --resume left off.
  Progress begin() const;
};

/// Error (exit code 2) with both numbers where host memory, of which `memory` is free, does not hold states
/// of `bytes` (mesh.offload) for each of `ranks` of this machine.
void check_host_memory(std::uint64_t bytes, int ranks, const FreeAndTotal& memory);

/// Resolves everything, sets the process up for it (threads, precision, the fault) and refuses what cannot
/// be: Error (exit code 2).
RunPlan plan_run(const RunStart& start);

}  // namespace isobar
