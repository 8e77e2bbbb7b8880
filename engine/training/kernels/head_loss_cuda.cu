#include "kernels/head_loss.h"
#include "kernels/piece.cuh"

namespace isobar {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kBlocks = 4;  // at once on a multiprocessor: 64 registers, of which the compiler else spills
constexpr int kTileValues = 8192;  // 32 KB of a block's shared memory
constexpr int kMostPixels = 128;
constexpr int kMostChannels = 256;
constexpr std::int64_t kMostBlocks = 1 << 12;  // blocks of the backward pass; the rest is strided over

/// The forecast lies by token, channels fastest; the target by channel, pixels of a line fastest. A tile is
/// `pixels` neighbours of one image line in `channels` channels: it comes to shared memory in the order of
/// the tokens and is read there in the order of the target, so that both are whole lines of memory.
struct Tiling {
  HeadLossShape shape;
  int pixels = 0;    ///< pixels of a tile, fewer in the last one of a line
  int channels = 0;  ///< channels of a tile, fewer in the last one
  int pitch = 0;  ///< values from pixel to pixel in shared memory: odd, so that no two of them share a bank
  std::int64_t across = 0;  ///< tiles of a line
  std::int64_t deep = 0;    ///< tiles of all channels
  std::int64_t tiles = 0;   ///< tiles of a sample
};

Tiling tiling(const HeadLossShape& shape, bool whole_columns) {
  Tiling out;
  out.shape = shape;
  out.channels = static_cast<int>(std::min<std::int64_t>(shape.channels, kMostChannels));
  out.pitch = out.channels | 1;
  const std::int64_t most = std::min<std::int64_t>(kMostPixels, kTileValues / out.pitch);
  const std::int64_t pixels = whole_columns ? most / shape.patch * shape.patch : most;
  out.pixels = static_cast<int>(std::min(pixels, shape.width));
  out.across = (shape.width + out.pixels - 1) / out.pixels;
  out.deep = (shape.channels + out.channels - 1) / out.channels;
  out.tiles = shape.height * out.across * out.deep;
  return out;
}

/// Where one tile lies.
struct Tile {
  std::int64_t sample;
  std::int64_t line;
  std::int64_t pixel;    ///< its first
  std::int64_t channel;  ///< its first
  int pixels;
  int channels;
};

__device__ Tile tile_at(const Tiling& tiling, std::int64_t sample, std::int64_t index) {
  Tile out;
  out.sample = sample;
  out.line = index / (tiling.across * tiling.deep);
  const std::int64_t in_line = index % (tiling.across * tiling.deep);
  out.pixel = in_line / tiling.deep * tiling.pixels;
  out.channel = in_line % tiling.deep * tiling.channels;
  out.pixels =
      static_cast<int>(min(static_cast<std::int64_t>(tiling.pixels), tiling.shape.width - out.pixel));
  out.channels =
      static_cast<int>(min(static_cast<std::int64_t>(tiling.channels), tiling.shape.channels - out.channel));
  return out;
}

/// Calls `move(token index, place in shared memory)` for all values of a tile, `kWidth` neighbours at once;
/// with kWidth > 1 the tile consists of whole token columns and has all channels.
template <int kWidth, typename Move>
__device__ void for_tokens(const Tiling& tiling, const Tile& tile, const Move& move) {
  const HeadLossShape& shape = tiling.shape;
  const std::int64_t patch = shape.patch;
  const std::int64_t first_token =
      (tile.sample * (shape.height / patch) + tile.line / patch) * (shape.width / patch);
  const std::int64_t token_values = patch * patch * shape.channels;
  const std::int64_t in_token = tile.line % patch * patch * shape.channels;
  if (kWidth > 1) {
    const auto run = static_cast<unsigned int>(patch * shape.channels / kWidth);  // pieces of a token's line
    const auto columns = static_cast<unsigned int>(tile.pixels / static_cast<int>(patch));
    const auto channels = static_cast<unsigned int>(tile.channels);
    for (unsigned int i = threadIdx.x; i < columns * run; i += kThreads) {
      const unsigned int column = i / run;
      const unsigned int value = i % run * kWidth;  // (pixel of the patch) C + channel
      const std::int64_t token = first_token + tile.pixel / patch + column;
      const unsigned int pixel = column * static_cast<unsigned int>(patch) + value / channels;
      move(token * token_values + in_token + value, pixel, value % channels);
    }
    return;
  }
  const auto channels = static_cast<unsigned int>(tile.channels);
  for (unsigned int i = threadIdx.x; i < static_cast<unsigned int>(tile.pixels) * channels; i += kThreads) {
    const unsigned int pixel = i / channels;
    const unsigned int channel = i % channels;
    const std::int64_t w = tile.pixel + pixel;
    move((first_token + w / patch) * token_values + in_token + w % patch * shape.channels + tile.channel +
             channel,
         pixel, channel);
  }
}

template <typename Value, int kWidth>
__device__ void load_tile(const Tiling& tiling, const Tile& tile, const void* tokens, float* shared) {
  for_tokens<kWidth>(tiling, tile, [&](std::int64_t token, unsigned int pixel, unsigned int channel) {
    const auto loaded =
        *reinterpret_cast<const Piece<Value, kWidth>*>(static_cast<const Value*>(tokens) + token);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      shared[pixel * tiling.pitch + channel] = widened(loaded.values[i]);
      if (++channel == static_cast<unsigned int>(tile.channels)) {
        channel = 0;
        ++pixel;
      }
    }
  });
}

