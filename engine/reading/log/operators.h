#pragma once
// What a run's watched step was made of (device/operator_watch.h): operators, bytes, types by module, time by
// class. The run watches one step of its warm-up, so its times are shares to go by, not figures of speed.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "log/event.h"
#include "record/run_summary.h"

namespace isobar {

/// Classes of operators, as in the keys of the stream: "gemm_op_us" and so on.
inline constexpr std::array<const char*, 7> kOperatorClassNames = {
    "gemm", "attention", "pointwise", "norm", "reduction", "copy", "other"};

/// One operator in one module with certain types, or the same in several blocks.
struct OperatorRow {
  std::string module;  ///< "blocks.0.attn.q"; folded "blocks.0..3.attn.q"
  std::string name;
  std::string kind;  ///< one of kOperatorClassNames
  std::string inputs;
  std::string output;
  std::int64_t calls = 0;
  std::int64_t moved_bytes = 0;
  double op_us = 0;
};

struct OperatorTable : WatchedSummary {
  std::vector<OperatorRow> rows;  ///< in the order of their first call
};

/// Takes the watched step from an event; the newest attempt's counts.
void take_watched(const Event& event, WatchedSummary& out);

/// The table of a run folder, of its newest attempt, with at most 20,000 rows. A run without one has `step`
/// -1.
OperatorTable read_operators(const std::filesystem::path& run);

/// Rows that differ in the number of their block alone become one, with the sums of their figures.
std::vector<OperatorRow> folded(const std::vector<OperatorRow>& rows);

/// The table by module, folded, as lines of at most 100 columns where names allow it.
std::vector<std::string> type_lines(const OperatorTable& table);

/// One JSON object: step, launches, moved_bytes, class_us {gemm, ...}, attention; of a table also rows
/// [{module, ...}].
Json watched_json(const WatchedSummary& watched);
Json operators_json(const OperatorTable& table);

}  // namespace isobar
