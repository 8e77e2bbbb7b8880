#pragma once
#include <string>

#include "analyse/run_reader.h"

namespace isobar {

/// One JSON object: state, reason, lesson, scores, summary, what the watched step was made of, and the ranks.
std::string to_json(const RunReader& reader);

}  // namespace isobar
