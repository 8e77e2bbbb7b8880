#pragma once
#include "analyse/run_reader.h"
#include "core/json.h"

namespace isobar {

/// One JSON object: state, reason, lesson, scores, summary, what the watched step was made of, and the ranks.
Json to_json(const RunReader& reader);

}  // namespace isobar
