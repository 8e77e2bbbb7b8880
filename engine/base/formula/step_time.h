#pragma once
// How long a training step of the vision transformer takes on one device, predicted from its shape and the
// rates of the device: T = attention + GEMM + element-wise + misc (+ upload where it does not run beside
// them).
//
// Checked against published steps of the ERA5 tutorial on an A100-40GB, 16 samples: base in 16 bits 228 ms
// plain, measured 280 to 295; with element-wise work fused 199, measured 237 to 250; mp 632, measured 687.
// In TF32 1126, measured 1209. Predictions are 5 to 23 % too short: launch gaps, small matrices and
// everything unnamed are not in them.
#include <cstdint>
#include <string>

#include "config/choices.h"
#include "formula/device_rates.h"
#include "formula/recompute.h"
#include "formula/vit_counts.h"

namespace isobar {

/// Rises when a formula or a rate changes, to distinguish older predictions from newer ones.
inline constexpr int kStepTimeVersion = 2;

/// Bytes a parameter that an update moves. Adam: weights, gradients and two moments read, three of them
/// written; in plain operations about 65.
inline constexpr double kFusedAdamBytes = 28;
inline constexpr double kPlainAdamBytes = 65;

/// What of the step's form decides its time.
struct StepForm {
  VitShape shape;
  std::int64_t batch = 16;
  AmpMode precision = AmpMode::none;                   ///< none (float32), tf32, fp16, bf16
  AttentionKind attention = AttentionKind::automatic;  ///< efficient (float32), flash, cudnn (16 bits)
  // Pieces that are one kernel; false = chains of plain operations.
  bool fused_adam = false;
  bool fused_bias_gelu = false;
  bool fused_residual_norm = false;
  bool fused_qkv = false;
  bool fused_head_loss = false;
  bool fused_grad_norm = false;
  bool uploads_beside = true;     ///< the next batch arrives while this one is computed with
  bool patch_is_product = false;  ///< the patch embedding is a matrix product, not a convolution
  bool graph = false;             ///< launches are recorded once and replayed
  bool graph_has_optimizer = true;
  KeptForm kept = {};       ///< what of the forward pass backward computes again
  std::int64_t passes = 1;  ///< forward and backward passes a step, of `batch` samples each
  // One rank of a model, without what ranks send each other. Both ends are whole on each of them.
  std::int64_t tp = 1;          ///< ranks that share each layer: norms between them are whole
  bool shares_tokens = false;   ///< mesh.sequence_parallel: norms too are shared
  std::int64_t own_tokens = 0;  ///< tokens of a sample in blocks (mesh.cp); 0 = all
  /// Part of a block's work that a rank does: of products and attention, and of what goes token by token.
  double share() const;
  double token_share() const;
};

/// Microseconds on the device of one part of the step, by class of kernel.
struct ClassTimes {
  double attention_us = 0;
  double gemm_us = 0;
  double element_us = 0;
  double misc_us = 0;
  double total_us() const { return attention_us + gemm_us + element_us + misc_us; }
};

struct StepTime {
  ClassTimes forward;      ///< in all passes
  ClassTimes backward;     ///< with what is computed again
  double optimize_us = 0;  ///< element-wise too: misc
  double small_us = 0;   ///< kernels that are too small for their rates: each takes 2 us at least (estimate)
  double upload_us = 0;  ///< 0 where it runs beside the rest
  double launches = 0;   ///< kernels a step when each is launched by itself
  double element_bytes = 0;  ///< moved by element-wise kernels and the optimiser
  double host_us = 0;        ///< to launch all that, one by one
  double host_least_us = 0;  ///< with 3 us a launch
  double host_most_us = 0;   ///< with 5 us a launch
  bool graph = false;
  AttentionKind attention = AttentionKind::automatic;  ///< the kernel meant
  double peak_flops_per_s = 0;                         ///< peak of the type in use

  /// Both directions, the optimiser in misc.
  ClassTimes classes() const;
  double device_us() const { return classes().total_us() + small_us + upload_us; }
  /// What a graph saves, or would: max(0, host - device).
  double graph_gain_us() const;
  /// max(host, device); of a graph the device's time.
  double step_us() const;
  /// "attention", "GEMM", "element-wise", "misc", "small kernels", "upload", or "host (launch)" when the
  /// device waits for it.
  std::string bound() const;
};

/// Element-wise traffic: bytes a token, channel and block, forward and backward together. The totals are the
/// 68 GB (plain) and 29 GB (fused) of a step of base with 16 samples in 16 bits; how they split into the
/// pieces that can be fused one by one is our own count of reads and writes.
double element_bytes_per_place(const StepForm& form);

/// Kernels a step: about 1500 for the plain step of 12 blocks (the tutorial's profile); what each fusion
/// takes away is our own count.
double count_launches(const StepForm& form);

/// Error (exit code 2) for what no rate is known for: an attention kernel that the device or type does not
/// have, heads of more than 128 values, a type that is none of the above.
StepTime predict_step(const StepForm& form, const DeviceRates& device);

}  // namespace isobar
