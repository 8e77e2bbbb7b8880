#pragma once
// What was seen of the operators of one step (device/operator_watch.h).
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/operator_facts.h"

namespace isobar {

/// Calls of one operator in one module with the same types.
struct WatchedOperator {
  std::string module;  ///< "blocks.0.attn.q"; outside of all modules the stage, such as "backward"
  std::string name;    ///< "addmm"
  OperatorClass kind = OperatorClass::other;
  std::string inputs;  ///< types of the tensors it got: "f32, bf16"
  std::string output;  ///< type of the first tensor it gave or changed
  std::int64_t calls = 0;
  std::int64_t moved_bytes = 0;
  double op_us = 0;
};

struct OperatorRecord {
  std::int64_t launches = 0;
  std::int64_t moved_bytes = 0;
  std::array<double, kOperatorClasses.size()> class_us{};
  std::vector<WatchedOperator> rows;  ///< in the order of their first call
};

}  // namespace isobar
