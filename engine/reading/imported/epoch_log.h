#pragma once
// out.log of the ERA5 tutorial (train.py and train_mp.py of its editions of 2023 to 2025): what it says after
// each epoch, and the configuration that it prints at its start.
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
  double seconds = 0;       ///< of training
  double samples_per_s = 0;
  std::optional<double> train_loss, valid_loss, valid_s, memory_gib;
  std::optional<double> trained_at_s, scored_at_s;  ///< since the training began

  double samples() const { return seconds * samples_per_s; }
};

struct EpochLog {
  std::vector<LoggedEpoch> epochs;  ///< of the last training in the file
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

}  // namespace isobar
