#pragma once
// What makes a lesson's step fit into run.memory_cap, as a report.
#include "analyse/memory_ways.h"
#include "cli/predict_against.h"

namespace isobar {

/// What fits, and the picture of speed against memory with what runs in runs/ measured; `device` is "here" or
/// one of formula/device_rates.h. `arguments` have the picture's file and the form of the output.
void print_memory(const LessonInfo& lesson, const Settings& settings, std::uint64_t limit_bytes,
                  const std::string& device, const PredictedRate& rate, const ClusterArguments& arguments);

}  // namespace isobar