template <typename Value, int kWidth>
__device__ void store_tile(const Tiling& tiling, const Tile& tile, const float* shared, void* tokens) {
  for_tokens<kWidth>(tiling, tile, [&](std::int64_t token, unsigned int pixel, unsigned int channel) {
    Piece<Value, kWidth> out;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      out.values[i] = rounded<Value>(shared[pixel * tiling.pitch + channel]);
      if (++channel == static_cast<unsigned int>(tile.channels)) {
        channel = 0;
        ++pixel;
      }
    }
    *reinterpret_cast<Piece<Value, kWidth>*>(static_cast<Value*>(tokens) + token) = out;
  });
}

/// Calls `use(value of the tile, value of the target)` in the order of the target.
template <typename Use>
__device__ void for_target(const Tiling& tiling, const Tile& tile, const float* target, float* shared,
                           const Use& use) {
  const HeadLossShape& shape = tiling.shape;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  for (int channel = static_cast<int>(threadIdx.x / 32); channel < tile.channels; channel += kWarps) {
    const float* const line =
        target +
        ((tile.sample * shape.channels + tile.channel + channel) * shape.height + tile.line) * shape.width +
        tile.pixel;
#pragma unroll 4
    for (int pixel = lane; pixel < tile.pixels; pixel += 32) {
      use(shared[pixel * tiling.pitch + channel], line[pixel]);
    }
  }
}

