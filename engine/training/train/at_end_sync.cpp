// One all-reduce of all gradients, when backward is done: nothing runs beside it.
#include "train/gradient_sync.h"

namespace isobar {
namespace {

class AtEndSync final : public GradientSync {
 public:
  AtEndSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config) {}
  std::int64_t planned_calls() const override { return 1; }

 private:
  std::vector<CollectiveTimes> exchange() override {
    return {comm_.all_reduce(parameters_.gradients(), reduce_, "gradients").wait()};
  }
};

}  // namespace

std::unique_ptr<GradientSync> make_at_end_sync(Parameters& parameters, Comm& comm, const CommConfig& config) {
  return std::make_unique<AtEndSync>(parameters, comm, config);
}

}  // namespace isobar
