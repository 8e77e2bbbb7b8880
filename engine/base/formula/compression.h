#pragma once
// Gradients that travel in 16 bits, or as low-rank factors P [n, r] and Q [m, r] of a matrix M = P Q^T.
// (Vogels et al. 2019, "PowerSGD"; Zhang et al. 2023, alternate compression.)
#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/config.h"
#include "formula/bucket_plan.h"
#include "formula/gradient_matrix.h"

namespace isobar {

/// (n + m) r min_ratio < n m; never a vector.
bool is_compressed(const GradientMatrix& matrix, std::int64_t rank, double min_ratio);

/// Values of each gradient in a message of P, or of Q: those of its factor, or all of one that travels whole
/// (none without `whole`).
std::vector<std::int64_t> sent_values(const std::vector<GradientMatrix>& gradients, const CommConfig& config,
                                      bool is_p, bool whole);

/// Buckets of acpsgd in steps that send P, or Q, for gradients in the order in which they fill them: at the
/// caps of comm.bucket_mb and comm.first_bucket_mb (formula/bucket_plan.h) times payload over gradient bytes.
std::vector<PlannedBucket> factor_plan(const std::vector<GradientMatrix>& gradients, const CommConfig& config,
                                       bool is_p);

/// One all-reduce of a step.
struct PlannedMessage {
  std::size_t bucket = 0;
  bool is_second = false;  ///< behind the sum of the bucket's first one: Q of powersgd
  double ready = 0;        ///< share of all gradient bytes that are there when the bucket is full
  std::int64_t bytes = 0;
};

/// Messages of one kind of step, in the order in which all ranks send them.
using StepMessages = std::vector<PlannedMessage>;

/// Messages of the steps that take turns: two kinds of acpsgd (P, then Q), one of every other comm.compress.
/// Gradients are cut by comm.bucket_mb and comm.first_bucket_mb; those of acpsgd by factor_plan. A second
/// message of powersgd is sent when the bucket behind it is full.
std::vector<StepMessages> planned_messages(const std::vector<GradientMatrix>& gradients,
                                           const CommConfig& config);

/// Bytes of all messages, which each rank adds up with the others; means over the steps that take turns.
double bytes_a_step(const std::vector<StepMessages>& steps);
double calls_a_step(const std::vector<StepMessages>& steps);

}  // namespace isobar
