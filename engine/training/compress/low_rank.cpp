// Low-rank factors in place of gradients: comm.compress = powersgd and acpsgd.
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <array>

#include "compress/compression.h"
#include "compress/factors.h"
#include "config/fault.h"
#include "device/memory_ledger.h"
#include "formula/compression.h"

namespace isobar {
namespace {

/// One gradient's state, from step to step.
struct Leaf {
  std::string name;
  GradientMatrix matrix;
  std::int64_t rank = 0;  ///< 0: it travels whole
  at::Tensor error;       ///< [n, m]; without feedback the place of M
  at::Tensor p, q;        ///< [n, r], [m, r]: the mean that was last received; p with acpsgd only
};

/// Messages of one kind of step: how many values of each gradient travel, and where.
struct Messages {
  std::vector<PlannedBucket> plan;
  std::vector<at::Tensor> flat;  ///< by bucket
  /// By gradient, in the order of the plan: a view of its message; may have no values.
  std::vector<at::Tensor> parts;
};

class FactorPayloads : public Payloads {
 public:
  FactorPayloads(const Parameters& parameters, const CommConfig& config, std::int64_t seed)
      : config_(config), seed_(seed) {
    std::int64_t count = 0;
    for (const ParameterLeaf& leaf : parameters.leaves()) {
      Leaf& one = leaves_.emplace_back();
      one.name = leaf.name;
      one.matrix = matrix_of(leaf.tensor.sizes().vec());
      if (has_fault(Fault::flat_view) && leaf.tensor.dim() == 3)
        one.matrix = {.rows = 1, .columns = leaf.tensor.numel()};
      if (!is_compressed(one.matrix, config.compress_rank, config.compress_min_ratio)) continue;
      one.rank = one.matrix.rank(config.compress_rank);
      count += one.matrix.count();
    }
    const at::TensorOptions options = parameters.gradients().options();
    const MemoryScope scope(MemoryCategory::communication);
    errors_ = at::zeros({count}, options);
    std::int64_t begin = 0;
    for (Leaf& leaf : leaves_) {
      if (leaf.rank == 0) continue;
      leaf.error =
          errors_.narrow(0, begin, leaf.matrix.count()).view({leaf.matrix.rows, leaf.matrix.columns});
      begin += leaf.matrix.count();
      leaf.q = first_factor(leaf);
    }
  }

  void plan(const BucketsToSend& buckets) override {
    gradients_.clear();
    matrices_.clear();
    order_ = buckets.leaves;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Leaf& leaf = of(i);
      matrices_.push_back(leaf.matrix);
      gradients_.push_back(leaf.rank == 0
                               ? buckets.gradients[i]
                               : buckets.gradients[i].view({leaf.matrix.rows, leaf.matrix.columns}));
    }
    plan_messages(buckets.plan);
  }

  at::Tensor errors() const override { return config_.error_feedback ? errors_ : at::Tensor(); }

 protected:
  virtual void plan_messages(const std::vector<PlannedBucket>& plan) = 0;

  Leaf& of(std::size_t gradient) { return leaves_[order_[gradient]]; }

  at::Tensor first_factor(const Leaf& leaf) const {
    return seams::random_factor(leaf.matrix.columns, leaf.rank, seed_, leaf.name, turn_, errors_);
  }

  /// `values` of each gradient travel, in these buckets.
  Messages messages(std::vector<PlannedBucket> plan, const std::vector<std::int64_t>& values) {
    Messages out{.plan = std::move(plan), .flat = {}, .parts = {}};
    const MemoryScope scope(MemoryCategory::communication);
    for (const PlannedBucket& bucket : out.plan) {
      std::int64_t all = 0;
      for (std::size_t i = bucket.first; i < bucket.first + bucket.count; ++i) all += values[i];
      out.flat.push_back(at::empty({all}, errors_.options()));
      std::int64_t begin = 0;
      for (std::size_t i = bucket.first; i < bucket.first + bucket.count; begin += values[i++]) {
        const at::Tensor part = out.flat.back().narrow(0, begin, values[i]);
        out.parts.push_back(of(i).rank == 0 ? part : part.view({-1, of(i).rank}));
      }
    }
    return out;
  }

  /// M, in the memory of the error.
  const at::Tensor& add_error(std::size_t gradient) {
    const Leaf& leaf = of(gradient);
    return config_.error_feedback ? leaf.error.add_(gradients_[gradient])
                                  : leaf.error.copy_(gradients_[gradient]);
  }

  template <typename Do>
  static void each(const PlannedBucket& bucket, const Do& act) {
    for (std::size_t i = bucket.first; i < bucket.first + bucket.count; ++i) act(i);
  }

  CommConfig config_;
  std::int64_t seed_;
  std::vector<Leaf> leaves_;
  at::Tensor errors_;                     ///< all errors
  std::vector<std::size_t> order_;        ///< leaves in the order of the plan
  std::vector<GradientMatrix> matrices_;  ///< in that order
  std::vector<at::Tensor> gradients_;     ///< in that order; matrices, or flat where they travel whole
  std::int64_t turn_ = 0;                 ///< compressed steps so far
};

class PowerPayloads final : public FactorPayloads {
 public:
  using FactorPayloads::FactorPayloads;

