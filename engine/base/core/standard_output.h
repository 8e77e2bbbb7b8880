#pragma once
// Standard output as something that can be lost. Whatever links this finds descriptors 0 to 2 open: one that
// was closed when the program began stands for /dev/null, so that no file of ours gets its number and what is
// printed with it. Reading then finds the end, errors are dropped, and printing fails.
#include "core/error.h"

namespace isobar {

/// After a write to `descriptor` that failed: whether who reads it has left, which loses nothing.
bool reader_left(int descriptor);

/// The error of printing that failed for another reason (exit code 1).
Error lost_output();

}  // namespace isobar
