#include "state/memory_play.h"

#include <fmt/format.h>

#include "config/load.h"
#include "core/error.h"
#include "core/find.h"
#include "core/parse_bytes.h"
#include "core/processors.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kPlayedGpu = "H200";

const DeviceRates& played_gpu() {
  return *find_by(device_rates(), &DeviceRates::name, std::string(kPlayedGpu));
}

/// All 0 where no formula gives them.
StepStages played_times(const MemoryAsk& ask, const LessonInfo& lesson, const Config& config) {
  if (config.mesh.tp > 1 || (!ask.on_gpu && !ask.rates)) return {};
  try {
    if (!ask.on_gpu) return predict_stages(lesson, config, *ask.rates, processors_here());
    const StepTime time = predict_step(step_form(lesson, config, /*on_cuda=*/true), played_gpu());
    const double longer = time.step_us() / time.classes().total_us();  // with waiting for launches
    return {.forward_us = longer * time.forward.total_us(),
            .backward_us = longer * time.backward.total_us(),
            .optimize_us = longer * time.optimize_us};
  } catch (const Error&) {  // no rate is known
    return {};
  }
}

Config config_of_play(const MemoryAsk& ask, const LessonInfo& lesson) {
  return load_config(ask.home, lesson, {.preset = ask.preset, .sets = ask.sets}, "cpu").config;
}

std::uint64_t limit_of(const Config& config) {
  return config.run.memory_cap.empty() ? 0 : parse_bytes(config.run.memory_cap, "run.memory_cap");
}

}  // namespace

PlayedMemory play_memory(const MemoryAsk& ask, const LessonInfo& lesson) {
  PlayedMemory out;
  try {
    out.config = config_of_play(ask, lesson);
    const MemoryFacts facts = memory_facts(out.config, ask.on_gpu);
    out.plan = plan_memory(lesson, out.config, facts);
    out.course = memory_course(lesson, out.config, facts, played_times(ask, lesson, out.config));
    out.limit_bytes = limit_of(out.config);
    if (!out.is_within())
      out.fits = what_would_fit(
          {.lesson = &lesson, .config = out.config, .facts = facts, .limit_bytes = out.limit_bytes});
  } catch (const Error& error) {
    out.problem = printable(error.what(), 300);
  }
  return out;
}

FrontAnswer answer_front(const MemoryAsk& ask, const LessonInfo& lesson) {
  FrontAnswer out{.of = ask, .problem = {}, .front = {}};
  try {
    const Config config = config_of_play(ask, lesson);
    const PredictedRate none = [](const LessonInfo&, const Config&) { return 0.0; };
    const MemoryAsked asked{.lesson = lesson,
                            .settings = {.preset = ask.preset, .sets = ask.sets},
                            .config = config,
                            .facts = memory_facts(config, ask.on_gpu),
                            .limit_bytes = limit_of(config),
                            .rate = ask.on_gpu  ? rate_on(played_gpu())
                                    : ask.rates ? rate_here(*ask.rates, processors_here())
                                                : none};
    out.front = {.title = fmt::format("{}, {} samples a step", lesson.name, config.train.global_batch),
                 .where = ask.on_gpu ? kPlayedGpu : "this machine",
                 .ways = front_ways(ask.home, asked),
                 .limit_bytes = asked.limit_bytes,
                 .measured = measured_ways(config, ask.on_gpu ? kPlayedGpu : "here", "runs")};
    if (out.front.ways.empty()) out.problem = "No number of passes divides these samples.";
  } catch (const Error& error) {
    out.problem = printable(error.what(), 300);
  }
  return out;
}

}  // namespace isobar
