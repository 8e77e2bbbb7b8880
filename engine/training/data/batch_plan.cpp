#include "data/batch_plan.h"

#include <map>
#include <utility>

namespace isobar {

BatchPlan plan_batch(const Dataset& dataset, const BatchOrder& order, std::int64_t batch, bool share) {
  BatchPlan plan;
  plan.batch = batch;
  plan.samples = order.samples(batch);
  plan.field_of.resize(static_cast<std::size_t>(1 + dataset.leads()) * plan.samples.size());
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> known;
  const auto add = [&](FieldPlace place, std::size_t use, std::int64_t sample) {
    const auto next = static_cast<std::int32_t>(plan.fields.size());
    const auto [found, is_new] = known.try_emplace({place.file, place.record}, next);
    plan.field_of[use] = share ? found->second : next;
    if (share && !is_new) return;
    plan.fields.push_back(place);
    plan.sample_of.push_back(sample);
  };
  for (std::size_t b = 0; b < plan.samples.size(); ++b) {
    std::size_t use = b;
    for (const FieldPlace place : dataset.places(plan.samples[b])) {
      add(place, use, plan.samples[b]);
      use += plan.samples.size();
    }
  }
  return plan;
}

}  // namespace isobar
