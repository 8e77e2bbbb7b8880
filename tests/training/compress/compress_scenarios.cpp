// What each rank does in the tests of compressed gradients; the tests start these as processes.
#include <ATen/ops/concat.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "compress/compressed_sync.h"
#include "compress/factors.h"
#include "compress/weight_average.h"
#include "formula/compression.h"
#include "formula/link.h"
#include "support/bucket_way.h"
#include "support/golden.h"
#include "support/made_fault.h"
#include "support/rank_scenarios.h"
#include "train/sync_world.h"

namespace isobar::compress_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

constexpr double kRate = 1e-2;

/// Small buckets, compressed from the first step on.
CommConfig compressed(const std::string& scheme, std::int64_t rank, double min_ratio) {
  CommConfig out = small_buckets("ring", "buckets");
  out.compress = named<CompressKind>(scheme);
  out.compress_rank = rank;
  out.compress_min_ratio = min_ratio;
  out.compress_start = 0;
  out.error_every = 1;
  return out;
}

/// A model whose gradients go the way that lesson 11 has on its page.
struct Replica {
  Replica(Comm& comm, const CommConfig& config, const FusionConfig& fusion = {})
      : model(kOddVit, fusion), compression(model.parameters, comm, config, 5) {
    broadcast_weights(model.parameters, comm);
    sync = make_compressed_sync(model.parameters, comm, config, compression, way_of(compression));
  }
  Parameters& parameters() { return model.parameters; }
  /// The mean gradient of step `step`, as it arrives.
  SyncFigures step(Comm& comm, std::int64_t index) {
    SyncFigures figures;
    synced_gradients(model, *sync, comm, joint_batch(kOddVit, 2 * comm.size(), index), 1, &figures);
    return figures;
  }
  FusedModel model;
  Compression compression;
  std::unique_ptr<GradientSync> sync;
};

/// All gradients, or weights, whatever their layout.
at::Tensor by_names(const Parameters& parameters, bool gradients = true) {
  std::vector<at::Tensor> out;
  for (const Parameter& one : parameters.all())
    out.push_back((gradients ? one.tensor.grad() : one.tensor.detach()).flatten());
  return at::concat(out).clone();
}

/// Plain SGD.
void descend(Parameters& parameters, double rate) {
  const at::NoGradGuard no_grad;
  parameters.values().detach().sub_(parameters.gradients(), rate);
}

/// Factors of full rank carry the whole matrix. Alternate compression has it where the kept factor is square:
/// for m <= n in P steps, for n <= m in Q steps. exact SCHEME
int run_exact(const Words& words) {
  CommConfig config = compressed(words.at(0), 1'000'000, 0);
  config.error_feedback = words.at(0) == "powersgd";
  Comm comm = joined(config);
  Findings findings;
  Replica replica(comm, config), plain(comm, compressed("none", 1, 0));
  for (std::int64_t step = 0; step < 4; ++step) {
    copy_weights(plain.parameters(), replica.parameters());
    replica.step(comm, step);
    plain.step(comm, step);
    const double floor = kGradientFloor * largest(plain.parameters().gradients());
    const std::vector<ParameterLeaf> leaves = replica.parameters().leaves(),
                                     others = plain.parameters().leaves();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const ParameterLeaf& leaf = leaves[i];
      const GradientMatrix matrix = matrix_of(leaf.tensor.sizes().vec());
      const bool is_square = step % 2 == 0 ? matrix.columns <= matrix.rows : matrix.rows <= matrix.columns;
      if (words.at(0) == "acpsgd" && matrix.rows > 1 && !is_square) continue;
      const at::Tensor exact = others[i].tensor.grad();
      const double error = difference(leaf.tensor.grad(), exact) / std::max(largest(exact), floor);
      findings.check(error <= kGradient, fmt::format("step {}, {}: off by {:.3g}", step, leaf.name, error));
    }
    descend(plain.parameters(), kRate);
  }
  return findings.count();
}

