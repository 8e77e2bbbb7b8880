#pragma once
// Whether two runs train alike.
#include <cstdint>
#include <optional>
#include <string>

#include "log/run_series.h"
#include "log/run_view.h"

namespace isobar {

enum class Parity {
  unknown,    ///< one of them has no losses
  baseline,   ///< the others are compared with this one
  bit_equal,  ///< every loss and score that both have is the same to the last bit
  within,     ///< the last validation loss lies within the band, or without one every training loss
  differs     ///< it does not: this one trains differently
};

const char* parity_name(Parity parity);

/// How far, relative, losses may lie apart that are alike: 2 % where one has products of 16 bits, 1e-4 else
/// (sums in another order). `precision` as in RunSummary.
double parity_band(const std::string& precision, const std::string& other);

/// The losses of two runs at the same places.
struct LossesCompared {
  Parity parity = Parity::unknown;
  double band = 0;
  std::int64_t values = 0;         ///< losses and scores that both have at the same step
  std::int64_t unequal_from = -1;  ///< the first step at which they are not the same to the bit; -1 = none
  double largest = 0;              ///< relative difference of them

  /// What both have at one place: of validation losses, linear between two of them.
  struct At {
    double place = 0;  ///< samples, or seconds
    double base = 0;
    double other = 0;
  };
  std::optional<At> at_samples;  ///< the loss at the most samples that both were trained on
  std::optional<At> at_time;     ///< the loss after the longest time that both took
  std::optional<At> time_to;     ///< seconds to the loss `place`, the best that both reached

  /// "equal to the last bit", "equal to rounding (1.2e-06 apart at most)", "differ from step 12 on ..."; ""
  /// = not known.
  std::string text() const;
};

/// The least validation loss that the run had after it began to learn; nothing where it was not scored twice.
std::optional<double> least_loss(const RunView& view);
/// Seconds until its validation loss was as low as `loss`, which it was.
double seconds_to(const RunView& view, double loss);

LossesCompared compare_losses(const RunView& base_view, const RunSeries& base, const RunView& other_view,
                              const RunSeries& other);

}  // namespace isobar
