#pragma once
// What a reader must know of cases before their figures.
#include <string>
#include <vector>

#include "analyse/run_case.h"

namespace isobar {

/// Each once: "A, C to E: recorded on NVIDIA H200; measures io".
std::vector<std::string> case_warnings(const std::vector<RunCase>& cases);

}  // namespace isobar
