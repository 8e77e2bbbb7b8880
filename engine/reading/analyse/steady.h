#pragma once
// What the steady steps of one run say: those after the first epoch, or after the warm-up of a run that only
// measures.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/ranks.h"
#include "analyse/run_series.h"
#include "analyse/run_view.h"
#include "analyse/spread.h"

namespace isobar {

struct SteadyFigures {
  RunView view;                    ///< of the whole run
  std::int64_t steps = 0;          ///< steady ones
  double samples_per_s = 0;        ///< of all ranks: that of the slowest times their number
  std::optional<RanksView> ranks;  ///< of a run of several
  /// Mean a step of each field of the steps, such as "load_us": batches may come in bursts, of which a median
  /// shows nothing. A step without the field counts as 0, one without its time or any stage as not known.
  std::map<std::string, double, std::less<>> means;

  /// The last value of each field of the steps, warm-up included: of figures that only some steps have.
  std::map<std::string, double, std::less<>> lasts;

  /// Mean step_us of up to ten blocks of successive steps: how noisy the run is, which says nothing of how
  /// far another one would lie from it.
  Spread blocks;

  /// -1 when no step has the field.
  double mean(std::string_view field) const;
  double last(std::string_view field) const;
};

/// Of a run that was read.
SteadyFigures steady_figures(const RunView& view, const RunSeries& series, std::optional<RanksView> ranks);
/// Reads the whole stream. Error (exit code 2) when the folder holds no run; a run without steady steps has
/// `steps` 0.
SteadyFigures steady_figures(const std::filesystem::path& run);

/// Repeats of one measurement.
using Repeats = std::vector<SteadyFigures>;

/// A figure of those that have it (at least 0).
Spread over(const Repeats& repeats, const std::function<double(const SteadyFigures&)>& figure);
/// samples/s; empty where none has a step after its warm-up.
Spread rates(const Repeats& repeats);
/// The mean of a field.
Spread means(const Repeats& repeats, std::string_view field);

}  // namespace isobar
