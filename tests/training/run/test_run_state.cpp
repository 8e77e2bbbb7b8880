// state.toml of a checkpoint: what is written comes back, and figures that cannot all be true are refused.
#include <functional>
#include <limits>
#include <random>

#include "core/files.h"
#include "run/run_state.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

Config config_of(std::int64_t steps, std::int64_t accumulate = 1) {
  Config config;
  config.train.steps = steps;
  config.train.accumulate = accumulate;
  config.train.global_batch = 4;
  return config;
}

CheckpointState state_at(std::int64_t step, std::int64_t accumulate = 1) {
  CheckpointState out{.lesson = "01_baseline", .preset = "cpu_micro", .train_data = "a", .valid_data = "b"};
  out.step = out.optimizer_steps = step;
  out.batches = step * accumulate;
  out.samples = 4 * step;
  out.scored_step = step / 2;
  out.first_loss = 1.02;
  out.last_loss = 0.5;
  out.wall_s = 3.5;
  out.board_steps = step / 2;
  out.board_samples = 2 * step;
  return out;
}

std::string refused(const std::function<void(CheckpointState&)>& forge,
                    const Config& config = config_of(30)) {
  CheckpointState state = state_at(24);
  forge(state);
  return error_of([&] { check_run_state(state, config, 24, "state.toml"); });
}

}  // namespace

TEST_CASE("a state comes back from its file, and is one that can be") {
  const TempFolder folder;
  for (const std::int64_t accumulate : {1, 3}) {
    const CheckpointState state = state_at(24, accumulate);
    write_file_whole(folder / "state.toml", to_toml(state));
    const CheckpointState back = read_run_state(folder / "state.toml");
    CHECK(to_toml(back) == to_toml(state));
    CHECK_NOTHROW(check_run_state(back, config_of(30, accumulate), 24, folder / "state.toml"));
    CHECK_NOTHROW(check_run_state(back, config_of(24, accumulate), 24, folder / "state.toml"));
  }
  CHECK_NOTHROW(check_run_state(state_at(0), config_of(30), 0, folder / "state.toml"));
}

TEST_CASE("figures that do not agree are refused by name") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK_THAT(refused([](CheckpointState& s) { s.batches = kMost; }),
             says("batches is 9223372036854775807") && says("24"));
  CHECK_THAT(refused([](CheckpointState& s) { s.batches = 3; }), says("batches is 3") && says("state.toml"));
  CHECK_THAT(refused([](CheckpointState& s) { s.step = 24'000; }), says("step is 24000"));
  CHECK_THAT(refused([](CheckpointState&) {}, config_of(20)), says("step is 24") && says("0 to 20"));
  CHECK_THAT(refused([](CheckpointState&) {}, config_of(30, 2)), says("batches is 24") && says("48"));
  CHECK_THAT(refused([](CheckpointState& s) { s.samples = 1; }), says("samples is 1"));
  CHECK_THAT(refused([](CheckpointState& s) { s.samples = kMost; }), says("samples"));
  CHECK_THAT(refused([](CheckpointState& s) { s.optimizer_steps = 23; }), says("optimizer_steps is 23"));
  CHECK_THAT(refused([](CheckpointState& s) { s.scored_step = 25; }), says("scored_step"));
  CHECK_THAT(refused([](CheckpointState& s) { s.wall_s = -1; }), says("wall_s"));
  CHECK_THAT(refused([](CheckpointState& s) { s.last_loss = std::numeric_limits<double>::quiet_NaN(); }),
             says("last_loss"));
  Config fp16 = config_of(30);
  fp16.amp.mode = AmpMode::fp16;
  CheckpointState skipped = state_at(24);
  skipped.optimizer_steps = 20;
  CHECK_NOTHROW(check_run_state(skipped, fp16, 24, "state.toml"));
}

TEST_CASE("two thousand forged states are refused, or agree") {
  const TempFolder folder;
  const std::string honest = to_toml(state_at(24));
  std::mt19937 random(7);
  const std::vector<std::string> values = {"0",
                                           "-1",
                                           "1",
                                           "3",
                                           "24",
                                           "25",
                                           "96",
                                           "24000",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "1e400",
                                           "nan",
                                           "inf",
                                           "-inf",
                                           "0.5",
                                           "1e300",
                                           "\"24\"",
                                           "true",
                                           "[24]",
                                           "99999999999999999999",
                                           ""};
  int taken = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string text = honest;
    for (std::uint32_t k = 0; k <= random() % 3; ++k) {  // one to three lines
      std::vector<std::size_t> lines = {0};
      for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
        lines.push_back(at + 1);
      const std::size_t begin = lines[random() % lines.size()];
      const std::size_t equals = text.find('=', begin), end = text.find('\n', begin);
      if (equals >= end) continue;
      text.replace(equals + 1, end - equals - 1, " " + values[random() % values.size()]);
    }
    CAPTURE(text);
    write_file_whole(folder / "state.toml", text);
    CheckpointState state;
    try {
      state = read_run_state(folder / "state.toml");
      check_run_state(state, config_of(30), 24, folder / "state.toml");
    } catch (const Error& error) {
      REQUIRE(error.code() == Exit::bad_input);
      continue;
    }
    ++taken;
    REQUIRE((state.step == 24 && state.batches == 24 && state.optimizer_steps == 24));
    REQUIRE((state.samples >= 24 && state.samples <= 192 && state.scored_step <= 24));
  }
  CHECK(taken > 20);  // what says nothing of the steps may be anything
  CHECK(taken < 1000);
}
