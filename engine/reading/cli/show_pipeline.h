#pragma once
// The pipeline of a run above the timeline of one of its ranks.
#include <cstdint>
#include <filesystem>

#include "cli/report.h"
#include "log/run_files.h"

namespace isobar {

/// Adds step `wanted` (-1: the typical one of `steady`) of all ranks as one picture, with its sentences; the
/// reason in its place where the spans have no such step. Of no effect for a run without a pipeline.
void add_pipeline_step(Report& report, const std::filesystem::path& run, StepRange steady,
                       std::int64_t wanted);

}  // namespace isobar
