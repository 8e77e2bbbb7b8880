// One all-reduce a parameter: each leaves early, and each pays the latency.
#include <numeric>
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
        messages_(comm, parameters.gradients(), reduce_, config.overlap),
        hooks_(leaf_tensors(parameters), [this](std::size_t leaf) { messages_.ready(leaf); }) {
    std::vector<GradientPlace> places = gradient_places(parameters);
    std::vector<std::vector<std::size_t>> alone;
    for (std::size_t i = places.size(); i > 0; --i) alone.push_back({i - 1});  // about as backward goes
    messages_.plan(std::move(places), alone);
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
