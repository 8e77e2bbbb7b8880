#pragma once
// What other programs write: out.log of the ERA5 tutorial, and metrics.csv of Lightning's CSV logger.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/left_out.h"

namespace isobar {

struct LoggedEpoch {
  std::int64_t number = 0;  ///< from 1
  double seconds = 0;       ///< time of training
  double samples_per_s = 0;
  std::optional<double> train_loss, valid_loss, valid_s, memory_gib;
  std::optional<double> trained_at_s, scored_at_s;  ///< since the training began

  double samples() const { return seconds * samples_per_s; }
};

/// out.log of train.py and train_mp.py (editions of 2023 to 2025): what stands there after each epoch, and
/// the configuration that it prints at its start.
struct EpochLog {
  std::vector<LoggedEpoch> epochs;  ///< epochs of the last training in the file
  std::map<std::string, std::string, std::less<>> settings;
  std::string started;        ///< "2023-09-26T21:29:00", by the clock of that machine
  std::string failure;        ///< "CUDA out of memory"
  std::int64_t restarts = 0;  ///< trainings before it in the same file
  LeftOut left_out;           ///< epochs, values and lines

  std::string setting(std::string_view name) const;
};

/// Lines of other programs are passed over; a value that is no number, and a missing end of line (it is still
/// being written), leave theirs out, which is counted. Error (exit code 2) for more than 100,000 epochs.
EpochLog parse_epoch_log(std::string_view text, const std::string& name);

/// At most 64 MiB.
EpochLog read_epoch_log(const std::filesystem::path& file);

struct MetricsRow {
  std::int64_t step = 0;  ///< from 0
  std::optional<std::int64_t> epoch;
  std::vector<std::optional<double>> values;  ///< one a column
};

/// metrics.csv: a line a call of `log`, most of its cells empty. Values only: it has no times.
struct MetricsTable {
  std::vector<std::string> columns;  ///< beside step and epoch
  std::vector<MetricsRow> rows;
  LeftOut left_out;  ///< cells of words, and a last line without its end

  /// Columns that are not there have none.
  std::optional<std::size_t> column(std::string_view name) const;
};

/// Words in a cell that are no number ("nan" is one) make it empty; a last line without its end is still
/// being written and left out. Error (exit code 2, FILE:LINE) for a text without one column `step`, a row of
/// another number of cells, a step that is none, an open quotation mark, more than 512 columns or 2,000,000
/// rows.
MetricsTable parse_metrics_csv(std::string_view text, const std::string& name);

/// At most 256 MiB.
MetricsTable read_metrics_csv(const std::filesystem::path& file);

}  // namespace isobar