/// Nothing is lost: what arrived so far and the mean error add up to all mean gradients. All ranks have equal
/// bits, and late messages those of early ones. kept SCHEME RANK
int run_kept(const Words& words) {
  CommConfig config = compressed(words.at(0), std::stoll(words.at(1)), 2);
  Comm comm = joined(config);
  Findings findings;
  Replica replica(comm, config), plain(comm, compressed("none", 1, 2));
  config.overlap = false;
  Replica late(comm, config);
  at::Tensor lost;
  for (std::int64_t step = 0; step < 7; ++step) {
    replica.step(comm, step);
    late.step(comm, step);
    plain.step(comm, step);
    const std::string bits = bits_of(replica.parameters(), true);
    findings.check(equal_on_ranks(comm, bits), fmt::format("step {}: ranks have other gradients", step));
    findings.check(bits == bits_of(late.parameters(), true), fmt::format("step {}: late ones differ", step));
    const at::Tensor missing = by_names(plain.parameters()).sub(by_names(replica.parameters()));
    lost = lost.defined() ? lost.add(missing) : missing;
    const ErrorNorms norms = replica.compression.error_norms(step);
    late.compression.error_norms(step);
    const double expected = at::norm(lost).item<double>();
    findings.check(expected > 1e-3, "nothing was compressed");
    findings.check(std::fabs(norms.mean - expected) <= 1e-4 * expected,
                   fmt::format("step {}: mean error {}, lost {}", step, norms.mean, expected));
  }
  return findings.count();
}

/// 16 bits: near the mean where the sum is out of range; with the fault it is infinite. short SCHEME
int run_short(const Words& words) {
  Comm comm = joined(compressed(words.at(0), 1, 2));
  Findings findings;
  Replica plain(comm, compressed("none", 1, 2));
  const auto joint = joint_batch(kOddVit, comm.size(), 1);
  for (const bool overflows : {false, true}) {
    const MadeFault fault({.fault = overflows ? Fault::fp16_overflow : Fault::none});
    Replica replica(comm, compressed(words.at(0), 1, 2));
    double scale = 1;
    for (int pass = 0; pass < 2; ++pass) {
      for (Replica* one : {&plain, &replica}) {
        one->parameters().zero_gradients();
        one->sync->begin();
        one->sync->backward(one->model.loss(joint.first, joint.second).mul(scale));
        one->sync->finish();
      }
      if (pass == 0) scale = 40000 / largest(plain.parameters().gradients());
    }
    const at::Tensor mine = by_names(replica.parameters()), exact = by_names(plain.parameters());
    const bool is_lost = overflows && words.at(0) == "fp16";
    const double error = difference(mine, exact) / largest(exact);
    findings.check(is_lost ? !std::isfinite(error) : error <= 0x1p-8, fmt::format("off by {}", error));
  }
  return findings.count();
}

/// H = 1 with plain SGD inside is the averaging of gradients; with Adam it is not. The outer step against its
/// formula in double precision. local
int run_local(const Words&) {
  CommConfig config = small_buckets("ring", "buckets");
  Comm comm = joined(config);
  Findings findings;
  CommConfig local = config;
  local.average = Averaged::weights;
  for (const bool is_adam : {false, true}) {
    Replica joint(comm, config), own(comm, local);
    WeightAverage average(own.parameters(), comm, local, 5);
    const OptimConfig optim{.lr = 1e-3};
    Adam joint_adam(joint.parameters(), optim), own_adam(own.parameters(), optim);
    for (std::int64_t step = 0; step < 5; ++step) {
      joint.step(comm, step);
      const SyncFigures none = own.step(comm, step);
      findings.check(none.calls == 0, "gradients were sent");
      for (Replica* one : {&joint, &own}) {
        if (!is_adam)
          descend(one->parameters(), kRate);
        else
          (one == &joint ? joint_adam : own_adam).step(optim.lr);
      }
      const SyncFigures sent = average.average_when_due(step);
      findings.check(sent.calls == 1, fmt::format("{} calls", sent.calls));
    }
    const double error = difference(by_names(joint.parameters(), false), by_names(own.parameters(), false));
    findings.check(is_adam ? error > 1e-4 : error <= 1e-6,
                   fmt::format("Adam {}: weights are {} apart", is_adam, error));
  }
  return findings.count();
}

