#include "train/muon.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/memory_ledger.h"

namespace isobar {
namespace {

constexpr double kMomentum = 0.95;
constexpr int kNewtonSchulzSteps = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

bool is_block_matrix(const Parameter& parameter) {
  return parameter.name.starts_with("blocks.") && parameter.full_shape.size() == 2;
}

}  // namespace

at::Tensor orthonormalised(const at::Tensor& matrix) {
  const at::NoGradGuard no_grad;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = is_tall ? matrix.t() : matrix;
  x = x.div(at::linalg_vector_norm(x, 2).add(1e-7));
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    const at::Tensor a = at::mm(x, x.t());
    const at::Tensor b = at::addmm(a, a, a, kB, kC);
    x = at::addmm(x, b, x, kA, 1);
  }
  return is_tall ? x.t() : x;
}

Muon::Muon(Parameters& parameters, const OptimConfig& config, const FusionConfig& fusion,
           const TensorParallel& ranks)
    : FusedAdam(parameters, config, fusion, ranks, Moments::none) {
  const MemoryScope scope(MemoryCategory::moments);
  for (const Parameter& parameter : parameters.all()) {
    const auto zeros = [&] {
      return at::zeros({parameters.own_stretch(parameter).count}, parameters.options());
    };
    own_.push_back({.is_matrix = is_block_matrix(parameter), .first = zeros()});
    if (!own_.back().is_matrix) own_.back().second = zeros();
  }
}

std::vector<Muon::Bucket> Muon::buckets() const {
  std::vector<Bucket> out;
  if (!parameters_.is_shared_out()) {
    const std::int64_t all = parameters_.own_count();
    out.push_back({.begin = 0, .count = all, .own_begin = 0, .part = all});
  }
  for (const ParameterBucket& bucket : parameters_.buckets()) {
    if (!parameters_.is_shared_out()) break;
    out.push_back(
        {.begin = bucket.begin, .count = bucket.count, .own_begin = bucket.own_begin, .part = bucket.part});
  }
  const auto bucket_of = [&](const Parameter& parameter) -> Bucket& {
    return *std::find_if(out.rbegin(), out.rend(),
                         [&](const Bucket& one) { return one.begin <= parameter.flat_begin; });
  };
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i].is_matrix) continue;
    Bucket& bucket = bucket_of(parameters_.all()[i]);
    bucket.has_matrix = true;
    if (!own_[i].is_empty()) bucket.matrices.push_back(i);
  }
  return out;
}

at::Tensor Muon::gathered_update(std::size_t number, const Bucket& bucket) {
  const at::Tensor scale = control_[kInverseScale];
  const at::Tensor mine = at::zeros({bucket.part}, parameters_.options());
  for (const std::size_t index : bucket.matrices) {
    at::Tensor& momentum = own_[index].first;
    const Parameter& parameter = parameters_.all()[index];
    const OwnStretch place = parameters_.own_stretch(parameter);
    const at::Tensor gradient = parameters_.own_gradients(parameter).mul(scale);
    momentum.lerp_(gradient, 1 - kMomentum);
    mine.narrow(0, place.in_own - bucket.own_begin, place.count).copy_(gradient.lerp(momentum, kMomentum));
  }
  SharesParameters* const sharer = parameters_.shared_layout().sharer;
  if (sharer == nullptr || sharer->group().size() == 1) return mine;
  const at::Tensor whole = at::zeros({bucket.count}, parameters_.options());
  const std::int64_t shared = bucket.part * sharer->group().size();
  sharer->group().all_gather(whole.narrow(0, 0, shared), mine, fmt::format("momentum {}", number)).wait();
  return whole;
}

void Muon::move(const Parameter& matrix, const at::Tensor& update, const Bucket& bucket) {
  const at::IntArrayRef shape = matrix.full_shape;
  const at::Tensor whole =
      update.narrow(0, matrix.flat_begin - bucket.begin, shape[0] * shape[1]).view(shape);
  const double as_adams = 0.2 * std::sqrt(static_cast<double>(std::max(shape[0], shape[1])));
  const at::Tensor direction = orthonormalised(whole).reshape({-1});
  const OwnStretch place = parameters_.own_stretch(matrix);
  parameters_.own_values(matrix).sub_(direction.narrow(0, place.in_parameter, place.count),
                                      learning_rate_ * as_adams);
  ++worked_out_;
}

void Muon::apply(GradScaler&) {
  control_[kSteps].add_(1).sub_(control_[kSkip]);
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Own& own = own_[i];
    const Parameter& parameter = parameters_.all()[i];
    if (own.is_matrix || own.is_empty()) continue;
    adam({parameters_.own_values(parameter), parameters_.own_gradients(parameter), own.first, own.second,
          control_},
         config_.beta1, config_.beta2, config_.eps);
  }
  worked_out_ = 0;
  if (control_[kSkip].item<float>() != 0) return;
  const std::vector<Bucket> all = buckets();
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (!all[number].has_matrix) continue;  // so it is on all ranks
    const at::Tensor update = gathered_update(number, all[number]);
    for (const std::size_t index : all[number].matrices) move(parameters_.all()[index], update, all[number]);
  }
}

std::string Muon::why_not_captured() const {
  return "optim.name = muon: the host asks whether the step is skipped";
}

std::vector<NamedTensor> Muon::moments() const {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const Own& own = own_[i];
    const Parameter& parameter = parameters_.all()[i];
    const auto add = [&](const char* kind, const at::Tensor& values) {
      out.push_back(named_state(parameters_, parameter, kind + parameter.name, values));
    };
    add(own.is_matrix ? "momentum." : "exp_avg.", own.first);
    if (!own.is_matrix) add("exp_avg_sq.", own.second);
  }
  return out;
}

}  // namespace isobar
