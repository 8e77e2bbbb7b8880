// What each rank does in the tests of groups that share states, and of what lies elsewhere or elsewise:
// copies of a group, host memory, Muon, files.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <cmath>
#include <map>
#include <memory>

#include "fields/checkpoint_folder.h"
#include "launch/mesh.h"
#include "shard/sharded_states.h"
#include "support/rank_scenarios.h"
#include "train/make_optimizer.h"
#include "train/muon.h"
#include "train/named_tensors.h"
#include "train/sync_world.h"
#include "train/training_state.h"

namespace isobar::hybrid_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

/// No size of it is a multiple of the ranks.
constexpr VitShape kShape = {
    .height = 12, .width = 20, .channels = 3, .patch = 4, .embed = 30, .depth = 2, .heads = 2};
constexpr int kSteps = 4;

/// "zero=2 shard=2 ranks=4": ranks that train, the first ones of the world.
Config config_of(const std::string& text) {
  Config out;
  out.comm = small_buckets("ring", "buckets");
  out.optim.lr = 1e-3;
  const auto value = [&](const std::string& key) -> std::string {
    const std::size_t at = (" " + text).find(" " + key + "=");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + key.size() + 1;
    return text.substr(begin, text.find(' ', begin) - begin);
  };
  const auto number = [&](const char* key, std::int64_t usual) {
    return value(key).empty() ? usual : std::stoll(value(key));
  };
  out.mesh.zero = number("zero", 0);
  out.mesh.shard = number("shard", 0);
  out.run.ranks = number("ranks", 4);
  if (!value("offload").empty()) out.mesh.offload = named<OffloadKind>(value("offload"));
  if (!value("optim").empty()) out.optim.name = named<OptimizerKind>(value("optim"));
  if (!value("gather").empty()) {
    out.mesh.gather_dtype = GradBits::bits_16;
    out.amp.mode = AmpMode::bf16;
  }
  return out;
}

/// A training of some ranks of the world; `all` calls its constructor.
struct Trained {
  Trained(Comm& all, const Config& given)
      : config(given),
        dp(all.group(first(config.run.ranks), "dp")),
        takes_part(all.rank() < static_cast<int>(config.run.ranks)) {
    if (!takes_part) return;
    const Mesh mesh(config.mesh.order, {.dp = dp.size(), .shard = static_cast<int>(config.mesh.shard)},
                    dp.size());
    shard = dp.part(mesh.groups("shard"), "shard", Reach::inside_node);
    copies = dp.part(mesh.groups("copies"), "copies");
    vit = std::make_unique<FusedVit>(parameters, kShape, config.fusion, AttentionKind::automatic);
    states = std::make_unique<ShardedStates>(parameters, shard, config, &copies);
    vit->watch_units(*states);
    parameters.materialise(3, at::kCPU);
    optimizer = make_optimizer(parameters, config);
  }
  static std::vector<int> first(std::int64_t ranks) {
    std::vector<int> out;
    for (int rank = 0; rank < static_cast<int>(ranks); ++rank) out.push_back(rank);
    return out;
  }

  /// The mean loss of all ranks in a step on the joint batch of eight samples.
  double step(std::int64_t index) {
    const auto joint = joint_batch(kShape, 8, index);
    states->zero_gradients();
    states->begin();
    Autocast autocast(config.amp.mode, at::kCPU);
    const at::Tensor loss =
        vit->loss(strided(joint.first, dp.rank(), dp.size()), strided(joint.second, dp.rank(), dp.size()));
    autocast.end();
    states->backward(loss);
    sent = states->finish();
    optimizer->step(config.optim.lr, scaler);
    sent += states->gather_weights();
    double sum = 0;
    for (const double one : dp.all_gather_numbers(loss.item<double>(), "loss")) sum += one;
    return sum / dp.size();
  }

  /// Weights and moments by name, whole, on rank 0 of each shard group.
  std::map<std::string, at::Tensor> whole() {
    std::vector<NamedTensor> mine = named_tensors(parameters);
    const std::vector<NamedTensor> moments = optimizer->moments();
    mine.insert(mine.end(), moments.begin(), moments.end());
    std::map<std::string, at::Tensor> out;
    for (const NamedTensor& one : with_all_stretches(mine, shard)) out[one.name] = one.tensor.clone();
    return out;
  }

