#include "run/run_state.h"

#include <utility>
#include <variant>
#include <vector>

#include "config/keys.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::int64_t kStateSchema = 1;

std::vector<std::pair<std::string, KeyPlace>> places_of(RunState& state) {
  return {{"lesson", &state.lesson},
          {"preset", &state.preset},
          {"train_data", &state.train_data},
          {"valid_data", &state.valid_data},
          {"step", &state.step},
          {"scored_step", &state.scored_step},
          {"batches", &state.batches},
          {"optimizer_steps", &state.optimizer_steps},
          {"samples", &state.samples},
          {"first_loss", &state.first_loss},
          {"last_loss", &state.last_loss},
          {"wall_s", &state.wall_s},
          {"board_loss_sum", &state.board_loss_sum},
          {"board_steps", &state.board_steps},
          {"board_samples", &state.board_samples},
          {"board_us", &state.board_us},
          {"board_learning_rate", &state.board_learning_rate}};
}

template <class Value>
bool take(Value* place, const TomlValue& value) {
  const auto* const same = std::get_if<Value>(&value);
  if (same != nullptr) *place = *same;
  return same != nullptr;
}
bool take(std::array<std::int64_t, 2>*, const TomlValue&) { return false; }

}  // namespace

std::string to_toml(const RunState& state) {
  RunState copy = state;
  std::string out = "schema = " + std::to_string(kStateSchema) + "\n";
  for (const auto& [name, place] : places_of(copy)) out += name + " = " + toml_value(place) + "\n";
  return out;
}

RunState read_run_state(const std::filesystem::path& file) {
  const std::vector<TomlEntry> entries = read_toml(file);
  RunState state;
  std::vector<std::pair<std::string, KeyPlace>> places = places_of(state);
  std::int64_t schema = 0;
  places.emplace_back("schema", &schema);
  std::size_t taken = 0;
  for (const TomlEntry& entry : entries) {
    for (const auto& [name, place] : places) {
      if (name != entry.key) continue;
      taken += std::visit([&](auto* to) { return take(to, entry.value); }, place) ? 1U : 0U;
    }
  }
  if (taken != places.size() || entries.size() != places.size() || schema != kStateSchema || state.step < 0 ||
      state.batches < 0 || state.optimizer_steps < 0 || state.samples < 0) {
    throw Error(
        "the state of the checkpoint is not one that this version writes", file.string(),
        "it was made by another version of Isobar: its model.safetensors can start a new run (train.init)");
  }
  return state;
}

}  // namespace isobar
