#pragma once
// What a step's time goes into, told by its stages and by the operators of the watched step.
#include <array>
#include <cstddef>
#include <string>

#include "analyse/steady.h"

namespace isobar {

/// Where the time of a step goes. memory: element-wise work, norms, reductions and copies, which wait for
/// memory and not for arithmetic. link: uploads and communication that nothing hides. computing: what is not
/// split further because no step was watched.
enum class Part : std::size_t { attention, gemm, memory, host, link, data, computing };
inline constexpr std::array<const char*, 7> kPartNames = {"attention", "GEMM", "memory",   "host",
                                                          "link",      "data", "computing"};

struct TimeParts {
  std::array<double, kPartNames.size()> shares{};  ///< of the step; what they lack of 1 is not known

  double operator[](Part part) const { return shares[static_cast<std::size_t>(part)]; }
  double& operator[](Part part) { return shares[static_cast<std::size_t>(part)]; }
  /// False where what is not known may be more than the largest part.
  bool is_known() const;
  Part largest() const;
  /// What computes: attention, GEMM, memory and computing.
  double computing() const;
  /// "GEMM 50 %, memory 21 %": the largest parts, at most `most`.
  std::string text(std::size_t most) const;
};

/// Means over the steady steps. data is the `load` stage; link is `copy` and `comm`; computing (forward,
/// backward, optimise, replay) is split by the classes of the watched step's operators: when their times add
/// up to more than computing takes they are scaled down to it, when to less the rest of computing is host:
/// time in which nobody computes, as in handing work over. What lies between the stages is host too, where
/// computing was timed or the run only reads; else it is not known. On a CUDA device the operators' times
/// hold the gaps before their launches: where the host's clock says that it was at least 0.95 as long at
/// computing as the device, all of computing is host.
TimeParts step_parts(const Repeats& repeats);

}  // namespace isobar
