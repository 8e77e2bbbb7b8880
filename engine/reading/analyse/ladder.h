#pragma once
// The rungs of the ladder side by side: how fast, how much faster, what bounds each, and whether each trains
// like the first.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analyse/parity.h"
#include "analyse/run_files.h"
#include "analyse/spread.h"
#include "analyse/steady.h"

namespace isobar {

/// Where the time of a step goes. memory: element-wise work, norms, reductions and copies, which wait for
/// memory and not for arithmetic. link: uploads and communication that nothing hides. computing: what is not
/// split further because no step was watched.
enum class Part : std::size_t { attention, gemm, memory, host, link, data, computing };
inline constexpr std::array<const char*, 7> kPartNames = {"attention", "GEMM", "memory",   "host",
                                                          "link",      "data", "computing"};

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
  std::string arithmetic;  ///< of the products: the precision, or "fp32" where it is emulated
  double mfu = 0;          ///< of the peak of that arithmetic; 0 = not known
  double peak_flops_per_s = 0;
  bool peak_of_data_sheet = false;
  std::array<double, kPartNames.size()> parts{};  ///< shares of the step; all 0 = not known
  Spread valid_loss;                              ///< the last one of each repeat
  double peak_bytes = 0;                          ///< most memory in use; 0 = not known
  Parity parity = Parity::unknown;
  double difference = 0;           ///< of the last validation loss from the baseline's, relative
  double band = 0;                 ///< within which it counts as training alike
  std::vector<std::string> notes;  ///< sentences that a reader needs beside the figures

  bool has_parts() const;
  Part bound() const;
  /// "GEMM 50 %, memory 21 %": the largest parts, at most `most`.
  std::string parts_text(std::size_t most) const;
};

/// The judgement of each rung, in the same order. The first one that has figures is the baseline, and each is
/// compared with it and with one before it: the last of its own precision, else the last whose 16 bits were
/// not emulated, so that no rung gains or loses by emulation.
///
/// Parts: means over the steady steps, as shares of the step. data is the `load` stage; link is `copy` and
/// `comm`; computing (forward, backward, optimise, replay) is split by the classes of the watched step's
/// operators: when their times add up to more than computing takes they are scaled down to it, when to less
/// the rest of computing is host: time in which nobody computes, as in handing work over. What lies between
/// the stages is host too. The largest part is what bounds the rung. On a CUDA device the operators' times
/// hold the gaps before their launches: where the host's clock says that it was at least 0.95 as long at
/// computing as the device, all of computing is host.
///
/// Parity: by the median of the last validation loss. The band is that of analyse/parity.h, and never less
/// than the baseline's own repeats lie apart.
std::vector<RungVerdict> judge_ladder(const std::vector<Rung>& rungs);

}  // namespace isobar
