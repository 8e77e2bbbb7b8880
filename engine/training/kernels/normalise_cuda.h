#pragma once
// The fields of a batch on the device: from what came over the link to what the model takes, one launch a
// batch. Only the CUDA plugin has these.
#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// What values of a batch are in device memory.
enum class FieldOutput { f32, f16, bf16 };
/// How values lie that were made smaller for the link (kernels/pack.h).
enum class PackedField { f16, i16 };

/// Fields that arrived, and where they go. All pointers are to memory of one device; P values make a plane.
struct DeviceFields {
  const void* fields = nullptr;  ///< [F, C, P]
  const std::int32_t* field_of =
      nullptr;  ///< [(1 + R) B] the field of input b, then of target b of each lead, 0 .. F - 1
  const float* mean = nullptr;        ///< [C]
  const float* spread = nullptr;      ///< [C]
  std::int64_t samples = 0;           ///< B
  std::int64_t targets = 1;           ///< R
  std::int64_t channels = 0;          ///< C
  std::int64_t plane = 0;             ///< P
  void* input = nullptr;              ///< [B, C, P]
  void* target = nullptr;             ///< [R, B, C, P]
  std::int64_t* nonfinite = nullptr;  ///< grows by the values of input and target that are not finite
};

/// (x - mean_c) / spread_c of float32 fields, IEEE subtract and then divide: the bits of the CPU's
/// `normalise` where `output` is f32, that value rounded to nearest even where it has 16 bits (what is too
/// large for fp16 becomes an infinity and is not counted). Does not wait. Error (exit code 1) when the launch
/// is refused.
void normalise_cuda(const DeviceFields& batch, FieldOutput output, CUstream_st* stream);

/// Unpacks fields that were normalised and packed before the upload; mean and spread are not used. To
/// f32 it gives the values of `unpack_f16` and `unpack_i16`.
void unpack_cuda(const DeviceFields& batch, PackedField packed, FieldOutput output, CUstream_st* stream);

}  // namespace isobar
