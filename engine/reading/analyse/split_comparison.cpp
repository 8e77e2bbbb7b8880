#include "analyse/split_comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "formula/memory_plan.h"
#include "formula/stage_prediction.h"

namespace isobar {
namespace {

struct PlannedStep {
  StepStages stages;
  MemoryPlan memory;

  double averages_us() const { return stages.comm_us - stages.model_comm_us - stages.ensemble_us; }
};

PlannedStep planned(const LessonInfo& lesson, const Config& config, const MachineRates& rates,
                    const Processors& here) {
  return {predict_stages(lesson, config, rates, here),
          plan_memory(lesson, config, memory_facts(config, /*on_cuda=*/false))};
}

}  // namespace

double SplitComparison::tokens_us() const {
  double out = 0;
  for (const SplitTerm& term : terms) out += term.tokens_us;
  return out;
}

double SplitComparison::layers_us() const {
  double out = 0;
  for (const SplitTerm& term : terms) out += term.layers_us;
  return out;
}

const SplitTerm& SplitComparison::largest() const {
  const double sign = tokens_are_faster() ? 1 : -1;
  return *std::ranges::max_element(terms, [&](const SplitTerm& a, const SplitTerm& b) {
    return sign * a.saved_us() < sign * b.saved_us();
  });
}

std::string SplitComparison::sentence(std::int64_t cp, std::int64_t tp) const {
  const SplitTerm& most = largest();
  const double saved_us = tokens_are_faster() ? most.saved_us() : -most.saved_us();
  return fmt::format(
      "mesh.cp={} takes {:.2f} ms a step, mesh.tp={} {:.2f} ms; most of the difference is {}: {:.2f} ms {}",
      cp, tokens_us() * 1e-3, cp * tp, layers_us() * 1e-3, most.name, saved_us * 1e-3,
      tokens_are_faster() ? "less" : "more");
}

Config with_split_layers(Config config) {
  config.mesh.tp *= config.mesh.cp;
  config.mesh.cp = 1;
  config.model.window = 0;
  config.mesh.cp_comm = ContextForm::gather;
  return config;
}

bool can_split_layers(const Config& config) {
  return config.model.window == 0 && config.model.heads % (config.mesh.tp * config.mesh.cp) == 0;
}

SplitComparison compare_splits(const LessonInfo& lesson, const Config& config, const MachineRates& rates,
                               const Processors& here) {
  const PlannedStep tokens = planned(lesson, config, rates, here),
                    layers = planned(lesson, with_split_layers(config), rates, here);
  const StepStages &a = tokens.stages, &b = layers.stages;
  return {.terms = {{"computing", a.forward_us + a.backward_us, b.forward_us + b.backward_us},
                    {"messages between the ranks of a model", a.model_comm_us, b.model_comm_us},
                    {"averages over replicas", tokens.averages_us(), layers.averages_us()},
                    {"members' forecasts", a.ensemble_us, b.ensemble_us},
                    {"the update", a.optimize_us, b.optimize_us},
                    {"loading", a.load_us, b.load_us}},
          .tokens_bytes = a.model_wire_bytes,
          .layers_bytes = b.model_wire_bytes,
          .tokens_memory = tokens.memory.total(),
          .layers_memory = layers.memory.total()};
}

SplitComparison compare_splits(const SimulatedStep& tokens, const SimulatedStep& layers) {
  SplitComparison out{.tokens_bytes = tokens.sent_bytes, .layers_bytes = layers.sent_bytes};
  const StepTerms &a = tokens.terms, &b = layers.terms;
  const auto beside = [](const StepTerms& terms) {
    return terms.contention_us + terms.sharing_us + terms.jitter_us;
  };
  out.terms = {{"computing", a.forward_us + a.backward_us, b.forward_us + b.backward_us},
               {"communication", a.comm_us, b.comm_us},
               {"ranks beside each other", beside(a), beside(b)},
               {"the bubble", a.bubble_us, b.bubble_us},
               {"the update", a.optimize_us, b.optimize_us},
               {"loading", a.load_us, b.load_us}};
  return out;
}

}  // namespace isobar