/// Block (p, b): tiles of piece p of sample b, into scratch[b][p].
template <typename Value, int kWidth>
__global__ void __launch_bounds__(kThreads, kBlocks)
    forward_kernel(const HeadLossForward job, const Tiling tiling) {
  __shared__ float shared[kTileValues];
  __shared__ double part[2][kWarps];
  const std::int64_t sample = blockIdx.x / kHeadLossPieces;
  const std::int64_t piece = blockIdx.x % kHeadLossPieces;
  const RowRange tiles = rows_of_piece(tiling.tiles, piece, kHeadLossPieces);
  double difference = 0;
  double size = 0;
  for (std::int64_t index = tiles.begin; index < tiles.end; ++index) {
    const Tile tile = tile_at(tiling, sample, index);
    load_tile<Value, kWidth>(tiling, tile, job.tokens, shared);
    __syncthreads();
    for_target(tiling, tile, job.target, shared, [&](float forecast, float target) {
      const double wanted = static_cast<double>(target);
      const double off = static_cast<double>(forecast) - wanted;
      difference += off * off;
      size += wanted * wanted;
    });
    __syncthreads();  // before the next tile comes
  }
  difference = warp_sum(difference);
  size = warp_sum(size);
  if (threadIdx.x % 32 == 0) {
    part[0][threadIdx.x / 32] = difference;
    part[1][threadIdx.x / 32] = size;
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += part[threadIdx.x][warp];
  job.scratch[2 * static_cast<std::int64_t>(blockIdx.x) + threadIdx.x] = sum;
}

/// One block: a warp a sample, then the mean over samples.
__global__ void __launch_bounds__(kThreads) finish_kernel(const HeadLossForward job) {
  __shared__ double part[kWarps];
  const auto lane = static_cast<std::int64_t>(threadIdx.x % 32);
  constexpr std::int64_t kEach = kHeadLossPieces / 32;
  double losses = 0;
  for (std::int64_t sample = threadIdx.x / 32; sample < job.shape.batch; sample += kWarps) {
    const double* const from = job.scratch + (sample * kHeadLossPieces + lane * kEach) * 2;
    double difference = 0;
    double size = 0;
    for (std::int64_t i = 0; i < kEach; ++i) {
      difference += from[2 * i];
      size += from[2 * i + 1];
    }
    difference = warp_sum(difference);
    size = warp_sum(size);
    losses += sqrt(difference / size);
    if (lane != 0) continue;
    job.sums[2 * sample] = difference;
    job.sums[2 * sample + 1] = size;
  }
  if (lane == 0) part[threadIdx.x / 32] = losses;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += part[warp];
  *job.loss = static_cast<float>(sum / static_cast<double>(job.shape.batch));
}

template <typename Value, int kWidth>
__global__ void __launch_bounds__(kThreads) backward_kernel(const HeadLossBackward job, const Tiling tiling) {
  __shared__ float shared[kTileValues];
  const double upstream = static_cast<double>(*job.dloss) / static_cast<double>(job.shape.batch);
  for (std::int64_t index = blockIdx.x; index < tiling.tiles * job.shape.batch; index += gridDim.x) {
    const Tile tile = tile_at(tiling, index / tiling.tiles, index % tiling.tiles);
    load_tile<Value, kWidth>(tiling, tile, job.tokens, shared);
    const double difference = job.sums[2 * tile.sample];
    const double rate = difference == 0 ? 0 : upstream / sqrt(difference * job.sums[2 * tile.sample + 1]);
    __syncthreads();
    for_target(tiling, tile, job.target, shared, [&](float& forecast, float target) {
      forecast = static_cast<float>(rate * (static_cast<double>(forecast) - static_cast<double>(target)));
    });
    __syncthreads();
    store_tile<Value, kWidth>(tiling, tile, shared, job.dtokens);
    __syncthreads();  // before the next tile comes
  }
}

template <typename Value, int kWidth>
void start(const HeadLossForward& job, CUstream_st* stream) {
  constexpr const char* kName = "the launch of head_loss";
  const std::int64_t blocks = job.shape.batch * kHeadLossPieces;
  launch(kName, forward_kernel<Value, kWidth>, static_cast<unsigned int>(blocks), kThreads, stream, job,
         tiling(job.shape, kWidth > 1));
  launch(kName, finish_kernel, 1, kThreads, stream, job);
}

template <typename Value, int kWidth>
void start(const HeadLossBackward& job, CUstream_st* stream) {
  const Tiling cut = tiling(job.shape, kWidth > 1);
  const std::int64_t blocks = std::min(cut.tiles * job.shape.batch, kMostBlocks);
  launch("the launch of head_loss's gradient", backward_kernel<Value, kWidth>,
         static_cast<unsigned int>(blocks), kThreads, stream, job, cut);
}

/// Whole pieces of 16 bytes where the line of a token in a tile consists of them, else value by value.
template <typename Job>
void start_wide_or_not(const Job& job, bool aligned, CUstream_st* stream) {
  const HeadLossShape& shape = job.shape;
  if (shape.batch <= 0 || shape.channels <= 0 || shape.height <= 0 || shape.width <= 0) return;
  const bool whole = aligned && shape.channels <= kMostChannels && shape.patch <= kMostPixels &&
                     shape.patch * (shape.channels | 1) <= kTileValues;
  with_element_type(job.type, [&](auto value) {
    using Value = decltype(value);
    const bool wide = whole && shape.patch * shape.channels % kWide<Value> == 0;
    return wide ? start<Value, kWide<Value>>(job, stream) : start<Value, 1>(job, stream);
  });
}

}  // namespace

void head_loss_cuda(const HeadLossForward& job, CUstream_st* stream) {
  start_wide_or_not(job, is_aligned(job.tokens, 16), stream);
}

void head_loss_cuda(const HeadLossBackward& job, CUstream_st* stream) {
  start_wide_or_not(job, is_aligned(job.tokens, 16) && is_aligned(job.dtokens, 16), stream);
}

}  // namespace isobar
