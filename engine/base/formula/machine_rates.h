#pragma once
// What the processors of this machine reach in the work of a step: measured once by isobar-rates, kept in a
// file, and the figures behind predictions for the machine at hand.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/choices.h"
#include "formula/device_rates.h"
#include "formula/link.h"
#include "formula/vit_counts.h"

namespace isobar {

/// A rate where it was measured. Between two sizes it lies on a line over the logarithm of the size; beyond
/// them it is that of the nearest.
struct RateAt {
  double size = 0;
  double per_s = 0;
};

double rate_at(const std::vector<RateAt>& rates, double size);

/// Rates in one type of products. FLOP/s are executed ones, bytes those that formula/step_time counts.
struct TypeRates {
  double peak_flops_per_s = 0;             ///< large products: the peak of MFU
  double patch_flops_per_s = 0;            ///< the patch embedding, a convolution
  std::vector<RateAt> gemm;                ///< by values [rows, E]: the products of a block; FLOP/s
  std::vector<RateAt> attention_forward;   ///< by tokens N: 4 N^2 E operations; FLOP/s
  std::vector<RateAt> attention_backward;  ///< by tokens N: 2.5 times as many operations; FLOP/s
  std::vector<RateAt> element;             ///< by values [rows, E]: plain norms, GELU and sums; bytes/s
  std::vector<RateAt> element_fused;       ///< our fused kernels

  bool known() const { return !gemm.empty(); }
};

/// Rates of one number of threads.
struct ThreadRates {
  int threads = 0;
  TypeRates fp32, bf16, fp16;          ///< 16 bits: not known where they are emulated
  std::vector<RateAt> adam;            ///< by parameters: plain operations; bytes/s as step_time counts them
  std::vector<RateAt> fused_adam;      ///< our kernel; bytes/s
  double memory_bytes_per_s = 0;       ///< reading and writing what no cache holds
  double ends_us_per_value = 0;        ///< un-patching and loss, a value of a batch's target
  double fused_ends_us_per_value = 0;  ///< un-patching and loss as one kernel

  const TypeRates& of(AmpMode mode) const;
};

struct MachineRates {
  std::string machine;   ///< machine_name() where they were measured
  std::string measured;  ///< when, ISO 8601
  /// The share of the time in which other programs had the processors: rates are too low then.
  double processor_wait = 0;
  std::vector<ThreadRates> threads;  ///< in rising order
  double read_bytes_per_s = 0;       ///< one thread, from the page cache, normalised
  Link link;                         ///< two ranks of this machine, comm.backend = ring

  /// Rates of the nearest number of threads.
  const ThreadRates& with(int count) const;
};

/// "Intel(R) Xeon(R) Processor, 2 processors": rates of another machine are none of this one.
std::string machine_name();

/// In the folder that keeps what Isobar made, so that every checkout uses them.
std::filesystem::path machine_rates_file();

std::string to_toml(const MachineRates& rates);
/// Error (exit code 2) for a file that is no such, that lacks a rate, or in which one is not above 0.
MachineRates read_machine_rates(const std::filesystem::path& file);
/// The kept rates; nullopt where there are none, or they are of another machine.
std::optional<MachineRates> kept_machine_rates(const std::filesystem::path& file = machine_rates_file());

/// Rates in the form that predict_step takes, for `batch` samples of a model of this shape with `threads` a
/// rank. Error (exit code 2) for a type that was not measured.
DeviceRates device_rates_of(const MachineRates& rates, const VitShape& shape, std::int64_t batch,
                            AmpMode precision, int threads);

}  // namespace isobar
