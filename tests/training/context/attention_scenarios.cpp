// What each rank does in the tests of attention over shared tokens; the tests start these as processes.
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>
#include <optional>

#include "context/context_world.h"
#include "core/token_shares.h"
#include "model/attention_choice.h"
#include "support/errors.h"
#include "support/rank_scenarios.h"

namespace isobar::attention_scenarios {

using namespace isobar::testing;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 12, kHeadSize = 8;

/// q, k, v and the gradient of the result, of all tokens; the same on all ranks.
struct Job {
  Job(std::int64_t tokens, at::ScalarType type) {
    at::manual_seed(static_cast<std::uint64_t>(tokens));
    for (at::Tensor* one : {&q, &k, &v, &dy})
      *one = at::randn({kBatch, tokens, kHeads, kHeadSize}).to(type).transpose(1, 2);
  }
  at::Tensor q, k, v, dy;
};

/// The result and the gradients of q, k and v.
using Results = std::array<at::Tensor, 4>;

/// `attend` of these, recorded, and backward.
template <class Attend>
Results results_of(const Job& job, const Attend& attend) {
  std::array<at::Tensor, 3> leaves;
  const std::array<at::Tensor, 3> values = {job.q, job.k, job.v};
  for (std::size_t i = 0; i < 3; ++i) leaves[i] = values[i].detach().set_requires_grad(true);
  const at::Tensor out = attend(leaves[0], leaves[1], leaves[2]);
  out.backward(job.dy);
  return {out.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

Job own_of(const Job& all, const TokenShare& share) {
  Job out = all;
  for (at::Tensor* one : {&out.q, &out.k, &out.v, &out.dy}) *one = one->narrow(2, share.begin, share.count);
  return out;
}

/// One process, in float32, of the same values.
Results alone(const Job& job, std::int64_t window) {
  Job wide = job;
  for (at::Tensor* one : {&wide.q, &wide.k, &wide.v, &wide.dy}) *one = one->to(at::kFloat);
  return results_of(wide, [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    std::optional<at::Tensor> mask;
    if (window > 0) mask = window_mask(q.size(2), window, at::kFloat);
    return at::scaled_dot_product_attention(q, k, v, mask);
  });
}

double error_of_results(const Results& ours, const Results& all, const TokenShare& share) {
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const at::Tensor expected = all[i].narrow(2, share.begin, share.count);
    worst = std::max(worst, difference(ours[i].to(at::kFloat), expected) / largest(all[i]));
  }
  return worst;
}

/// One configuration on all tokens and on the own ones; `name` is for findings.
void compare(Comm& comm, const Config& config, at::ScalarType type, Findings& findings,
             const std::string& name) {
  const std::int64_t tokens = config.data.grid[1];
  const Job job(tokens, type);
  const ContextParallel context(comm, config);
  const TokenShare share = context.own(tokens);
  comm.begin_step(comm.step() + 1);
  const Results ours = results_of(
      own_of(job, share),
      [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) { return context.attend(q, k, v); });
  const double allowed = type == at::kBFloat16 ? kBfloat16Chain : kGradient;
  const double error = error_of_results(ours, alone(job, config.model.window), share);
  findings.check(error <= allowed, fmt::format("{}: {:.3g} off", name, error));
  findings.check(ours[0].scalar_type() == type && ours[2].scalar_type() == type, name + ": types");
  const TensorParallelFigures figures = context.take_figures();
  const Sent expected = comm.size() > 1 ? planned(config, comm, type, kBatch) : Sent{};
  findings.check(figures.wire_bytes == expected.bytes && figures.calls == expected.calls,
                 fmt::format("{}: {} bytes in {} messages, planned {} in {}", name, figures.wire_bytes,
                             figures.calls, expected.bytes, expected.calls));
}

/// All ways, for even and uneven shares; words: backend, form of attention.
int run_ways(const Words& words) {
  Comm comm = joined(small_buckets(words.at(0), "buckets"));
  const AttentionGuard guard(named<AttentionKind>(words.at(1)));
  Findings findings;
  for (const std::int64_t tokens : {24, 35, 9}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      for (const char* const way : kContextForms) {
        for (const GradBits bits : {GradBits::bits_16, GradBits::bits_32}) {
          if (bits == GradBits::bits_32 && type == at::kFloat) continue;
          Config config = config_of_tokens(tokens, kHeads);
          config.mesh.cp_comm = named<ContextForm>(way);
          config.mesh.grad_dtype = bits;
          compare(comm, config, type, findings,
                  fmt::format("{} tokens, {}, {}, {} bits", tokens, way, c10::toString(type),
                              bits == GradBits::bits_32 ? 32 : 16));
        }
      }
    }
  }
  return findings.count();
}

/// Windows; words: backend, form of attention.
int run_windows(const Words& words) {
  Comm comm = joined(small_buckets(words.at(0), "buckets"));
  const AttentionGuard guard(named<AttentionKind>(words.at(1)));
  Findings findings;
  for (const std::int64_t tokens : {35, 9, 150}) {
    const std::vector<TokenShare> shares = token_shares(tokens, comm.size());
    const std::int64_t most = std::min(shares.front().count, shares.back().count);
    for (const std::int64_t window : {std::int64_t{2}, most}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        Config config = config_of_tokens(tokens, kHeads);
        config.model.window = window;
        compare(comm, config, type, findings,
                fmt::format("{} tokens, window {}, {}", tokens, window, c10::toString(type)));
      }
    }
  }
  return findings.count();
}

const AddScenario kWays{"ways", run_ways};
const AddScenario kWindows{"windows", run_windows};

}  // namespace

}  // namespace isobar::attention_scenarios
