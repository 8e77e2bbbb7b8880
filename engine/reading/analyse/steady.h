#pragma once
// What the steady steps of one run say: those after the first epoch, or after the warm-up of a run that only
// measures.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/ranks.h"
#include "analyse/spread.h"
#include "log/run_series.h"
#include "log/run_view.h"

namespace isobar {

struct SteadyFigures {
  RunView view;                    ///< view of the whole run
  std::int64_t steps = 0;          ///< steady ones
  double samples_per_s = 0;        ///< rate of all ranks: the slowest one's times their number
  std::optional<RanksView> ranks;  ///< set for a run of several ranks
  /// Mean a step of each field of the steps, such as "load_us": batches may come in bursts, of which a median
  /// shows nothing. A step without the field counts as 0, one without its time or any stage as not known.
  std::map<std::string, double, std::less<>> means;

  /// The last value of each field of the steps, warm-up included: of figures that only some steps have.
  std::map<std::string, double, std::less<>> lasts;

  /// Mean step_us of up to ten blocks of successive steps: how noisy the run is, which does not bound how
  /// far another one would lie from it.
  Spread blocks;

  /// Nothing when no step has the field.
  std::optional<double> mean(std::string_view field) const;
  std::optional<double> last(std::string_view field) const;
};

/// Figures of a run that was read.
SteadyFigures steady_figures(const RunView& view, const RunSeries& series, std::optional<RanksView> ranks);
/// Reads the whole stream. Error (exit code 2) when the folder holds no run; a run without steady steps has
/// `steps` 0.
SteadyFigures steady_figures(const std::filesystem::path& run);

/// Repeats of one measurement.
using Repeats = std::vector<SteadyFigures>;

/// A figure of those that have it (at least 0).
using FigureOf = std::function<std::optional<double>(const SteadyFigures&)>;
Spread over(const Repeats& repeats, const FigureOf& figure);
/// samples/s; nothing where there is no step after the warm-up.
std::optional<double> rate_of(const SteadyFigures& run);
Spread rates(const Repeats& repeats);
/// The mean of a field.
Spread means(const Repeats& repeats, std::string_view field);
/// The median of that mean; 0 where none has the field.
double mean_us(const Repeats& repeats, std::string_view field);
/// Time of forward, backward, optimise and replay together, by the device's clock or by the host's.
double computing_us(const Repeats& repeats, bool of_host = false);

/// The largest rate over the smallest among repeats of one setting: the largest ratio of all that are
/// recorded in this tree. tests/reading/analyse/test_spread.cpp reads the records again.
///
/// Processors: docs/measuring.md, the table of Scaling (2 cores of a shared Intel Xeon, 3 runs each). Its
/// efficiency goes from 42 to 107 %, which holds the spreads of two points: 1.60 each. Others are 1.51 (15
/// blocks, tests/bench/results/telemetry.json), 1.49 (5 runs of the study of buckets), and 1.14 of 130
/// runs beside another program, 1.09 of 130 quiet ones (tests/reading/analyse/equal_runs.json).
inline constexpr double kProcessorsApart = 1.60;
/// GPU: 5 blocks of a step of batch 1 in tests/bench/results/h200/rungs-1.json, which waits for the host.
inline constexpr double kGpuApart = 1.29;

/// The spread of a run's machine; the larger one for a run that names none.
double recorded_apart(const RunView& run);

/// Rates of single runs that lie further apart than this differ: even if each was as far off as the furthest
/// repeats lay from one another. 0 = no record decides, since other programs took part of the processors.
double far_apart(const RunView& one, const RunView& other);
/// How far apart rates of a few repeats must lie; 0 where one of the two has none.
double far_apart(const Repeats& one, const Repeats& other);

/// Where the time of a step goes. memory: element-wise work, norms, reductions and copies, which wait for
/// memory and not for arithmetic. link: uploads and communication that nothing hides. computing: what is not
/// split further because no step was watched.
enum class Part : std::size_t { attention, gemm, memory, host, link, data, computing };
inline constexpr std::array<const char*, 7> kPartNames = {"attention", "GEMM", "memory",   "host",
                                                          "link",      "data", "computing"};

struct TimeParts {
  std::array<double, kPartNames.size()> shares{};  ///< shares of the step; what they lack of 1 is not known

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
/// hold the gaps before their launches: where by the host's clock it was at least 0.95 as long at
/// computing as the device, all of computing is host.
TimeParts step_parts(const Repeats& repeats);

}  // namespace isobar
