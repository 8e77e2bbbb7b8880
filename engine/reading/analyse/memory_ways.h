#pragma once
// What makes a lesson's step fit into so much memory, with predicted rates and the lessons that run it.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/processors.h"
#include "formula/device_rates.h"
#include "formula/machine_rates.h"
#include "formula/memory_front.h"

namespace isobar {

/// The value of `--set key=VALUE` in `settings`, taken out of them; the last one counts. Nothing without one.
std::optional<std::string> take_setting(Settings& settings, const std::string& key);

struct PredictedWay {
  MemoryWay way = {};
  LessonInfo lesson = {};    ///< honours all that it changes; without a name where none does
  std::string typed = {};    ///< words that turn the settings asked for into it there
  double samples_per_s = 0;  ///< the rate of all ranks, without communication; 0 = not predicted
  bool fits = false;
};

/// Samples a second of a configuration in a lesson; 0 = not predicted.
using PredictedRate = std::function<double(const LessonInfo& lesson, const Config& config)>;

/// On a device that need not be here, and on the processors here. Split layers, and types that have no rate,
/// are not predicted.
PredictedRate rate_on(const DeviceRates& device);
PredictedRate rate_here(const MachineRates& rates, const Processors& here);

struct MemoryAsked {
  const LessonInfo& lesson;
  Settings settings = {};
  Config config = {};  ///< what these settings give
  MemoryFacts facts = {};
  std::uint64_t limit_bytes = 0;
  PredictedRate rate = {};
};

struct MemoryAnswer {
  std::uint64_t limit_bytes = 0;
  PredictedWay as_is = {};
  std::vector<PredictedWay> fits = {};  ///< on as many ranks, the fastest first; then on more
  std::vector<PredictedWay> states_alone =
      {};  ///< stages 1 to 3 of shared states and nothing else, weak scaling
};

/// Ways of all lessons below `home`, not of the one that was asked alone.
MemoryAnswer memory_answer(const std::filesystem::path& home, const MemoryAsked& asked);

/// All choices of what is computed again, each with all numbers of passes, on the ranks and with the shared
/// states that were asked for: the points of a picture of speed against memory (plot/front_picture.h).
std::vector<PredictedWay> front_ways(const std::filesystem::path& home, const MemoryAsked& asked);

}  // namespace isobar
