#pragma once
// The rates of this machine as they are kept, and again when the file changes.
#include <filesystem>
#include <memory>
#include <string>

#include "analyse/run_files.h"
#include "formula/machine_rates.h"

namespace isobar {

class KeptRates {
 public:
  explicit KeptRates(std::filesystem::path file) : file_(std::move(file)) {}

  /// True when what is kept changed.
  bool look();
  /// Null where none are kept, or those of another machine.
  const std::shared_ptr<const MachineRates>& rates() const { return rates_; }
  /// Why the file cannot be used; "" = it can, or is not there.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path file_;
  Stamp stamp_;
  std::shared_ptr<const MachineRates> rates_;
  std::string problem_;
};

}  // namespace isobar