  void save(const std::filesystem::path& folder) {
    std::unique_ptr<CheckpointWriter> writer;
    if (dp.rank() == 0) writer = std::make_unique<CheckpointWriter>(folder, kSteps);
    const std::string aside = dp.all_gather_text(writer ? writer->aside().string() : "", "begun").front();
    const bool shares = parameters.is_shared_out();
    std::string digest;
    Comm model = Comm::alone(0);
    if (shares && copies.rank() == 0) {
      const ShareFile file = save_share(aside, parameters, *optimizer, model, shard.rank(), shard.size());
      digest = fmt::format("{} {} {}", file.name, file.digest.bytes, file.digest.crc32c);
    }
    const std::vector<std::string> files = dp.all_gather_text(digest, "written");
    if (writer == nullptr) return;
    if (!shares) {
      writer->write_tensors("model.safetensors", HostTensors(named_tensors(parameters)).to_write());
      writer->write_tensors("optimizer.safetensors", HostTensors(optimizer->moments()).to_write());
    }
    for (const std::string& one : files) {
      const std::size_t first = one.find(' '), second = one.rfind(' ');
      if (one.empty()) continue;
      writer->add(one.substr(0, first), {std::stoull(one.substr(first + 1, second)),
                                         static_cast<std::uint32_t>(std::stoul(one.substr(second + 1)))});
    }
    writer->finish();
  }

  Config config;
  Comm dp;
  bool takes_part;
  Comm shard, copies;
  Parameters parameters;
  std::unique_ptr<FusedVit> vit;
  std::unique_ptr<ShardedStates> states;
  std::unique_ptr<FusedAdam> optimizer;
  GradScaler scaler{{.mode = AmpMode::none}, at::kCPU};
  SyncFigures sent;
};

/// The largest difference of weights and moments, as a share of 1e-5 of the largest value; 0 = to the bit.
double apart(Trained& one, Trained& other) {
  const std::map<std::string, at::Tensor> mine = one.whole(), theirs = other.whole();
  if (one.shard.rank() > 0 || other.shard.rank() > 0) return 0;
  double worst = mine.size() == theirs.size() ? 0 : 1e9;
  for (const auto& [name, tensor] : mine) {
    if (at::equal(tensor, theirs.at(name))) continue;
    if (name.find("attn.k.bias") != std::string::npos) continue;  // its gradient is zero but for rounding
    const double share = name.starts_with("exp_avg") ? 1e-4 : 1e-5;
    worst = std::max(worst, difference(tensor, theirs.at(name)) / (share * std::max(largest(tensor), 1e-3)));
  }
  return worst;
}

bool within(double found, double wanted) { return std::fabs(found - wanted) <= 0.05 * wanted; }

/// hybrid "SETTING": four ranks in groups, against plain averaging over all; traffic against the formula.
int run_hybrid(const Words& words) {
  const Config config = config_of(words.at(0));
  Comm all = joined(config.comm);
  Trained plain(all, config_of("zero=0")), hybrid(all, config);
  Findings findings;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const double expected = plain.step(step), found = hybrid.step(step);
    findings.check(std::fabs(found - expected) <= 1e-5 * expected,
                   fmt::format("loss {} {}", found, expected));
    const double bytes = 4.0 * static_cast<double>(count_of(hybrid.parameters));
    const double g = hybrid.shard.size(), k = hybrid.copies.size();
    const double inside = (config.mesh.zero == 3 ? 3 : 2) * (g - 1) / g * bytes;
    const double between = 2 * (k - 1) / k * bytes / g;
    const auto node = static_cast<double>(hybrid.sent.node_wire_bytes);
    const double rest = static_cast<double>(hybrid.sent.wire_bytes) - node;
    findings.check(within(node, inside), fmt::format("{} bytes inside a node, {:.0f} wanted", node, inside));
    findings.check(within(rest, between), fmt::format("{} bytes between, {:.0f} wanted", rest, between));
    findings.check(hybrid.sent.calls > hybrid.sent.node_calls && hybrid.sent.node_calls > 0, "calls of both");
  }
  const double error = apart(plain, hybrid);
  findings.check(error <= 1, fmt::format("{} times what is allowed", error));
  return findings.count();
}

