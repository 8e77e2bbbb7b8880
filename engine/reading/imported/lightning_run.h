#pragma once
// A run that Lightning's CSV logger kept.
#include <filesystem>

#include "imported/foreign_run.h"

namespace isobar {

/// Which columns hold the losses is told by their names (train..., val... or valid..., with "loss"), or by
/// `wish`. Error (exit code 2) where no column does, with those there are.
ForeignRun read_lightning_run(const std::filesystem::path& file, const ImportWish& wish);

}  // namespace isobar
