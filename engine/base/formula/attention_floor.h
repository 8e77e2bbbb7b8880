#pragma once
// The least time that attention takes on a device with any kernel. Beside the measured time of cuDNN it
// bounds what a kernel of our own could gain.
#include "formula/device_rates.h"
#include "formula/vit_counts.h"

namespace isobar {

/// One sample through all blocks, values of 16 bits, without N x N matrices in memory. N tokens, E embed, D
/// depth, h heads.
struct AttentionNeeds {
  double forward_flops = 0;   ///< D 4 N^2 E
  double backward_flops = 0;  ///< D 10 N^2 E: the scores are computed again
  double exponentials = 0;    ///< D h N^2, in each of the two passes
  double forward_bytes = 0;   ///< D (8 N E + 4 h N): q, k, v in, the output and a sum in float32 a row out
  double backward_bytes = 0;  ///< D (16 N E + 4 h N): those five and the output's gradient in, three out
};
AttentionNeeds count_attention_needs(const VitShape& shape);

/// The longest of what products, exponentials and memory take at their data sheet's rates when each runs
/// alone. Units for exponentials give 16 results a clock and multiprocessor (CUDA programming guide, table of
/// arithmetic instructions), where matrix units do 2,048 operations of 16 bits on an A100 and 4,096 on an
/// H100 or H200: one exponential takes the time of 128 or 256 operations, so that in the forward pass of
/// heads up to 64 exponentials are the floor on the latter.
struct AttentionFloor {
  double forward_us = 0;
  double backward_us = 0;
};
/// Error (exit code 2) for a device of which the rates are not known: a processor.
AttentionFloor attention_floor(const VitShape& shape, std::int64_t samples, const DeviceRates& device);

}  // namespace isobar
