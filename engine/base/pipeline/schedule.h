#pragma once
// The order in which the ranks of a pipeline work, as data: a row of actions a rank. p ranks, v stages each,
// p v stages in all, m micro-batches. Stage s is on rank s mod p; with zb_v the second half comes back, on
// rank 2 p - 1 - s.
//
//   gpipe        all forward passes, then all backward passes (Huang et al. 2019)
//   1f1b         min(m, p - i - 1) forward passes, then one and one in turn (PipeDream-Flush, Narayanan 2021)
//   interleaved  1f1b over v stages a rank, by rounds of p micro-batches; the first
//                min(v m, 2 (p - i - 1) + (v - 1) p) are forward passes (Megatron-LM, Narayanan 2021, 2.2)
//   zb_h1        1f1b whose backward passes are in two, I for inputs and W for weights; rank i puts W off by
//                i micro-batches, which fills what was idle (Zero Bubble Pipeline Parallelism, Qi 2024)
//   zb_v         zb_h1's idea over two stages a rank, forth and back (the same paper, section 6)
//
// As text a schedule is PyTorch's CSV (torch.distributed.pipelining): a line a rank, cells such as 2F0, 1B3,
// 0I1, 0W1 for stage, work, micro-batch; empty cells are steps at which a rank waits.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "config/config.h"

namespace isobar {

enum class PipelineWork : unsigned char {
  forward,   ///< F
  backward,  ///< B: all of it
  input,     ///< I: the gradient of the stage's input
  weight     ///< W: the gradients of its weights, behind I
};

struct PipelineAction {
  int stage = 0;
  PipelineWork work = PipelineWork::forward;
  int part = 0;  ///< micro-batch

  bool operator==(const PipelineAction&) const = default;
  auto operator<=>(const PipelineAction&) const = default;
};

/// "2F0"
std::string cell_of(const PipelineAction& action);

struct PipelineSchedule {
  int stages = 1;
  int parts = 1;                                        ///< m
  std::vector<std::vector<PipelineAction>> ranks = {};  ///< in the order of their work; without idle steps
  std::vector<int> rank_of_stage = {};

  /// Whether it has actions I and W.
  bool splits_backward() const;
  /// The rank's stages, rising.
  std::vector<int> stages_of(int rank) const;
};

/// Error (exit code 2) where `form` does not suit these numbers, or is `file`.
PipelineSchedule make_schedule(PipelineForm form, int ranks, int stages_a_rank, int parts);

/// By mesh.pp, mesh.schedule, mesh.chunks, train.accumulate and mesh.schedule_file, which is read; checked.
PipelineSchedule schedule_of(const Config& config);

/// `where` names the text in errors. Error (exit code 2) that names line and cell: no stage, work or
/// micro-batch; communication, which is no part of a schedule here; a stage on two ranks. Whether what was
/// read can run is for `check_schedule`.
PipelineSchedule parse_schedule(std::string_view csv, const std::string& where);
std::string to_csv(const PipelineSchedule& schedule);

/// Error (exit code 2) that names rank and cell, and what would fit: an action that is missing or there
/// twice, one that comes before what it needs on its own rank, a cycle of ranks that wait for each other
/// (each with what it waits for).
void check_schedule(const PipelineSchedule& schedule, const std::string& where);

/// What an action waits for on another rank: the same micro-batch's forward pass of the stage before, or the
/// gradient from the stage behind. None of it: has_message = false.
struct PipelineMessage {
  bool has_message = false;
  PipelineAction from = {};
};
PipelineMessage message_before(const PipelineSchedule& schedule, const PipelineAction& action);

/// Blocks [first, end) of each stage: mesh.stage_blocks, else as even as can be, longer ones first.
struct StageBlocks {
  std::int64_t first = 0;
  std::int64_t end = 0;

  bool operator==(const StageBlocks&) const = default;
};
std::vector<StageBlocks> blocks_of_stages(std::int64_t depth, int stages,
                                          const std::vector<std::int64_t>& stage_blocks = {});

}  // namespace isobar
