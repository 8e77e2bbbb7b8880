#pragma once
// The rungs of the ladder side by side: how fast, how much faster, what bounds each, and whether each trains
// like the first.
#include <optional>
#include <string>
#include <vector>

#include "analyse/parity.h"
#include "analyse/spread.h"
#include "analyse/steady.h"
#include "log/run_files.h"

namespace isobar {

/// One lesson as it was run: the repeats that succeeded.
struct Rung {
  std::string lesson;
  Repeats repeats = {};
  ConfigText settings = {};  ///< run.toml of one of them
};

struct SpeedUp : Compared {
  std::string over;  ///< the lesson that it is compared with
};

struct RungVerdict {
  Spread rate;  ///< samples/s; empty where no repeat has steps after its warm-up
  std::optional<SpeedUp> on_previous;
  std::optional<SpeedUp> on_baseline;
  std::string precision;   ///< "fp32", "tf32", "fp16", "bf16"
  bool emulated = false;   ///< by fp32 products
  std::string arithmetic;  ///< arithmetic of the products: the precision, or "fp32" where it is emulated
  double peak_flops_per_s = 0;
  bool peak_of_data_sheet = false;
  TimeParts parts;
  Spread valid_loss;  ///< the last one of each repeat
  Parity parity = Parity::unknown;
  double difference = 0;           ///< relative difference of the last validation loss to the baseline's
  double band = 0;                 ///< within which it counts as training alike
  std::vector<std::string> notes;  ///< sentences that a reader needs beside the figures
};

/// The judgement of each rung, in the same order. The first one that has figures is the baseline, and each is
/// compared with it and with one before it: the last of its own precision, else the last whose 16 bits were
/// not emulated, so that no rung gains or loses by emulation.
///
/// The largest part of a step is what bounds the rung.
///
/// Parity: by the median of the last validation loss. The band is that of analyse/parity.h, and never less
/// than the baseline's own repeats lie apart.
std::vector<RungVerdict> judge_ladder(const std::vector<Rung>& rungs);

}  // namespace isobar
