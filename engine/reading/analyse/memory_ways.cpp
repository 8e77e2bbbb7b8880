#include "analyse/memory_ways.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "formula/stage_prediction.h"

namespace isobar {
namespace {

constexpr std::int64_t kNode = 8;  // ranks over which states are shared out, of a run on one

bool honours_all(const LessonInfo& lesson, const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return honours(lesson, key); });
}

/// Keys that were set by hand.
std::vector<std::string> typed_keys(const Settings& settings) {
  std::vector<std::string> out;
  for (const std::string& set : settings.sets) out.push_back(set.substr(0, set.find('=')));
  return out;
}

/// Samples/s of steps that take what `step_us` gives. Copies to host memory and the update there are in no
/// rate.
template <class StepUs>
double rate_of(const Config& config, StepUs step_us) {
  if (config.mesh.tp > 1 || config.mesh.offload != OffloadKind::none) return 0;
  try {
    return static_cast<double>(config.train.global_batch) / step_us() * 1e6;
  } catch (const Error&) {  // no rate is known
    return 0;
  }
}

class WayFinder {
 public:
  WayFinder(const std::filesystem::path& home, const MemoryAsked& asked) : home_(home), asked_(asked) {
    for (const std::string& name : lesson_names(home)) ladder_.push_back(read_lesson(home, name));
  }

  PredictedWay found(const MemoryWay& way) const {
    PredictedWay out{.way = way, .fits = way.plan.total() <= asked_.limit_bytes};
    std::vector<std::string> keys = typed_keys(asked_.settings);
    keys.insert(keys.end(), way.keys.begin(), way.keys.end());
    if (honours_all(asked_.lesson, keys)) {
      out.lesson = asked_.lesson;
    } else {
      const auto other = std::find_if(ladder_.begin(), ladder_.end(), [&](const LessonInfo& lesson) {
        return !lesson.stands_alone && lesson.needs == asked_.lesson.needs && honours_all(lesson, keys);
      });
      if (other == ladder_.end()) return out;
      out.lesson = *other;
    }
    out.typed = typed_in(out.lesson, way.config);
    out.samples_per_s = asked_.rate(out.lesson, way.config);
    return out;
  }

 private:
  /// This lesson's own settings may differ from those of the one asked.
  std::string typed_in(const LessonInfo& lesson, const Config& config) const {
    const Config own =
        read_config(home_, lesson, asked_.settings, asked_.facts.on_cuda ? "cuda" : "cpu").config;
    return typed_change(own, config);
  }

  const std::filesystem::path& home_;
  const MemoryAsked& asked_;
  std::vector<LessonInfo> ladder_;
};

}  // namespace

std::optional<std::string> take_setting(Settings& settings, const std::string& key) {
  std::optional<std::string> out;
  std::erase_if(settings.sets, [&](const std::string& set) {
    const std::size_t end = set.find('=');
    if (end == std::string::npos || trimmed(std::string_view(set).substr(0, end)) != key) return false;
    out = std::string(trimmed(std::string_view(set).substr(end + 1)));
    return true;
  });
  return out;
}

PredictedRate rate_on(const DeviceRates& device) {
  return [device](const LessonInfo& lesson, const Config& config) {
    return rate_of(config, [&] { return predict_step(step_form(lesson, config, true), device).step_us(); });
  };
}

PredictedRate rate_here(const MachineRates& rates, const Processors& here) {
  return [rates, here](const LessonInfo& lesson, const Config& config) {
    return rate_of(config, [&] { return predict_stages(lesson, config, rates, here).step_us(); });
  };
}

MemoryAnswer memory_answer(const std::filesystem::path& home, const MemoryAsked& asked) {
  const WayFinder finder(home, asked);
  const MemoryQuestion question{
      .lesson = nullptr, .config = asked.config, .facts = asked.facts, .limit_bytes = asked.limit_bytes};
  MemoryAnswer out{.limit_bytes = asked.limit_bytes};
  MemoryWay now{.config = asked.config, .plan = plan_memory(asked.lesson, asked.config, asked.facts)};
  out.as_is = finder.found(now);
  const std::int64_t ranks = asked.config.run.ranks;
  for (const MemoryWay& way : shared_states_alone(question, ranks > 1 ? ranks : kNode))
    out.states_alone.push_back(finder.found(way));
  if (out.as_is.fits) return out;
  for (const MemoryWay& way : what_would_fit(question)) {
    PredictedWay predicted = finder.found(way);
    if (!predicted.lesson.name.empty()) out.fits.push_back(std::move(predicted));
  }
  std::stable_sort(out.fits.begin(), out.fits.end(), [&](const PredictedWay& a, const PredictedWay& b) {
    const bool same_a = a.way.config.run.ranks == ranks, same_b = b.way.config.run.ranks == ranks;
    if (same_a != same_b) return same_a;
    return same_a && a.samples_per_s > b.samples_per_s;
  });
  return out;
}

std::vector<PredictedWay> front_ways(const std::filesystem::path& home, const MemoryAsked& asked) {
  const WayFinder finder(home, asked);
  MemoryQuestion question{
      .lesson = nullptr, .config = asked.config, .facts = asked.facts, .limit_bytes = asked.limit_bytes};
  question.config.model.checkpoint = CheckpointKind::none;
  question.config.model.checkpoint_every = question.config.train.accumulate = 1;
  std::vector<PredictedWay> out;
  for (const MemoryWay& way : ways_of(question)) {
    out.push_back(finder.found(way));
    if (out.back().lesson.name.empty()) out.back().samples_per_s = asked.rate(asked.lesson, way.config);
  }
  return out;
}

}  // namespace isobar
