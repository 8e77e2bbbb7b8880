#include "run/run_state.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "config/assign.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::int64_t kStateSchema = 2;  // 2: with config.toml beside it

std::vector<std::pair<std::string, KeyPlace>> places_of(CheckpointState& state) {
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

}  // namespace

std::string to_toml(const CheckpointState& state) {
  CheckpointState copy = state;
  std::string out = "schema = " + std::to_string(kStateSchema) + "\n";
  for (const auto& [name, place] : places_of(copy)) out += name + " = " + toml_value(place) + "\n";
  return out;
}

CheckpointState read_run_state(const std::filesystem::path& file) {
  const std::vector<TomlEntry> entries = read_toml(file);
  CheckpointState state;
  std::vector<std::pair<std::string, KeyPlace>> places = places_of(state);
  std::int64_t schema = 0;
  places.emplace_back("schema", &schema);
  std::size_t taken = 0;
  for (const TomlEntry& entry : entries) {
    for (const auto& [name, place] : places) {
      if (name == entry.key && put(place, entry.value)) ++taken;
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

void check_run_state(const CheckpointState& state, const Config& config, std::int64_t saved_step,
                     const std::filesystem::path& file) {
  const auto refuse = [&](const char* key, const std::string& value, const std::string& wanted) {
    throw Error(std::string(key) + " is " + value + ", where " + wanted, file.string(),
                "the checkpoint was changed after it was written; remove it, and the one before it is taken");
  };
  const auto check = [&](const char* key, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    refuse(key, std::to_string(value),
           least == most ? std::to_string(least) + " follows from the step"
                         : fmt::format("{} to {} is possible", least, most));
  };
  check("step", state.step, saved_step, saved_step);
  check("step", state.step, 0, config.train.steps);
  check("batches", state.batches, state.step * config.train.accumulate, state.step * config.train.accumulate);
  check("optimizer_steps", state.optimizer_steps, config.amp.mode == AmpMode::fp16 ? 0 : state.step,
        state.step);
  // A fault may make the batches of ranks unequal.
  check("samples", state.samples, state.step, 2 * state.step * config.train.global_batch);
  check("scored_step", state.scored_step, -1, state.step);
  check("board_steps", state.board_steps, 0, state.step);
  check("board_samples", state.board_samples, 0, state.samples);
  constexpr double kMostWall_s = 1e10;  // 300 years
  const auto check_number = [&](const char* key, double value, bool is_time) {
    const bool fits = is_time ? value >= 0 && value <= kMostWall_s : std::isfinite(value);
    if (!fits) refuse(key, fmt::format("{}", value), is_time ? "a time is possible" : "a number is possible");
  };
  check_number("wall_s", state.wall_s, /*is_time=*/true);
  check_number("board_us", static_cast<double>(state.board_us) * 1e-6, /*is_time=*/true);
  for (const auto& [key, value] : {std::pair{"first_loss", state.first_loss},
                                   {"last_loss", state.last_loss},
                                   {"board_loss_sum", state.board_loss_sum},
                                   {"board_learning_rate", state.board_learning_rate}})
    check_number(key, value, /*is_time=*/false);
}

}  // namespace isobar
