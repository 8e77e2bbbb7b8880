#pragma once
// A result of a bench, read back from its JSON. It may come from anywhere: what is not as a bench writes it
// is refused, and its texts are printable.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/bench_result.h"

namespace isobar {

/// Where the least and the most of a figure come from.
enum class SpreadFrom {
  none,      ///< measured once, or not recorded
  interval,  ///< the 95 % interval
  range      ///< its least and greatest repeat
};

struct RecordedFigure {
  Estimate at;
  SpreadFrom spread = SpreadFrom::none;
  std::int64_t repeats = 0;
};

struct RecordedRow {
  std::string name;
  std::string unit;
  std::string peer_name;     ///< "" = ours is alone
  std::string not_measured;  ///< why there are no figures; "" = there are
  RecordedFigure ours;
  RecordedFigure ratio;  ///< to the peer; value 0 where ours is alone
};

struct RecordedResult {
  std::string bench;
  std::string commit;
  std::string date;
  bool complete = true;                ///< false: the bench was cut off
  std::optional<std::string> options;  ///< of the command; not there in results of before
  std::vector<RecordedRow> rows;
  /// Path and value ("before.load", "0.31") of all that is told of the machine.
  std::vector<std::pair<std::string, std::string>> machine;
};

/// Error (exit code 2) with `where` for what is no result of this bench.
RecordedResult parse_result(std::string_view text, const std::string& bench, const std::string& where);
RecordedResult read_result(const std::filesystem::path& file, const std::string& bench);

}  // namespace isobar
