// Bytes that each fused kernel must move: every operand once, scratch and scalars left out.
#include "kernels/adam.h"
#include "kernels/bias_gelu.h"
#include "kernels/gradient_norm.h"
#include "kernels/head_loss.h"
#include "kernels/residual_norm.h"

namespace isobar {
namespace {

constexpr std::int64_t kFloat = 4;

std::int64_t of(ElementType type) { return static_cast<std::int64_t>(bytes_of(type)); }

std::int64_t values_of(const HeadLossShape& shape) {
  return shape.batch * shape.channels * shape.height * shape.width;
}

}  // namespace

std::int64_t moved_bytes(const BiasGeluForward& job) {
  return job.rows * job.columns * 2 * of(job.type) + job.columns * kFloat;  // x, y; bias
}

std::int64_t moved_bytes(const BiasGeluBackward& job) {
  return job.rows * job.columns * 3 * of(job.type) + job.columns * 2 * kFloat;  // x, dy, dx; bias, dbias
}

std::int64_t moved_bytes(const ResidualNormForward& job) {
  const bool adds = job.a != nullptr;
  const std::int64_t value = (adds ? 2 * kFloat + 2 * of(job.type) : kFloat + of(job.type));  // x, sum, a, y
  const std::int64_t column = (job.branch_bias != nullptr ? 3 : 2) * kFloat;  // weight, bias, branch_bias
  return job.rows * job.columns * value + job.columns * column + job.rows * 2 * kFloat;  // mean, rstd
}

std::int64_t moved_bytes(const ResidualNormBackward& job) {
  const std::int64_t value = (job.dsum != nullptr ? 3 : 2) * kFloat +          // sum, dx, dsum
                             (job.da != nullptr ? 2 : 1) * of(job.type);       // dy, da
  const std::int64_t column = (job.dbranch_bias != nullptr ? 4 : 3) * kFloat;  // weight and gradients
  return job.rows * job.columns * value + job.columns * column + job.rows * 2 * kFloat;  // mean, rstd
}

std::int64_t moved_bytes(const HeadLossForward& job) {
  return values_of(job.shape) * (of(job.type) + kFloat);  // tokens, target
}

std::int64_t moved_bytes(const HeadLossBackward& job) {
  return values_of(job.shape) * (2 * of(job.type) + kFloat);  // tokens, dtokens, target
}

std::int64_t moved_bytes(const AdamStep& job) {
  return job.n * 7 * kFloat;  // reads weight, gradient, two moments; writes weight, moments
}

std::int64_t moved_bytes(const GradientNorm& job) { return job.n * kFloat; }

}  // namespace isobar
