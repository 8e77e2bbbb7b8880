#pragma once
#include <exception>

#include "core/error.h"
#include "run/run.h"

namespace isobar {

/// Writes the summary and the `end` line, and says how it went. The exit code of the program: done, or 75
/// after a stop on request, whose checkpoint is complete; 128 + signal where there is none (run.measure).
int finish(RunParts& run);

/// The same for a run that an error ended. Of several ranks it tells the others whether `error` is only a
/// consequence of what happened to another one.
void fail(RunParts& run, const Error& error) noexcept;

/// What another library threw, as an Error that says in which stage.
Error explained(const RunParts& run, const std::exception& error);

}  // namespace isobar