/// A page whose task leaves out messages, or sends more, is refused on all ranks. rounds
int run_rounds(const Words&) {
  CommConfig config = compressed("powersgd", 2, 2);
  Comm comm = joined(config);
  Findings findings;
  for (const int wanted : {1, 3}) {
    FusedModel model(kOddVit, FusionConfig{});
    Compression compression(model.parameters, comm, config, 5);
    const auto sync = make_compressed_sync(model.parameters, comm, config, compression,
                                           [&](SentBucket& bucket) -> BucketTask {
                                             std::optional<Payload> payload;
                                             for (int round = 0; round < wanted; ++round) {
                                               if (auto next = compression.transform(bucket)) payload = next;
                                               co_await bucket.all_reduce(*payload);
                                             }
                                           });
    std::string error;
    try {
      synced_gradients(model, *sync, comm, joint_batch(kOddVit, 2 * comm.size(), 0), 1);
    } catch (const Error& caught) {
      error = caught.what();
    }
    findings.check(
        error.find("all-reduces") != std::string::npos || error.find("messages") != std::string::npos,
        fmt::format("{} rounds: {}", wanted, error));
  }
  return findings.count();
}

/// outer
int run_outer(const Words&) {
  CommConfig config = small_buckets("ring", "buckets");
  config.average = Averaged::weights;
  config.local_steps = 3;
  config.outer_lr = 0.7;
  config.outer_momentum = 0.9;
  Comm comm = joined(config);
  Findings findings;
  FusedModel model(kOddVit, FusionConfig{});
  const at::Tensor weights = model.parameters.values().detach();
  WeightAverage average(model.parameters, comm, config, 8);
  at::Tensor start = weights.to(at::kDouble), velocity = at::zeros_like(start);
  for (std::int64_t step = 0; step < 8; ++step) {
    weights.sub_(0.01 * static_cast<double>(comm.rank() + 1));
    const bool is_due = step % 3 == 2 || step == 7;
    findings.check((average.average_when_due(step).calls == 1) == is_due, fmt::format("step {}", step));
    if (!is_due) continue;
    const double steps = step == 7 ? 2 : 3;
    const at::Tensor moved = at::zeros_like(start).add_(0.01 * steps * (comm.size() + 1) / 2);
    velocity = velocity.mul(0.9).add(moved);
    start = start.sub(moved.add(velocity, 0.9), 0.7);
    findings.check(difference(weights.to(at::kDouble), start) <= 1e-6,
                   fmt::format("step {}: another place", step));
  }
  return findings.count();
}

const auto& golden() {
  static const std::map<std::string, at::Tensor> all = read_golden("compression.safetensors");
  return all;
}

