#include "run/measure_elements.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <string>

#include "formula/step_time.h"
#include "fused/functions.h"
#include "model/layers.h"
#include "model/relative_l2.h"
#include "model/vit.h"
#include "run/made_graph.h"
#include "train/adam.h"
#include "train/fused_adam.h"

namespace isobar {
namespace {

const c10::Device kCpu(c10::kCPU);

/// The activations around the products of a block: what they give is a leaf, what they take is a root.
struct AroundProducts {
  at::Tensor qkv, projected, hidden, branch;
};

class ElementChain {
 public:
  ElementChain(const TokenSize& size, std::int64_t depth, AmpMode mode, bool fused)
      : size_(size), type_(activation_type(mode)), fused_(fused) {
    const std::int64_t rows = size.batch * size.tokens;
    for (std::int64_t i = 0; i < 2 * depth + 1; ++i)
      norms_.emplace_back(parameters_, fmt::format("norm{}", i), size.embed);
    for (std::int64_t i = 0; i < depth; ++i) {
      biases_.push_back(parameters_.add({.name = fmt::format("bias{}", i), .full_shape = {size.embed}}));
      biases_.push_back(parameters_.add({.name = fmt::format("wide{}", i), .full_shape = {4 * size.embed}}));
      biases_.push_back(parameters_.add({.name = fmt::format("last{}", i), .full_shape = {size.embed}}));
      around_.push_back({leaf({rows, 3 * size.embed}), leaf({rows, size.embed}), leaf({rows, 4 * size.embed}),
                         leaf({rows, size.embed})});
    }
    parameters_.materialise(/*seed=*/1, kCpu);
    first_ = made_leaf({rows, size.embed});
  }

  MadeGraph graph() const {
    MadeGraph out;
    out.leaves = {first_};
    for (const AroundProducts& block : around_) {
      if (fused_) out.leaves.push_back(block.qkv);
      out.leaves.insert(out.leaves.end(), {block.projected, block.hidden, block.branch});
    }
    for (const ParameterLeaf& leaf : parameters_.leaves()) {
      const bool is_used = fused_ || (leaf.name.starts_with("norm") && leaf.name.find(last()) != 0);
      if (is_used) out.leaves.push_back(leaf.tensor);
    }
    out.forward = [this] { return fused_ ? fused_pass() : plain_pass(); };
    return out;
  }

 private:
  at::Tensor leaf(at::IntArrayRef shape) const { return made_leaf(shape, type_); }
  std::string last() const { return norms_.back().name; }

  /// Like Block (model/layers.h): q, k and v each take the norm's output, under autocast a cast of it.
  std::vector<at::Tensor> plain_pass() const {
    std::vector<at::Tensor> out;
    at::Tensor x = first_;
    for (std::size_t i = 0; i < around_.size(); ++i) {
      const at::Tensor y = norms_[2 * i](x);
      for (int part = 0; part < 3; ++part) out.push_back(y.to(type_));
      x = x + around_[i].projected;
      out.push_back(norms_[2 * i + 1](x).to(type_));
      out.push_back(at::gelu(around_[i].hidden));
      x = x + around_[i].branch;
    }
    out.push_back(x);
    return out;
  }

  NormParameters norm(std::size_t i) const { return {norms_[i].weight, norms_[i].bias, norms_[i].eps}; }

  /// Like FusedVit (model/fused_vit.cpp).
  std::vector<at::Tensor> fused_pass() const {
    std::vector<at::Tensor> out;
    Normed stream = fused_norm(first_, norm(0), type_);
    for (std::size_t i = 0; i < around_.size(); ++i) {
      out.push_back(stream.y);
      for (const at::Tensor& part : split_heads(around_[i].qkv, size_.batch, size_.heads))
        out.push_back(part);
      stream = fused_residual_norm(stream.sum, around_[i].projected, biases_[3 * i], norm(2 * i + 1));
      out.push_back(stream.y);
      out.push_back(fused_bias_gelu(around_[i].hidden, biases_[3 * i + 1]));
      stream = fused_residual_norm(stream.sum, around_[i].branch, biases_[3 * i + 2], norm(2 * i + 2));
    }
    out.push_back(stream.y);
    return out;
  }

  TokenSize size_;
  at::ScalarType type_;
  bool fused_;
  Parameters parameters_;
  std::vector<Norm> norms_;  ///< two a block, and the last one
  std::vector<at::Tensor> biases_;
  std::vector<AroundProducts> around_;
  at::Tensor first_;
};

/// A copy of what no cache holds: of what lay in one, nothing is left.
class Copy {
 public:
  explicit Copy(std::int64_t bytes) : from_(at::zeros({bytes / 8})), to_(at::zeros({bytes / 8})) {}
  void operator()() const { to_.copy_(from_); }

 private:
  at::Tensor from_, to_;
};

double cold_update_us(const WorkStage& update, const Repeats& repeats) {
  constexpr std::int64_t kCaches_bytes = 64 << 20;
  return median_times_us({Copy(kCaches_bytes), update}, repeats).back();
}

}  // namespace

RateAt measure_elements(const TokenSize& size, std::int64_t depth, AmpMode mode, bool fused,
                        const Repeats& repeats) {
  const ElementChain chain(size, depth, mode, fused);
  StepForm form;
  form.precision = mode;
  form.fused_bias_gelu = form.fused_residual_norm = form.fused_qkv = fused;
  const double bytes = element_bytes_per_place(form) * size.values() * static_cast<double>(depth);
  return {size.values(), rate_per_s(bytes, time_passes(chain.graph(), mode, repeats).total_us())};
}

double measure_ends(const VitShape& shape, std::int64_t batch, bool fused, const Repeats& repeats) {
  const at::Tensor target = at::randn({batch, shape.channels, shape.height, shape.width});
  MadeGraph graph;
  graph.leaves = {made_leaf({batch, shape.tokens(), shape.channels * shape.patch * shape.patch})};
  graph.forward = [&]() -> std::vector<at::Tensor> {
    return {fused ? fused_head_loss(graph.leaves[0], target, shape.patch)
                  : relative_l2(unpatch(graph.leaves[0], shape), target)};
  };
  return time_passes(graph, AmpMode::none, repeats).total_us() / static_cast<double>(target.numel());
}

RateAt measure_adam(const VitShape& shape, bool fused, const Repeats& repeats) {
  Parameters parameters;
  const Vit model(parameters, shape);
  parameters.materialise(/*seed=*/1, kCpu);
  parameters.gradients().copy_(at::randn({parameters.gradients().numel()}).mul_(1e-3));
  const auto count = static_cast<double>(count_of(parameters));
  const OptimConfig config;
  constexpr double kRate = 1e-4;
  if (!fused) {
    Adam adam(parameters, config);
    return {count, rate_per_s(kPlainAdamBytes * count, cold_update_us([&] { adam.step(kRate); }, repeats))};
  }
  FusedAdam adam(parameters, config, FusionConfig{});
  GradScaler scaler({.mode = AmpMode::none}, kCpu);
  return {count,
          rate_per_s(kFusedAdamBytes * count, cold_update_us([&] { adam.step(kRate, scaler); }, repeats))};
}

double measure_copy(std::int64_t bytes, const Repeats& repeats) {
  return rate_per_s(static_cast<double>(bytes), median_time_us(Copy(bytes), repeats));
}

}  // namespace isobar
