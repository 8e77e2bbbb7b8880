#pragma once
// Mistakes on purpose (run.fault), so that a learner can see what each does: faults.inc lists them. A run
// with one is marked in everything it writes.
#include <array>
#include <cstdint>
#include <string>

#include "core/choice.h"
#include "core/stage.h"

namespace isobar {

/// As faults.inc lists them.
enum class Fault : unsigned char {
#define ISOBAR_FAULT_AS(fault, ...) fault,
#include "config/faults.inc"
};

/// Where it changes anything.
enum class Shows {
  anywhere,
  on_cuda,           ///< on the way of batches to a CUDA device
  in_recording,      ///< in a recorded step (graph.enabled), which takes a CUDA device
  on_several_ranks,  ///< in a run of several ranks
  between_replicas,  ///< where several models train side by side
  in_split_layers,   ///< where the ranks of one model share its layers (mesh.tp of at least 2)
  between_stages,    ///< where ranks have stages of one model (mesh.pp of at least 2)
  between_tokens,    ///< where ranks share the tokens of one model (mesh.cp of at least 2)
  in_ensembles,      ///< where a sample has several members (members of at least 2)
  in_read_groups,    ///< where ranks read fields together (data.read_group of at least 2)
};

/// Which seam it is made at.
enum class MadeBy {
  nothing,
  configuration,  ///< the page gets another configuration (config/with_fault.h)
  in_place,       ///< what does it right asks has_fault and does it wrong
  ranks,          ///< what a rank sends, or its backward pass (faults/rank_fault.h)
  parameters,     ///< weights, gradients or their buffers are touched (faults/parameter_fault.h)
  stages,         ///< at the begin of a stage (faults/stage_fault.h)
  run             ///< what the run itself fetches or writes
};

struct FaultRow {
  Fault fault;
  const char* name;      ///< as in the configuration
  const char* sentence;  ///< what it does; {ms}, {stage}, {step} and {rank} stand for the keys that it takes
  MadeBy made_by;
  Shows shows = Shows::anywhere;

  /// Whether run.fault_KEY means anything to it: "ms", "stage", "step", "rank".
  bool takes(const char* key) const;
};

const FaultRow& row_of(Fault fault);

/// Names as in the configuration, in the order of the table.
Choices choices_of(Fault);

/// Where a fault can strike that takes run.fault_stage.
enum class FaultStage : unsigned char { start, load, copy, forward, backward, comm, optimize, checkpoint };
inline constexpr std::array kFaultStages = {"start",
                                            name_of(Stage::load),
                                            name_of(Stage::copy),
                                            name_of(Stage::forward),
                                            name_of(Stage::backward),
                                            name_of(Stage::comm),
                                            name_of(Stage::optimize),
                                            "checkpoint"};
constexpr Choices choices_of(FaultStage) { return kFaultStages; }

struct FaultSetting {
  Fault fault = Fault::none;
  std::int64_t ms = 30;
  FaultStage stage = FaultStage::load;
  std::int64_t step = 0;
  std::int64_t rank = 1;      ///< which one is struck, of those that strike one
  std::int64_t own_rank = 0;  ///< of this process

  bool strikes_here() const { return rank == own_rank; }
  /// Whether its stage is one of a step.
  bool is_in_step() const { return stage != FaultStage::start && stage != FaultStage::checkpoint; }
  /// Whether ranks that should hold the same weights do not.
  bool drifts() const;
};

/// The fault of this process's run; none before `make_fault`, which comes before what acts on it is made.
const FaultSetting& made_fault();
void make_fault(const FaultSetting& setting);
inline bool has_fault(Fault fault) { return made_fault().fault == fault; }

/// Whether it changes anything on a CPU too; those about uploads and recordings do not.
bool shows_on_cpu(Fault fault);

/// Whether it changes anything in a process that trains alone; those about ranks do not.
bool shows_alone(Fault fault);

/// Whether it is made where layers are split over ranks (mesh.tp of at least 2), and does nothing elsewhere.
bool is_of_split_layers(Fault fault);

/// One sentence of what the fault does; "" for none.
std::string fault_sentence(const FaultSetting& setting);

}  // namespace isobar
