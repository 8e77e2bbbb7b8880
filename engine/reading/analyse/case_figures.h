#pragma once
// A case in single figures, over its repeats; 0 or empty = not known.
#include <string>
#include <vector>

#include "analyse/run_case.h"

namespace isobar {

/// "A", "B", ..., "Z", "27", ...
std::string case_label(std::size_t index);
/// What a reader must know of the cases before their figures, each once: "A, C to E: recorded on NVIDIA H200;
/// measures io".
std::vector<std::string> case_warnings(const std::vector<RunCase>& cases);
double mean_step_us(const RunCase& one);
double most_peak_bytes(const RunCase& one);
double median_mfu(const RunCase& one);
/// The last validation losses.
Spread valid_losses(const RunCase& one);
/// "242.6 (237.1 to 245.0)", "-" where it is not known.
std::string rate_text(const Spread& rate);

}  // namespace isobar