/// Steps over given gradients, from given first factors, against those in double precision. golden SCHEME
int run_golden(const Words& words) {
  const CommConfig config = compressed(words.at(0), 2, 2);
  Comm comm = joined(config);
  Findings findings;
  seams::random_factor.plug([](std::int64_t, std::int64_t, std::int64_t, const std::string& name,
                               std::int64_t,
                               const at::Tensor&) { return golden().at("first." + name).clone(); });
  const std::vector<std::string> names = {"patch.weight", "pos_embed", "small.weight", "bias"};
  const auto given = [&](const std::string& what, const std::string& name, std::int64_t step) {
    return golden().at(what + "." + name).select(0, step);
  };
  Parameters parameters;
  for (const std::string& name : names)
    parameters.add({.name = name, .full_shape = given("gradients", name, 0).select(0, 0).sizes().vec()});
  parameters.materialise(1, at::kCPU);
  Compression compression(parameters, comm, config, 1);
  const auto sync = make_compressed_sync(parameters, comm, config, compression, way_of(compression));
  for (std::int64_t step = 0; step < 4; ++step) {
    parameters.zero_gradients();
    sync->begin();
    at::Tensor loss;  // whose gradients are those given
    double own = 0, mean = 0;
    for (const std::string& name : names) {
      const at::Tensor part =
          parameters.find(name).tensor.mul(given("gradients", name, step).select(0, comm.rank())).sum();
      loss = loss.defined() ? loss.add(part) : part;
      if (golden().count("first." + name) == 0) continue;
      const at::Tensor errors = given(words.at(0) + ".error", name, step);
      own += errors.select(0, comm.rank()).square().sum().item<double>();
      mean += errors.mean(0).square().sum().item<double>();
    }
    sync->backward(loss);
    sync->finish();
    for (const std::string& name : names) {
      const at::Tensor exact = given(words.at(0) + ".mean", name, step);
      const double error =
          difference(parameters.find(name).tensor.grad().to(at::kDouble).view(exact.sizes()), exact) /
          largest(exact);
      findings.check(error <= kGradient, fmt::format("step {}, {}: off by {:.3g}", step, name, error));
    }
    const ErrorNorms norms = compression.error_norms(step);
    findings.check(std::fabs(norms.own - std::sqrt(own)) <= kGradient * std::sqrt(own),
                   fmt::format("step {}: error {}, not {}", step, norms.own, std::sqrt(own)));
    findings.check(std::fabs(norms.mean - std::sqrt(mean)) <= kGradient * std::sqrt(mean),
                   fmt::format("step {}: mean error {}, not {}", step, norms.mean, std::sqrt(mean)));
  }
  return findings.count();
}

/// Messages and bytes of each step against the plan of the formula. plan SCHEME BUCKET_MB joined|split
int run_plan(const Words& words) {
  CommConfig config = compressed(words.at(0), 2, 2);
  config.bucket_mb = std::stod(words.at(1));
  config.bucket_order = BucketOrder::reverse;
  Comm comm = joined(config);
  Findings findings;
  const bool joins = words.at(2) == "joined";
  Replica replica(comm, config, {.qkv = joins});
  const std::vector<StepMessages> kinds = planned_messages(gradient_matrices(kOddVit, joins), config);
  for (std::size_t step = 0; step < 4; ++step) {
    const SyncFigures figures = replica.step(comm, static_cast<std::int64_t>(step));
    const StepMessages& messages = kinds[step % kinds.size()];
    double bytes = 0;
    for (const PlannedMessage& message : messages)
      bytes += ring_bytes(comm.size(), static_cast<double>(message.bytes));
    findings.check(figures.calls == static_cast<std::int64_t>(messages.size()),
                   fmt::format("step {}: {} calls, planned {}", step, figures.calls, messages.size()));
    // Gradients that travel as they lie have gaps between them; each piece of a ring is rounded up.
    const bool is_whole = words.at(0) == "none" || words.at(0) == "bf16";
    const double more = static_cast<double>(figures.wire_bytes) - bytes;
    const double most = is_whole ? 0.01 * bytes : 16.0 * comm.size() * static_cast<double>(messages.size());
    findings.check(more >= 0 && more <= most,
                   fmt::format("step {}: {} bytes, planned {}", step, figures.wire_bytes, bytes));
  }
  return findings.count();
}

const AddScenario exact{"exact", run_exact}, kept{"kept", run_kept}, half{"short", run_short},
    local{"local", run_local}, outer{"outer", run_outer}, in_double{"golden", run_golden},
    plan{"plan", run_plan}, rounds{"rounds", run_rounds};

}  // namespace
}  // namespace isobar::compress_scenarios