  const std::vector<PlannedBucket>& begin_step() override {
    ++turn_;
    return p_.plan;
  }

  int rounds(std::size_t bucket) const override { return q_.flat[bucket].numel() > 0 ? 2 : 1; }

  Payload transform(const SentBucket& bucket) override {
    return bucket.rounds() == 0 ? send_p(bucket.index()) : send_q(bucket.index());
  }

  void finish(const SentBucket& bucket) override {
    each(p_.plan[bucket.index()], [&](std::size_t i) {
      Leaf& leaf = of(i);
      at::Tensor& gradient = gradients_[i];
      if (leaf.rank == 0) {
        gradient.copy_(p_.parts[i]);
        return;
      }
      leaf.q.copy_(q_.parts[i]);
      at::mm_out(gradient, p_.parts[i], leaf.q.t());
      leaf.error.sub_(gradient);
    });
  }

 private:
  void plan_messages(const std::vector<PlannedBucket>& plan) override {
    p_ = messages(plan, sent_values(matrices_, config_, /*is_p=*/true, /*whole=*/true));
    q_ = messages(plan, sent_values(matrices_, config_, /*is_p=*/false, /*whole=*/false));
  }

  Payload send_p(std::size_t bucket) {
    each(p_.plan[bucket], [&](std::size_t i) {
      Leaf& leaf = of(i);
      if (leaf.rank == 0) {
        p_.parts[i].copy_(gradients_[i]);
        return;
      }
      if (!config_.warm_start) leaf.q = first_factor(leaf);
      at::mm_out(p_.parts[i], add_error(i), leaf.q);
    });
    return {p_.flat[bucket], Reduce::mean};
  }

  Payload send_q(std::size_t bucket) {
    each(p_.plan[bucket], [&](std::size_t i) {
      if (of(i).rank == 0) return;
      orthonormalise(p_.parts[i]);
      at::mm_out(q_.parts[i], of(i).error.t(), p_.parts[i]);
    });
    return {q_.flat[bucket], Reduce::mean};
  }

  Messages p_, q_;
};

class AlternatePayloads final : public FactorPayloads {
 public:
  AlternatePayloads(const Parameters& parameters, const CommConfig& config, std::int64_t seed)
      : FactorPayloads(parameters, config, seed) {
    const MemoryScope scope(MemoryCategory::communication);
    for (Leaf& leaf : leaves_)
      if (leaf.rank > 0) leaf.p = at::empty({leaf.matrix.rows, leaf.rank}, errors_.options());
  }

  const std::vector<PlannedBucket>& begin_step() override {
    sends_p_ = turn_++ % 2 == 0;
    return now().plan;
  }

  int rounds(std::size_t /*bucket*/) const override { return 1; }

  Payload transform(const SentBucket& bucket) override {
    each(now().plan[bucket.index()], [&](std::size_t i) {
      Leaf& leaf = of(i);
      if (leaf.rank == 0) {
        now().parts[i].copy_(gradients_[i]);
        return;
      }
      if (!config_.warm_start && sends_p_) leaf.q = first_factor(leaf);
      const at::Tensor& matrix = add_error(i);
      seams::alternate_round({.matrix = sends_p_ ? matrix : matrix.t(),
                              .kept = sends_p_ ? leaf.q : leaf.p,
                              .sent = now().parts[i]});
    });
    return {now().flat[bucket.index()], Reduce::mean};
  }

  void finish(const SentBucket& bucket) override {
    each(now().plan[bucket.index()], [&](std::size_t i) {
      Leaf& leaf = of(i);
      if (leaf.rank == 0) {
        gradients_[i].copy_(now().parts[i]);
        return;
      }
      (sends_p_ ? leaf.p : leaf.q).copy_(now().parts[i]);
      at::mm_out(gradients_[i], leaf.p, leaf.q.t());
    });
  }

 private:
  Messages& now() { return messages_[sends_p_ ? 0 : 1]; }

  void plan_messages(const std::vector<PlannedBucket>& /*plan*/) override {
    for (const bool is_p : {true, false})
      messages_[is_p ? 0 : 1] = messages(factor_plan(matrices_, config_, is_p),
                                         sent_values(matrices_, config_, is_p, /*whole=*/true));
  }

  std::array<Messages, 2> messages_;  ///< P, then Q
  bool sends_p_ = true;
};

}  // namespace

std::unique_ptr<Payloads> make_power_payloads(const Parameters& parameters, const CommConfig& config,
                                              std::int64_t seed) {
  return std::make_unique<PowerPayloads>(parameters, config, seed);
}

std::unique_ptr<Payloads> make_alternate_payloads(const Parameters& parameters, const CommConfig& config,
                                                  std::int64_t seed) {
  return std::make_unique<AlternatePayloads>(parameters, config, seed);
}

}  // namespace isobar
