// libtorch's own buckets, the ones behind Python's DistributedDataParallel: the peer that ours must equal.
#include <c10/util/Exception.h>

#include <numeric>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <utility>

#include "comm/c10d_adapter.h"
#include "core/error.h"
#include "train/gradient_places.h"
#include "train/gradient_sync.h"

namespace isobar {
namespace {

class ReducerSync final : public GradientSync {
 public:
  ReducerSync(Parameters& parameters, Comm& comm, const CommConfig& config)
      : GradientSync(parameters, comm, config),
        group_(make_process_group(comm, "bucket", config.overlap)),
        reducer_(made()) {}
  ~ReducerSync() override { reducer_->remove_autograd_hooks(); }
  std::int64_t planned_calls() const override {
    return static_cast<std::int64_t>(times_of(*group_).size());  // it keeps its plan to itself
  }

 private:
  std::unique_ptr<c10d::Reducer> made() {
    const std::vector<at::Tensor> leaves = leaf_tensors(parameters_);
    std::vector<std::size_t> all(leaves.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::unordered_map<std::size_t, std::string> names;
    for (const GradientPlace& place : gradient_places(parameters_)) names[names.size()] = place.name;
    const std::int64_t cap = mebibytes(config_.bucket_mb);
    const std::int64_t first_cap = std::min(cap, mebibytes(config_.first_bucket_mb));
    return std::make_unique<c10d::Reducer>(
        leaves, std::vector<std::vector<std::size_t>>{all}, group_, std::vector<bool>(leaves.size(), false),
        cap, /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false, names, first_cap,
        /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<std::int64_t>{});
  }

  void prepare() override {
    try {
      reducer_->prepare_for_forward();
      reducer_->rebuild_buckets();
    } catch (const c10::Error& error) {
      const std::string words = error.what_without_backtrace();
      throw Error("not all gradients were computed in the step before",
                  words.substr(words.rfind('\n') == std::string::npos ? 0 : words.rfind('\n') + 1),
                  "every parameter must take part in the loss, or the ranks would wait for ever",
                  Exit::failed);
    }
  }
  void arm() override {
    restart_numbers(*group_);
    reducer_->prepare_for_backward({});
  }
  std::vector<CollectiveTimes> exchange() override {
    // It divided before it added. Undone here, the fault is the same in every way to average.
    if (reduce_ == Reduce::sum) at::Tensor(parameters_.gradients()).mul_(comm_.size());
    return times_of(*group_);
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientSync> make_reducer_sync(Parameters& parameters, Comm& comm,
                                                const CommConfig& config) {
  return std::make_unique<ReducerSync>(parameters, comm, config);
}

}  // namespace isobar
