#pragma once
// The fused kernels against their definitions in double precision, wherever they run: each check makes its
// values, has the kernel work on them twice, and asks for the same bits, for results within the type's
// rounding of the definition, and for untouched memory around every result.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/adam.h"
#include "kernels/bias_gelu.h"
#include "kernels/gradient_norm.h"
#include "kernels/head_loss.h"
#include "kernels/normalise_cuda.h"
#include "kernels/residual_norm.h"

namespace isobar {

/// A device, or what stands for one.
class KernelPlace {
 public:
  virtual ~KernelPlace() = default;
  /// Memory that lies at a multiple of 256 and stays until `drop`.
  virtual std::byte* take(std::size_t bytes) = 0;
  virtual void drop() = 0;
  /// Bytes on either side of an operand that must stay as they are; 0: accesses beside it are found anyway.
  virtual std::size_t margin() const { return 256; }
  virtual void upload(std::byte* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const std::byte* from, std::size_t bytes) = 0;

  virtual void compute(const BiasGeluForward& job) = 0;
  virtual void compute(const BiasGeluBackward& job) = 0;
  virtual void compute(const ResidualNormForward& job) = 0;
  virtual void compute(const ResidualNormBackward& job) = 0;
  virtual void compute(const HeadLossForward& job) = 0;
  virtual void compute(const HeadLossBackward& job) = 0;
  virtual void compute(const AdamStep& job) = 0;
  virtual void compute(const GradientNorm& job) = 0;
  virtual void count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter) = 0;
  /// `packed` empty: of raw fields.
  virtual void normalise(const DeviceFields& batch, std::optional<PackedField> packed,
                         FieldOutput output) = 0;
};

inline constexpr ElementType kElementTypes[] = {ElementType::f32, ElementType::f16, ElementType::bf16};

/// How values are drawn and where they lie.
struct KernelCase {
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::size_t offset = 0;  ///< elements by which every operand misses an aligned place
  double scale = 1;        ///< of the values
  bool in_place = false;   ///< results overwrite what they may overwrite

  std::string text() const;
};

void check_bias_gelu(KernelPlace& place, const KernelCase& test, bool tanh_form = false);

/// Which of the optional operands there are.
struct NormOperands {
  bool branch = true;       ///< a, and with it `sum`
  bool branch_bias = true;  ///< with a gradient of its own
  bool direct = true;       ///< dsum
  bool cast = true;         ///< da
};
void check_residual_norm(KernelPlace& place, const KernelCase& test, const NormOperands& parts);

void check_head_loss(KernelPlace& place, const KernelCase& test, const HeadLossShape& shape);
/// A forecast that equals its target has a loss and a gradient of zero.
void check_perfect_head(KernelPlace& place, const HeadLossShape& shape);

void check_adam(KernelPlace& place, std::int64_t n, std::size_t offset, const AdamControl& control);

/// Every `bad_every`th value is NaN or infinite; 0 = none.
void check_gradient_norm(KernelPlace& place, std::int64_t n, std::size_t offset, std::int64_t bad_every);

void check_count_nonfinite(KernelPlace& place, std::int64_t n, std::size_t offset);

/// Fields of one batch; `packed` empty: raw ones.
struct FieldCase {
  std::int64_t fields = 1;
  std::int64_t samples = 1;
  std::int64_t channels = 1;
  std::int64_t plane = 1;
  std::size_t offset = 0;  ///< elements by which fields, input and target miss an aligned place
  std::optional<PackedField> packed = {};
  FieldOutput output = FieldOutput::f32;
  bool extreme = false;  ///< values of every class, and spreads that make results overflow
  std::int64_t targets = 1;
};
void check_normalise(KernelPlace& place, const FieldCase& test);

/// All of them over shapes that are multiples of nothing, all types and places. `large`: those too that take
/// more than a block of everything; a device is quick enough for them.
void check_all_bias_gelu(KernelPlace& place, bool large);
void check_all_residual_norm(KernelPlace& place, bool large);
void check_all_head_loss(KernelPlace& place, bool large);
void check_all_adam(KernelPlace& place, bool large);
void check_all_gradient_norm(KernelPlace& place, bool large);
void check_all_count_nonfinite(KernelPlace& place, bool large);
void check_all_normalise(KernelPlace& place, bool large);

}  // namespace isobar
