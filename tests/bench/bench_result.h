#pragma once
// What a benchmark found, as a table and as JSON with the machine it ran on.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine_state.h"
#include "core/named_file.h"

namespace isobar {

/// One quantity of ours, measured several times.
struct BenchRow {
  std::string name;
  std::string unit;
  std::vector<double> values;  ///< one a repeat
  double limit = 0;            ///< what is asked for, in the same unit; 0 = nothing
};

/// Of a unit: whether it counts something a second ("GB/s"), so that more is better. Of all others less is.
bool is_rate(const std::string& unit);

struct Estimate {
  double value = 0;
  double least = 0;  ///< 95 % interval (analyse/spread.h)
  double most = 0;
};

/// The same quantity of ours and of a peer, measured in turn.
struct PairedRow {
  std::string name;
  std::string unit;
  std::string peer_name;
  std::vector<double> ours;  ///< one a pair
  std::vector<double> peer;
  double floor = 0;        ///< the physical limit in the same unit; 0 = not known
  double least_ratio = 0;  ///< the ratio asked for; 0 = nothing
  double moved_bytes = 0;  ///< by formula, of one run (the unit is us then); 0 = not known
  double bus_factor = 0;   ///< of a collective: bytes that each rank sends a byte of the buffer; 0 = none
  std::string divided_by = {};           ///< a row of what this one contains; "" = none
  std::optional<Estimate> divided = {};  ///< the ratio over that of `divided_by`; none without a spread
};

/// 0 for no values.
double median(const std::vector<double>& values);

/// The geometric mean of the ratios of the pairs, peer / ours, of rates ours / peer: above 1 ours is better.
/// What slowed both sides of a pair cancels.
Estimate ratio_of(const PairedRow& row);
/// Sets `divided_by` and `divided` of `row`: its ratio over that of `other`, measured apart, with the
/// interval of Welch's t. No ratio where one of them has fewer than kLeastRepeats pairs.
void divide(PairedRow& row, const PairedRow& other);
/// The geometric mean of at least one value; of one value, or where one is not above zero, their median
/// without an interval.
Estimate estimate_of(const std::vector<double>& values);

/// Prints a row with its mean, least and greatest value, and the limit.
void print_row(const BenchRow& row);
/// Prints a row with both means, the ratio, its interval and what was asked for.
void print_row(const PairedRow& row);

/// "case", "unit", "ours", "ours_min", "ours_max", "least", "most", "repeats", "limit"
nlohmann::ordered_json row_json(const BenchRow& row);
/// "case", "unit", "ours", "ours_min", "ours_max", "peer", "peer_name", "ratio", "ratio_min", "ratio_max",
/// "floor" (null when not known), "pairs"; where one is divided by another "divided_by", "divided",
/// "divided_min" and "divided_max" (null without a spread); where bytes are known "moved_bytes" and
/// "gb_per_s" of ours, of a collective also "busbw_gb_per_s". _min and _max are 95 % intervals.
nlohmann::ordered_json row_json(const PairedRow& row);

/// {"bench", "commit", "date", "options", "machine", "rows"}; `options` as they were typed, `machine` from
/// MachineWatch::finish.
nlohmann::ordered_json result_json(const std::string& bench, const std::vector<std::string>& options,
                                   const nlohmann::ordered_json& machine, const nlohmann::ordered_json& rows);

/// How every such file begins.
inline constexpr std::string_view kResultMark = "{\n  \"bench\": \"";

/// Over an older result, or what `file` allows: NamedFile.
void write_result(const NamedFile& file, const nlohmann::ordered_json& result);

}  // namespace isobar
