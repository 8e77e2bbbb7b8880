#pragma once
// One rank of a small data-parallel training, and what its weights are compared by.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "support/named.h"
#include "support/small_vit.h"
#include "support/tolerances.h"
#include "train/adam.h"
#include "train/fused_adam.h"
#include "train/gradient_sync.h"
#include "train/replicas.h"

namespace isobar::testing {

/// Small enough that kOddVit is cut into several buckets.
inline CommConfig small_buckets(const std::string& backend, const std::string& sync) {
  CommConfig out;
  out.backend = named<BackendKind>(backend);
  out.sync = named<SyncKind>(sync);
  out.bucket_mb = 0.03;
  out.first_bucket_mb = 0.01;
  out.timeout_s = 30;
  return out;
}

inline Comm joined(const CommConfig& config) {
  at::set_num_threads(1);
  return {read_rank_environment(), config, false};
}

/// Input and target of step `step`, for `samples` samples over all ranks.
inline std::pair<at::Tensor, at::Tensor> joint_batch(const VitShape& shape, std::int64_t samples,
                                                     std::int64_t step) {
  const auto seed = static_cast<std::uint64_t>(2 * step + 1);
  return {made_up_fields(shape, samples, seed), made_up_fields(shape, samples, seed + 1)};
}

/// Every `parts`-th sample from `part` on.
inline at::Tensor strided(const at::Tensor& joint, std::int64_t part, std::int64_t parts) {
  return joint.slice(0, part, joint.size(0), parts).contiguous();
}

/// The bytes of all weights by name, whatever their layout.
inline std::string bits_of(const Parameters& parameters, bool gradients = false) {
  std::string out;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor part = (gradients ? parameter.tensor.grad() : parameter.tensor.detach()).contiguous();
    out.append(static_cast<const char*>(part.const_data_ptr()), part.nbytes());
  }
  return out;
}

inline std::string buffer_bits(const Parameters& parameters) {
  std::string out;
  for (const Buffer& buffer : parameters.buffers())
    out.append(static_cast<const char*>(buffer.tensor.const_data_ptr()), buffer.tensor.nbytes());
  return out;
}

inline bool equal_on_ranks(Comm& comm, const std::string& bits) {
  const std::string mine = std::to_string(std::hash<std::string>()(bits));
  const std::vector<std::string> all = comm.all_gather_text(mine, "bits");
  return std::all_of(all.begin(), all.end(), [&](const std::string& one) { return one == mine; });
}

inline void copy_weights(const Parameters& from, Parameters& to) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : to.all())
    at::Tensor(parameter.tensor.detach()).copy_(from.find(parameter.name).tensor.detach());
}

/// The largest difference of gradients as a share of what is allowed (design: 1e-5 of the tensor's largest or
/// of a thousandth of the model's; key biases, whose true gradient is zero, 1e-6 of the query biases').
inline double gradient_error(const Parameters& ours, const Parameters& reference) {
  double worst = 0;
  const double floor = kGradientFloor * largest(reference.gradients());
  for (const Parameter& parameter : reference.all()) {
    const at::Tensor& exact = parameter.tensor.grad();
    const at::Tensor& mine = ours.find(parameter.name).tensor.grad();
    const std::size_t key = parameter.name.find("attn.k.bias");
    if (key == std::string::npos) {
      worst = std::max(worst, difference(mine, exact) / (kGradient * std::max(largest(exact), floor)));
      continue;
    }
    std::string query = parameter.name;
    query[key + 5] = 'q';
    worst = std::max(worst, largest(mine) / (kKeyBias * largest(reference.find(query).tensor.grad())));
  }
  return worst;
}

/// Prints what is wrong; a scenario ends with the number of such lines.
class Findings {
 public:
  void check(bool good, const std::string& what) {
    if (good) return;
    fmt::print("WRONG: {}\n", what);
    ++count_;
  }
  int count() const { return count_; }

 private:
  int count_ = 0;
};

/// One training step of `model` on this rank's part of the joint batch, in `accumulate` micro-batches; the
/// gradients are averaged and not used. Gives this rank's loss.
template <class Model>
double synced_gradients(Model& model, GradientSync& sync, Comm& comm,
                        const std::pair<at::Tensor, at::Tensor>& joint, std::int64_t accumulate,
                        SyncFigures* figures = nullptr) {
  model.parameters.zero_gradients();
  double loss = 0;
  for (std::int64_t part = 0; part < accumulate; ++part) {
    sync.begin(part + 1 == accumulate);
    const std::int64_t mine = part * comm.size() + comm.rank();
    const std::int64_t parts = comm.size() * accumulate;
    const at::Tensor share =
        model.loss(strided(joint.first, mine, parts), strided(joint.second, mine, parts)).div(accumulate);
    sync.backward(share);
    loss += share.template item<double>();
  }
  const SyncFigures done = sync.finish();
  if (figures != nullptr) *figures = done;
  return loss;
}

}  // namespace isobar::testing
