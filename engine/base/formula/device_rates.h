#pragma once
// What a device reaches in this kind of work, by class of kernel: the figures behind every prediction, each
// with where it is from. TFLOP/s are 1e12 operations a second, TB/s 1e12 bytes a second.
#include <cstdint>
#include <string>
#include <vector>

#include "config/choices.h"

namespace isobar {

/// Forward and backward rates of one attention kernel, in executed TFLOP/s: forward 4 N^2 E a block,
/// backward 2.5 times that, since the scores are computed again. Rates for heads of 64 and of 128 values; 0 =
/// not known.
struct AttentionRates {
  double forward64 = 0;
  double backward64 = 0;
  double forward128 = 0;
  double backward128 = 0;
};

struct DeviceRates {
  std::string name;                ///< "H200"
  std::uint64_t memory_bytes = 0;  ///< stated by its driver
  // Dense peaks, TFLOP/s, by data sheet: what MFU refers to.
  double peak_fp32 = 0;
  double peak_tf32 = 0;
  double peak_16 = 0;
  double memory_tb_per_s = 0;       ///< by data sheet
  double flops_an_exponential = 0;  ///< operations at peak_16 in the time of one (formula/attention_floor.h)
  // What large matrix products reach, TFLOP/s.
  double gemm_fp32 = 0;
  double gemm_tf32 = 0;
  double gemm_16 = 0;
  AttentionRates efficient_fp32;  ///< the memory-efficient kernel in float32: three TF32 products for one
  AttentionRates flash;           ///< FlashAttention-2, 16 bits
  AttentionRates cudnn;           ///< 16 bits
  AttentionKind usual_attention = AttentionKind::flash;  ///< what libtorch picks by itself in 16 bits
  double element_tb_per_s = 0;                           ///< element-wise kernels
  double copy_gb_per_s = 0;  ///< uploads of page-locked memory, 1e9 bytes a second
  double misc_us = 0;        ///< a step of base, 16 samples: loss, un-patching, optimiser and gaps
  /// Of a processor, whose rates were measured at the sizes in question (formula/machine_rates.h): it pads no
  /// heads and launches nothing, and what is set below was measured apart from the rest.
  bool is_processor = false;
  double fused_element_tb_per_s = 0;   ///< 0 = as element_tb_per_s
  double patch_tflops = 0;             ///< the patch embedding as a convolution; 0 = as large products
  double adam_tb_per_s = 0;            ///< plain operations; 0 = the same
  double fused_adam_tb_per_s = 0;      ///< 0 = the same
  double ends_us_per_value = 0;        ///< loss and un-patching, a value of the target
  double fused_ends_us_per_value = 0;  ///< un-patching and loss as one kernel
};

/// Devices that a prediction can be made for.
/// A100-40GB: peaks 19.5, 156, 312. Matrix products 230 in 16 bits, about 120 in TF32 (both worked out from
/// published steps of the ERA5 tutorial and its profiles). Attention in 16 bits 171 (head 64) and 196 (head
/// 128), forward and backward together, from the charts of the flash-attention repository; in float32 17 with
/// heads of 48, from the tutorial's profile. 1.35 TB/s; uploads 25 GB/s (663.6 MB in 26.5 ms, profile); 8 ms.
/// H200: peaks 67, 495, 989. Recorded on one, 2026-11-26: attention of base in 16 bits with heads of 48 and
/// 64 (tests/bench/results/h200/attention.jsonl; for heads of 64 the FlashAttention-3 paper has flash-2 321
/// and 279, cuDNN 408 and 417 on an H100), uploads 55 GB/s, our kernels 3.3 to 4.0 TB/s. From the steps of
/// lessons 01, 04 and 05 at base: matrix products 600 and in TF32 205, float32 attention 25 with heads of 48,
/// libtorch's element-wise kernels, norms and casts 1.5 TB/s. Heads of 128: that paper (arXiv 2407.08608,
/// figures 5 and 6, 4096 tokens, no mask). Estimates: products in float32 50, 2.5 ms.
/// H100: as the H200, which is the same chip; bytes by its slower memory (3.35 against 4.8 TB/s).
const std::vector<DeviceRates>& device_rates();

/// The device of that name, upper or lower case; "A100" means the one of 40 GB. Error (exit code 2) with the
/// known names.
const DeviceRates& rates_of(const std::string& name);

/// Dense peak in operations a second, by data sheet, of the CUDA device that calls itself `full_name`
/// ("NVIDIA A100-SXM4-40GB") in `precision` (none, tf32, fp16 or bf16). 0 when it is
/// none of device_rates, or a version of one with other peaks (PCIe, NVL).
double data_sheet_flops(const std::string& full_name, AmpMode precision);

}  // namespace isobar
