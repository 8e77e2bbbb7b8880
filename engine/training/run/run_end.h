#pragma once
#include <exception>

#include "core/error.h"
#include "run/run.h"

namespace isobar {

/// Writes the summary and the `end` line, and prints the outcome. Returns the exit code of the program: done,
/// or 75 after a stop on request, whose checkpoint is complete; 128 + signal where there is none
/// (run.measure).
int finish(RunParts& run);

/// Ends a run after an error. With several ranks the others learn whether `error` is only a
/// consequence of what happened to another one.
void fail(RunParts& run, const Error& error) noexcept;

/// What another library threw, as an Error that names the stage.
Error explained(const RunParts& run, const std::exception& error);

}  // namespace isobar
