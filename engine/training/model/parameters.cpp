#include "model/parameters.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/erfinv.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "device/memory_ledger.h"

namespace isobar {
namespace {

constexpr std::int64_t kAlignment = kAlignedFloats;
constexpr double kStd = 0.02;
constexpr double kCut = 2.0;

constexpr std::int64_t aligned(std::int64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Uniform numbers in [0, 1) of the parameter's own stream, [n] float64.
at::Tensor uniforms(const Parameter& parameter, std::int64_t seed) {
  const std::int64_t n = product(parameter.full_shape);
  const std::uint64_t key = stream_key(static_cast<std::uint64_t>(seed), parameter.name);
  at::Tensor out = at::empty({n}, at::kDouble);
  double* const values = out.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < n; ++i) values[i] = uniform_at(key, static_cast<std::uint64_t>(i));
  return out;
}

/// u in [2F(-cut/std) - 1, 2F(cut/std) - 1), then std sqrt(2) erfinv(u), clamped to +-cut.
at::Tensor truncated_normal(const Parameter& parameter, std::int64_t seed) {
  const double half_width = std::erf(kCut / kStd / std::sqrt(2.0));
  // erfinv(+-1) is infinite; the first and last of 2^53 steps would be cut at +-2 anyway.
  const at::Tensor u = uniforms(parameter, seed).mul_(2 * half_width).sub_(half_width);
  return at::erfinv(u).mul_(kStd * std::sqrt(2.0)).clamp_(-kCut, kCut);
}

at::Tensor fan_in_uniform(const Parameter& parameter, std::int64_t seed, std::int64_t fan_in) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return uniforms(parameter, seed).mul_(2 * bound).sub_(bound);
}

}  // namespace

at::Tensor initial_values(const Parameter& parameter, std::int64_t seed) {
  const std::int64_t n = product(parameter.full_shape);
  at::Tensor full;
  switch (parameter.init) {
    case Init::zeros:
      full = at::zeros({n}, at::kDouble);
      break;
    case Init::ones:
      full = at::ones({n}, at::kDouble);
      break;
    case Init::truncated_normal:
      full = truncated_normal(parameter, seed);
      break;
    case Init::fan_in_uniform:
      full = fan_in_uniform(parameter, seed, parameter.fan_in);
      break;
  }
  const std::int64_t length =
      parameter.full_shape[static_cast<std::size_t>(parameter.shard.dim)] / parameter.shard.count;
  return full.view(parameter.full_shape)
      .narrow(parameter.shard.dim, parameter.shard.drawn() * length, length)
      .to(at::kFloat)
      .contiguous();
}

void Parameters::check_new(const std::string& name) const {
  const auto is_it = [&](const auto& other) { return other.name == name; };
  if (std::any_of(all_.begin(), all_.end(), is_it) || std::any_of(buffers_.begin(), buffers_.end(), is_it))
    throw Error("a name of the model is used twice", name, "", Exit::failed);
}

at::Tensor Parameters::add_buffer(const std::string& name, const std::vector<std::int64_t>& shape,
                                  double fill, bool saved) {
  check_new(name);
  buffers_.push_back({name, at::empty(shape, at::kFloat), fill, saved});
  return buffers_.back().tensor;
}

at::Tensor Parameters::add(const ParameterSpec& spec) {
  check_new(spec.name);
  Parameter parameter{spec, {}, 0};
  std::vector<std::int64_t> shape = spec.full_shape;
  std::int64_t& split = shape.at(static_cast<std::size_t>(spec.shard.dim));
  if (split % spec.shard.count != 0) {
    throw Error(fmt::format("{} rows cannot be cut into {} equal shards", split, spec.shard.count), spec.name,
                "");
  }
  split /= spec.shard.count;
  parameter.tensor = at::empty(shape, at::kFloat);
  parameter.tensor.set_requires_grad(true);
  all_.push_back(parameter);
  return parameter.tensor;
}

const Parameter& Parameters::find(const std::string& name) const {
  for (const Parameter& parameter : all_) {
    if (parameter.name == name) return parameter;
  }
  throw Error("the model has no such parameter", name, "", Exit::failed);
}

const Parameters::Joint* Parameters::joint_of(std::size_t index) const {
  for (const Joint& joint : joints_) {
    if (std::find(joint.members.begin(), joint.members.end(), index) != joint.members.end()) return &joint;
  }
  return nullptr;
}

at::Tensor Parameters::join(const std::vector<std::string>& names) {
  if (!own_.empty()) throw Error("parameters are joined before they get their places", "", "", Exit::failed);
  Joint joint;
  std::vector<std::int64_t> shape;
  for (const std::string& name : names) {
    const auto index = static_cast<std::size_t>(&find(name) - all_.data());
    const std::vector<std::int64_t> part = all_[index].tensor.sizes().vec();
    const bool again = std::find(joint.members.begin(), joint.members.end(), index) != joint.members.end();
    if (again || joint_of(index) != nullptr)
      throw Error("a parameter is joined twice", name, "", Exit::failed);
    if (shape.empty()) {
      shape = part;
    } else if (!std::equal(part.begin() + 1, part.end(), shape.begin() + 1, shape.end())) {
      throw Error(fmt::format("a parameter of shape [{}] cannot be joined to one of [{}]", joined(part),
                              joined(all_[joint.members.front()].tensor.sizes())),
                  name, "", Exit::failed);
    } else {
      shape[0] += part[0];
    }
    joint.members.push_back(index);
  }
  joint.leaf = at::empty(shape, at::kFloat);
  joint.leaf.set_requires_grad(true);
  joints_.push_back(joint);
  return joint.leaf;
}

