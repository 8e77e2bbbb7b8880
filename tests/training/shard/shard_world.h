#pragma once
// One rank of a small training whose states are shared out, and what its weights are compared with.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "launch/mesh.h"
#include "shard/sharded_states.h"
#include "train/named_tensors.h"
#include "train/sync_world.h"

namespace isobar::testing {

/// No size of it is a multiple of the ranks.
inline constexpr VitShape kSharedVit = {
    .height = 12, .width = 20, .channels = 3, .patch = 4, .embed = 30, .depth = 2, .heads = 2};

struct SharedModel {
  SharedModel(const VitShape& shape, const FusionConfig& fusion, Comm& group, const Config& config,
              const TensorParallel& ranks = {})
      : vit(parameters, shape, fusion, AttentionKind::automatic, ranks), states(parameters, group, config) {
    vit.watch_units(states);
    parameters.materialise(3, at::kCPU);
  }
  at::Tensor loss(const at::Tensor& image, const at::Tensor& target) const { return vit.loss(image, target); }

  Parameters parameters;
  FusedVit vit;
  ShardedStates states;
};

/// What `key=value` words of a scenario set.
struct ShardSetting {
  explicit ShardSetting(const std::vector<std::string>& words) {
    std::map<std::string, std::string> set;
    for (const std::string& word : words)
      set[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    const auto number = [&](const char* key, std::int64_t usual) {
      return set.count(key) > 0 ? std::stoll(set[key]) : usual;
    };
    const std::string kernel = set.count("kernel") > 0 ? set["kernel"] : "own";
    config.comm = small_buckets(set.count("backend") > 0 ? set["backend"] : "ring", "buckets");
    config.comm.overlap = number("overlap", 1) != 0;
    config.mesh.zero = number("zero", 1);
    config.mesh.reshard = number("reshard", 1) != 0;
    config.mesh.prefetch = number("prefetch", 1);
    config.mesh.gather_dtype = number("gather", 32) == 16 ? GradBits::bits_16 : GradBits::bits_32;
    config.mesh.tp = number("tp", 1);
    config.mesh.sequence_parallel = number("tokens", 0) != 0;
    if (set.count("amp") > 0) config.amp.mode = named<AmpMode>(set["amp"]);
    config.amp.init_scale = 1024;
    config.optim.lr = 1e-3;
    config.optim.clip_norm = set.count("clip") > 0 ? std::stod(set["clip"]) : 0;
    if (kernel == "plain") {
      config.fusion.adam = config.fusion.grad_norm = false;
    } else {
      config.optim.kernel = named<AdamKernel>(kernel);
    }
    accumulate = number("accumulate", 1);
    overflow_step = number("overflow", -1);
  }

  Config config;
  std::int64_t accumulate = 1;
  std::int64_t overflow_step = -1;  ///< in which the loss of the last rank is infinite
};

/// The pieces of the model's tensors that the ranks of `group` share out, put together on its rank 0.
inline std::map<std::string, at::Tensor> put_together(const std::vector<NamedTensor>& tensors, Comm& group) {
  std::map<std::string, at::Tensor> out;
  for (const NamedTensor& one : with_all_stretches(tensors, group)) out[one.name] = one.tensor;
  return out;
}

/// One backward pass a micro-batch of replica `replica` of `replicas`; gives the loss.
template <class Model, class Sync>
double backward_passes(Model& model, Sync& sync, const ShardSetting& setting, GradScaler& scaler, int replica,
                       int replicas, std::int64_t step) {
  const std::int64_t parts = replicas * setting.accumulate;
  const auto joint = joint_batch(kSharedVit, 2 * parts, step);
  double sum = 0;
  for (std::int64_t part = 0; part < setting.accumulate; ++part) {
    sync.begin(part + 1 == setting.accumulate);
    const std::int64_t mine = part * replicas + replica;
    Autocast autocast(setting.config.amp.mode, at::kCPU);
    at::Tensor loss = model.loss(strided(joint.first, mine, parts), strided(joint.second, mine, parts));
    autocast.end();
    loss = loss.div(setting.accumulate);
    sum += loss.template item<double>();
    if (step == setting.overflow_step && replica == replicas - 1) loss = loss.mul(INFINITY);
    sync.backward(scaler.scale(loss));
  }
  return sum;
}

}  // namespace isobar::testing
