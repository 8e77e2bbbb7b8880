#pragma once
#include <cstdint>

#include "formula/vit_counts.h"
#include "run/repeats.h"

namespace isobar {

/// Bytes a second of the fields that one thread delivers, normalised, from a year file in the page cache
/// (InlineLoader). The file has made-up fields of this shape, and is gone afterwards. Error (exit code 1)
/// where the temporary folder does not take it.
double measure_reading(const VitShape& shape, std::int64_t batch, const Repeats& repeats);

}  // namespace isobar
