#pragma once
// Repeats of one measurement: their middle, how far they lie apart, and whether two of them differ.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

struct Spread {
  std::vector<double> values;  ///< sorted

  Spread() = default;
  /// Values that are not finite are left out.
  explicit Spread(const std::vector<double>& measured);

  bool empty() const { return values.empty(); }
  /// The value below which a share of the values lies, interpolated between its neighbours; 0 without values.
  double quantile(double share) const;
  double median() const { return quantile(0.5); }
  std::optional<double> known_median() const { return empty() ? std::nullopt : std::optional(median()); }
  double least() const { return empty() ? 0 : values.front(); }
  double most() const { return empty() ? 0 : values.back(); }
  /// The inter-quartile range; 0 for fewer than two values.
  double range() const { return quantile(0.75) - quantile(0.25); }
  /// `range` over the median, 0 without one.
  double relative() const { return median() > 0 ? range() / median() : 0; }
};

/// From fewer repeats of one case it is not known how far the next would lie from them.
inline constexpr std::size_t kLeastRepeats = 3;
/// Cases whose ratio differs from 1 by less are called the same, however sure the difference is.
inline constexpr double kSmallestThatMatters = 0.02;
/// More repeats than these are not asked for.
inline constexpr std::size_t kMostRepeatsNeeded = 100;

enum class Direction {
  unknown,  ///< one of the cases has fewer than `kLeastRepeats`, and they do not lie far apart
  same,     ///< the interval of the ratio holds 1, or the ratio is nearer to it than matters
  less,
  more
};

/// One case over another.
struct Compared {
  double ratio = 1;  ///< ratio of the geometric means; without meaning where the direction is unknown
  double low = 1;    ///< 95 % interval of that ratio; low = high = ratio where the direction is unknown
  double high = 1;
  Direction direction = Direction::unknown;
  /// Repeats of each case that would find a difference as large as this one four times of five; 0 = it is
  /// found, or too small to matter; kMostRepeatsNeeded = so many or more.
  std::size_t repeats_needed = 0;
  /// Told although one of the cases has fewer than `kLeastRepeats`: low = high = ratio.
  bool is_of_few = false;

  bool is_same() const { return direction == Direction::same; }
  bool is_told() const { return direction == Direction::less || direction == Direction::more; }
  /// Half of the interval, to stand behind a plus-minus.
  double half() const { return (high - low) / 2; }
};

/// The mean of the logarithms of values above zero.
struct LogMean {
  double mean = 0;
  double variance = 0;  ///< variance of one value
  double repeats = 0;   ///< 0 = it is exact

  LogMean() = default;
  explicit LogMean(const Spread& values);
  /// From a geometric mean and the ends of its 95 % interval.
  LogMean(double value, double least, double most, double repeats);
};

/// The ratio of two geometric means, with the interval of Welch's t for the difference of the means of
/// logarithms (Welch 1947) and the degrees of freedom of Satterthwaite; of one mean and an exact one, such as
/// LogMean(), it is Student's t: the mean of the ratios of pairs, or a geometric mean with its interval.
/// Percentiles of a bootstrap are too narrow for few repeats: drawn from three and three, they call one pair
/// of equal cases in ten different, this interval one in twenty at most. One of the two has two repeats or
/// more.
Compared compare(const LogMean& one, const LogMean& other);

/// The one function that decides whether two cases differ, for values above zero (rates, times, bytes).
/// Nothing where one of them has no value, or one that is not above zero.
///
/// Fewer repeats of one of them give no interval. Then a difference is reported only where each value of one
/// is more than `far_apart` times each of the other (analyse/steady.h); 0 = never.
std::optional<Compared> compare(const Spread& one, const Spread& other, double far_apart = 0);

/// "x1.45 ±0.08", "same", "about x9.4" of few repeats, or "cannot tell".
std::string ratio_text(const Compared& compared);
/// The end of a sentence: "1.45 times (1.38 to 1.53)", "the same (0.97 to 1.04)", with how many
/// repeats would decide where it is not sure.
std::string ratio_sentence(const Compared& compared);

}  // namespace isobar
