#include "core/error.h"
#include "kernels/normalise_cuda.h"
#include "kernels/pack.h"
#include "kernels/piece.cuh"

namespace isobar {
namespace {

constexpr int kThreads = 256;
constexpr int kRounds = 4;                     // loads that a thread has on their way at once
constexpr std::int64_t kMostBlocks = 1 << 20;  // far more than any device holds; the rest is strided over
constexpr std::int64_t kMostChunks = std::int64_t{1} << 31;  // they are counted in 32 bits

struct Raw {
  using Type = float;
  static __device__ float value(float x, float mean, float spread) {
    return __fdiv_rn(__fsub_rn(x, mean), spread);
  }
};
struct PackedF16 {
  using Type = __half;
  static __device__ float value(__half x, float, float) { return __half2float(x); }
};
struct PackedI16 {
  using Type = short;
  static __device__ float value(short x, float, float) {
    return static_cast<float>(x) * (1.0F / kPackedSteps);  // a power of two: exact
  }
};

/// A block takes chunks of a plane of input or target: `kRounds` pieces a thread. Planes are numbered
/// input 0 channel 0, input 0 channel 1, ..., the last target's channel C-1; `chunks` of them a plane.
template <typename From, typename To, int kWidth>
__global__ void __launch_bounds__(kThreads)
    fields_kernel(const DeviceFields batch, unsigned int chunks, unsigned int all_chunks) {
  using Source = Piece<typename From::Type, kWidth>;
  using Result = Piece<To, kWidth>;
  const auto channels = static_cast<unsigned int>(batch.channels);
  const auto samples = static_cast<unsigned int>(batch.samples);
  const std::int64_t pieces = batch.plane / kWidth;  // a plane is a whole number of pieces
  unsigned int bad = 0;
  for (unsigned int chunk = blockIdx.x; chunk < all_chunks; chunk += gridDim.x) {
    const unsigned int plane = chunk / chunks;
    const unsigned int use = plane / channels;
    const unsigned int channel = plane % channels;
    const std::int64_t out_plane =
        static_cast<std::int64_t>(use < samples ? use : use - samples) * channels + channel;
    const std::int64_t in_plane = static_cast<std::int64_t>(batch.field_of[use]) * channels + channel;
    const auto* const from = static_cast<const Source*>(batch.fields) + in_plane * pieces;
    auto* const to = static_cast<Result*>(use < samples ? batch.input : batch.target) + out_plane * pieces;
    const float mean = batch.mean == nullptr ? 0.0F : batch.mean[channel];
    const float spread = batch.spread == nullptr ? 1.0F : batch.spread[channel];
    const std::int64_t first = static_cast<std::int64_t>(chunk % chunks) * (kThreads * kRounds) + threadIdx.x;
    Source loaded[kRounds];
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      if (first + round * kThreads < pieces) loaded[round] = from[first + round * kThreads];
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      if (first + round * kThreads >= pieces) continue;
      Result result;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const float value = From::value(loaded[round].values[i], mean, spread);
        bad += (__float_as_uint(value) & 0x7f800000U) == 0x7f800000U ? 1U : 0U;
        result.values[i] = rounded<To>(value);
      }
      to[first + round * kThreads] = result;
    }
  }
  const unsigned int in_warp = __reduce_add_sync(0xffffffffU, bad);
  if (threadIdx.x % 32 == 0 && in_warp != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(batch.nonfinite),
              static_cast<unsigned long long>(in_warp));
  }
}

template <typename From, typename To, int kWidth>
void start_width(const DeviceFields& batch, CUstream_st* stream, const char* name) {
  constexpr std::int64_t kChunk = std::int64_t{kThreads} * kRounds * kWidth;
  const std::int64_t chunks = (batch.plane + kChunk - 1) / kChunk;
  const std::int64_t all = (1 + batch.targets) * batch.samples * batch.channels * chunks;
  if (all > kMostChunks) {
    throw Error("a batch of so many planes is more than one launch can number", name, "a smaller batch",
                Exit::failed);
  }
  const std::int64_t blocks = std::min(all, kMostBlocks);
  launch(name, fields_kernel<From, To, kWidth>, static_cast<unsigned int>(blocks), kThreads, stream, batch,
         static_cast<unsigned int>(chunks), static_cast<unsigned int>(all));
}

template <typename From, typename To>
void start(const DeviceFields& batch, CUstream_st* stream, const char* name) {
  if (batch.targets < 0 || batch.samples <= 0 || batch.channels <= 0 || batch.plane <= 0) return;
  constexpr int kFour = 4;
  // Each plane begins at a multiple of P, so all of them are aligned when the first is and P is whole pieces.
  const bool wide =
      batch.plane % kFour == 0 && is_aligned(batch.fields, kFour * sizeof(typename From::Type)) &&
      is_aligned(batch.input, kFour * sizeof(To)) && is_aligned(batch.target, kFour * sizeof(To));
  if (wide) {
    start_width<From, To, kFour>(batch, stream, name);
  } else {
    start_width<From, To, 1>(batch, stream, name);
  }
}

template <typename From>
void start_to(const DeviceFields& batch, FieldOutput output, CUstream_st* stream, const char* name) {
  switch (output) {
    case FieldOutput::f32:
      return start<From, float>(batch, stream, name);
    case FieldOutput::f16:
      return start<From, __half>(batch, stream, name);
    case FieldOutput::bf16:
      return start<From, __nv_bfloat16>(batch, stream, name);
  }
}

}  // namespace

void normalise_cuda(const DeviceFields& batch, FieldOutput output, CUstream_st* stream) {
  start_to<Raw>(batch, output, stream, "the launch of normalise");
}

void unpack_cuda(const DeviceFields& batch, PackedField packed, FieldOutput output, CUstream_st* stream) {
  constexpr const char* kName = "the launch of unpack";
  if (packed == PackedField::f16) return start_to<PackedF16>(batch, output, stream, kName);
  start_to<PackedI16>(batch, output, stream, kName);
}

}  // namespace isobar
