#include "analyse/measured_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "analyse/run_case.h"
#include "analyse/run_prediction.h"
#include "formula/stage_prediction.h"
#include "log/run_reader.h"

namespace isobar {
namespace {

/// Settings in which ways of one front differ; the cap changes nothing of a run that it lets through.
constexpr std::array<std::string_view, 4> kKeysOfWays = {"model.checkpoint", "model.checkpoint_every",
                                                         "train.accumulate", "run.memory_cap"};

bool is_on(const ConfigText& run, const std::string& device) {
  if (device == "here") return is_of_this_machine(run);
  const std::string maker = device.substr(0, device.find('-'));  // "A100" of "A100-40GB"
  return value_in(run, "environment.device_is").find(maker) != std::string::npos;
}

bool differs_as_a_way(const ConfigText& run, const Config& config) {
  return std::ranges::all_of(differing_settings(run, config), [](const std::string& key) {
    return std::ranges::find(kKeysOfWays, key) != kKeysOfWays.end();
  });
}

/// From run.toml; a run before there was such a key kept everything, in one pass.
WayKind way_kind_of(const ConfigText& run) {
  Config config;
  const std::string kind = value_in(run, "model.checkpoint");
  const auto* const at = std::ranges::find(kCheckpointKinds, kind);
  if (at != kCheckpointKinds.end())
    config.model.checkpoint = static_cast<CheckpointKind>(at - kCheckpointKinds.begin());
  const auto count = [&](const char* key) {
    return std::max<std::int64_t>(1, std::atoll(value_in(run, key).c_str()));
  };
  config.model.checkpoint_every = count("model.checkpoint_every");
  config.train.accumulate = count("train.accumulate");
  return way_kind(config);
}

}  // namespace

WayKind way_kind(const Config& config) {
  const bool groups = config.model.checkpoint == CheckpointKind::block;
  return {config.model.checkpoint, groups ? config.model.checkpoint_every : 1, config.train.accumulate};
}

std::string way_words(const WayKind& way) {
  std::string out = way.checkpoint == CheckpointKind::none ? "all kept" : name_of(way.checkpoint);
  if (way.every > 1) out += fmt::format(" every {}", way.every);
  return way.passes > 1 ? out + fmt::format(", {} passes", way.passes) : out;
}

std::vector<MeasuredWay> measured_ways(const Config& config, const std::string& device,
                                       const std::filesystem::path& parent) {
  Config asked = config;
  if (asked.amp.mode == AmpMode::mixed)  // a run writes down what it decided
    asked.amp.mode = step_form(LessonInfo{}, config, device != "here").precision;
  std::vector<MeasuredWay> out;
  for (const KnownRun& run : known_runs(parent)) {
    if (!is_on(run.config, device) || !differs_as_a_way(run.config, asked)) continue;
    const RunView view = glance(run.folder);
    const RunSummary& summary = view.summary;
    if (view.state != RunState::done || !view.is_measured_here() || !view.fault.empty() ||
        summary.peak_bytes == 0 || !(summary.samples_per_s > 0))
      continue;
    MeasuredWay way{.way = way_kind_of(run.config),
                    .run = run.folder.filename().string(),
                    .peak_bytes = summary.peak_bytes,
                    .samples_per_s = summary.samples_per_s,
                    .is_crowded = summary.is_crowded()};
    const auto at = std::ranges::find(out, way.way, &MeasuredWay::way);
    if (at == out.end())
      out.push_back(std::move(way));
    else if (at->is_crowded && !way.is_crowded)
      *at = std::move(way);
  }
  return out;
}

}  // namespace isobar