/// offload "SETTING": against the same without, to the bit; bytes against the formula.
int run_offload(const Words& words) {
  const Config config = config_of(words.at(0));
  Config here = config;
  here.mesh.offload = OffloadKind::none;
  Comm all = joined(config.comm);
  Trained plain(all, here), moved(all, config);
  Findings findings;
  const std::int64_t own = 4 * moved.parameters.own_count();
  for (std::int64_t step = 0; step < kSteps; ++step) {
    if (config.mesh.offload == OffloadKind::weights) {  // what a forecast uploads is no step's
      const at::NoGradGuard no_grad;
      (*moved.vit)(joint_batch(kShape, 2, step).first);
      (*plain.vit)(joint_batch(kShape, 2, step).first);
    }
    findings.check(plain.step(step) == moved.step(step), "losses are equal to the bit");
    const std::int64_t gathered = config.mesh.gather_dtype == GradBits::bits_16 ? own / 2 : own;
    const std::int64_t up = config.mesh.offload == OffloadKind::weights ? 2 * gathered : own;
    findings.check(moved.sent.offload_down_bytes == own && moved.sent.offload_up_bytes == up,
                   fmt::format("{} bytes down, {} up, of {}", moved.sent.offload_down_bytes,
                               moved.sent.offload_up_bytes, own));
    findings.check(plain.sent.offload_down_bytes == 0 && plain.sent.offload_up_bytes == 0, "none without");
    findings.check(plain.sent.wire_bytes == moved.sent.wire_bytes, "ranks send the same");
  }
  findings.check(apart(plain, moved) == 0, "weights and moments are equal to the bit");
  return findings.count();
}

/// muon "SETTING": against Muon of whole states; what its gather adds against the formula.
int run_muon(const Words& words) {
  const Config config = config_of(words.at(0));
  Config whole = config, adam = config;
  whole.mesh.zero = 0;
  whole.mesh.shard = 0;
  adam.optim.name = OptimizerKind::adam;
  Comm all = joined(config.comm);
  Trained plain(all, whole), shared(all, config), without(all, adam);
  Findings findings;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const double expected = plain.step(step), found = shared.step(step);
    without.step(step);
    findings.check(std::fabs(found - expected) <= 1e-5 * expected,
                   fmt::format("loss {} {}", found, expected));
    std::int64_t gathered = 0, calls = 0;
    for (const ParameterBucket& bucket : shared.parameters.buckets()) {
      bool has_matrix = false;
      for (const Parameter& one : shared.parameters.all())
        has_matrix =
            has_matrix || (one.name.starts_with("blocks.") && one.tensor.dim() == 2 &&
                           one.flat_begin >= bucket.begin && one.flat_begin < bucket.begin + bucket.count);
      if (!has_matrix) continue;
      gathered += 4 * bucket.part * (shared.shard.size() - 1);
      ++calls;
    }
    findings.check(
        calls > 0 && shared.sent.wire_bytes - without.sent.wire_bytes == gathered &&
            shared.sent.calls - without.sent.calls == calls,
        fmt::format("{} bytes more, {} wanted", shared.sent.wire_bytes - without.sent.wire_bytes, gathered));
  }
  const auto& muon = dynamic_cast<const Muon&>(*shared.optimizer);
  findings.check(muon.matrices_worked_out() > 0 && muon.matrices_worked_out() < 12,
                 fmt::format("{} matrices worked out", muon.matrices_worked_out()));
  findings.check(apart(plain, shared) <= 1, "weights and momenta are those of whole states");
  return findings.count();
}

/// resume "SETTING" "SETTING" FOLDER [bits]: saves after some steps, and continues in the other.
int run_resume(const Words& words) {
  Comm all = joined(config_of(words.at(0)).comm);
  Trained first(all, config_of(words.at(0))), second(all, config_of(words.at(1)));
  const bool to_the_bit = words.size() > 3;
  const std::filesystem::path folder = words.at(2);
  Findings findings;
  if (first.takes_part) {
    for (std::int64_t step = 0; step < 2; ++step) first.step(step);
    first.save(folder);
  }
  all.barrier("saved");
  if (second.takes_part) {
    load_states(verify_checkpoint(list_checkpoints(folder).back()), second.parameters, *second.optimizer);
    second.optimizer->set_steps(2);
  }
  for (std::int64_t step = 2; step < 5; ++step) {
    const double expected = first.takes_part ? first.step(step) : 0;
    const double found = second.takes_part ? second.step(step) : 0;
    if (!first.takes_part || !second.takes_part) continue;
    const bool same = to_the_bit ? found == expected : std::fabs(found - expected) <= 1e-5 * expected;
    findings.check(same, fmt::format("step {}: loss {:.9g}, {:.9g} expected", step, found, expected));
  }
  if (to_the_bit) findings.check(apart(first, second) == 0, "all states are equal to the bit");
  return findings.count();
}

const AddScenario hybrid{"hybrid", run_hybrid};
const AddScenario offload{"offload", run_offload};
const AddScenario muon{"muon", run_muon};
const AddScenario resume{"resume", run_resume};

}  // namespace

}  // namespace isobar::hybrid_scenarios
