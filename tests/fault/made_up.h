#pragma once
// The content of a checkpoint that belongs to its step, to tell one from another.
#include <cstdint>
#include <string>
#include <vector>

#include "fields/checkpoint_folder.h"

namespace isobar {

inline std::vector<float> made_up_values(std::int64_t step, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(step) + static_cast<float>(i) / 1024.0F;
  return values;
}

inline std::string made_up_state(std::int64_t step) { return "step = " + std::to_string(step) + "\n"; }

inline void write_made_up(CheckpointWriter& writer, std::int64_t step) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    const std::vector<float> values = made_up_values(step, 600);
    const TensorToWrite tensor{
        "w", "F32", {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
    writer.write_tensors(name, {&tensor, 1});
  }
  writer.write_text("state.toml", made_up_state(step));
}

}  // namespace isobar