std::vector<std::vector<std::size_t>> Parameters::leaf_members() const {
  std::vector<std::vector<std::size_t>> out;
  std::vector<bool> placed(all_.size(), false);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (placed[i]) continue;
    const Joint* const joint = joint_of(i);
    out.push_back(joint == nullptr ? std::vector<std::size_t>{i} : joint->members);
    for (const std::size_t member : out.back()) placed[member] = true;
  }
  return out;
}

std::vector<ParameterLeaf> Parameters::leaves() const {
  std::vector<ParameterLeaf> out;
  for (const std::vector<std::size_t>& members : leaf_members()) {
    const Parameter& first = all_[members.front()];
    const Joint* const joint = joint_of(members.front());
    const std::string name =
        joint == nullptr ? first.name : fmt::format("{} + {}", first.name, members.size() - 1);
    out.push_back({name, joint == nullptr ? first.tensor : joint->leaf, first.flat_begin});
  }
  return out;
}

std::int64_t Parameters::lay_out(const std::vector<std::size_t>& order, std::int64_t begin) {
  const std::vector<std::vector<std::size_t>> members = leaf_members();
  std::int64_t end = begin;
  for (const std::size_t leaf : order) {
    for (const std::size_t member : members[leaf]) {  // no gaps within: a leaf is one piece of memory
      all_[member].flat_begin = end;
      end += all_[member].tensor.numel();
    }
    end = aligned(end);
  }
  return end;
}

void Parameters::move_in() {
  const auto move = [&](const at::Tensor& leaf, std::int64_t begin) {
    const auto view = [&](const at::Tensor& flat, std::int64_t at) {
      return flat.narrow(0, at, leaf.numel()).view(leaf.sizes());
    };
    const ParameterBucket* const bucket = has_buckets() ? &bucket_at(begin) : nullptr;
    const std::int64_t in_bucket = bucket == nullptr ? 0 : begin - bucket->begin;
    leaf.set_data(values_.defined() ? view(values_, begin) : view(bucket->values.tensor(), in_bucket));
    leaf.mutable_grad() =
        gradients_.defined() ? view(gradients_, begin) : view(bucket->gradients.tensor(), in_bucket);
  };
  for (const Parameter& parameter : all_) move(parameter.tensor, parameter.flat_begin);
  for (const Joint& joint : joints_) move(joint.leaf, all_[joint.members.front()].flat_begin);
}

void Parameters::materialise(std::int64_t seed, c10::Device device) {
  const at::NoGradGuard no_grad;
  if (has_buckets()) {
    make_buckets(device);
    move_in();
    first_values_of_buckets(seed);
  } else {
    std::vector<std::size_t> declared(leaf_members().size());
    std::iota(declared.begin(), declared.end(), std::size_t{0});
    // Behind the last parameter is padding too, and a kernel may run over it.
    values_ = held_zeros(MemoryCategory::weights, lay_out(declared, 0) + kAlignment,
                         at::TensorOptions(at::kFloat).device(device));
    gradients_ = held_zeros(MemoryCategory::gradients, values_.numel(), values_.options());
    own_ = {{.begin = 0, .values = values_, .gradients = gradients_}};
    move_in();
    for (const Parameter& parameter : all_)
      at::Tensor(parameter.tensor.detach()).copy_(initial_values(parameter, seed));
  }
  const MemoryScope scope(MemoryCategory::weights);
  for (Buffer& buffer : buffers_)
    buffer.tensor.set_data(at::full(buffer.tensor.sizes(), buffer.fill, options()));
}

void Parameters::follow(const at::Tensor& flat) { followers_.emplace_back(flat.getIntrusivePtr()); }

void Parameters::lay_out_again(const std::vector<std::size_t>& order) {
  if (has_buckets()) throw Error("parameters that are shared out keep their places", "", "", Exit::failed);
  const std::vector<ParameterLeaf> before = leaves();
  std::vector<bool> seen(before.size(), false);
  for (const std::size_t leaf : order) {
    if (leaf < seen.size()) seen[leaf] = true;
  }
  if (order.size() != before.size() || std::count(seen.begin(), seen.end(), false) > 0) {
    throw Error(fmt::format("a layout of {} leaves must name each of them once", before.size()),
                fmt::format("order [{}]", joined(order)), "", Exit::failed);
  }
  lay_out(order, 0);
  const std::vector<ParameterLeaf> after = leaves();
  const at::NoGradGuard no_grad;
  const auto move = [&](at::Tensor flat) {  // within its memory: its holders see the new layout
    const at::Tensor old = flat.clone();
    flat.zero_();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::int64_t count = before[i].tensor.numel();
      flat.narrow(0, after[i].flat_begin, count).copy_(old.narrow(0, before[i].flat_begin, count));
    }
  };
  move(values_);
  move(gradients_);
  std::erase_if(followers_, [](const auto& follower) { return follower.expired(); });
  for (const auto& follower : followers_) move(at::Tensor(follower.lock()));
  move_in();
  ++layout_version_;
}

std::int64_t count_of(const Parameters& parameters) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters.all()) count += parameter.tensor.numel();
  return count;
}

std::int64_t whole_count_of(const Parameters& parameters) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters.all()) count += product(parameter.full_shape);
  return count;
}

void Parameters::zero_gradients() {
  if (piles_up_) return;
  if (gradients_.defined()) return seams::zero_gradients(gradients_);
  for (OwnPiece& piece : own_) seams::zero_gradients(piece.gradients);
}

}  // namespace isobar
