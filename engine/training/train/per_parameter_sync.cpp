// One all-reduce a parameter: each leaves early, and each pays the latency.
#include <utility>

#include "train/gradient_buckets.h"
#include "train/gradient_hooks.h"
#include "train/gradient_places.h"
#include "train/gradient_sync.h"

namespace isobar {
namespace {

class PerParameterSync final : public GradientSync {
 public:
  PerParameterSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config),
        messages_(comm, parameters.gradients(), reduce_, config.overlap,
                  own_bucket_dispatcher(/*copies=*/false)),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { messages_.ready(leaf); }) {
    std::vector<std::size_t> order;
    std::vector<PlannedBucket> alone;
    for (std::size_t i = hooks_.count(); i > 0; --i) {  // about as backward goes
      order.push_back(i - 1);
      alone.push_back({.first = alone.size(), .count = 1, .bytes = 0});
    }
    messages_.plan(gradient_places(parameters), order, std::move(alone));
  }
  std::int64_t planned_calls() const override { return static_cast<std::int64_t>(messages_.count()); }

 private:
  void arm() override { messages_.begin(); }
  std::vector<CollectiveTimes> exchange() override { return messages_.finish(); }

  GradientBuckets messages_;
  GradientHooks hooks_;
};

}  // namespace

std::unique_ptr<GradientSync> make_per_parameter_sync(Parameters& parameters, Comm& comm,
                                                      const CommConfig& config) {
  return std::make_unique<PerParameterSync>(parameters, comm, config);
}

}  // namespace isobar
