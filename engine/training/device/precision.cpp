#include "device/precision.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "core/error.h"
#include "device/cuda_plugin.h"
#include "device/emulated_products.h"
#include "device/load_cuda.h"

namespace isobar {
namespace {

[[noreturn]] void refuse(AmpMode mode, const std::string& what, const std::string& hint) {
  throw Error(what, fmt::format("amp.mode = \"{}\"", name_of(mode)), hint);
}

void check_cuda_capability(AmpMode mode, const PrecisionFacts& facts) {
  struct Least {
    AmpMode mode;
    int major;
    int minor;
    const char* hint;
  };
  static constexpr Least kLeast[] = {
      {AmpMode::tf32, 8, 0, "--set amp.mode=none (plain fp32), or fp16"},
      {AmpMode::bf16, 8, 0, "--set amp.mode=fp16, whose loss is scaled, or none (plain fp32)"},
      {AmpMode::fp16, 5, 3, "--set amp.mode=none (plain fp32); bf16 needs a device that is newer still"}};
  for (const Least& least : kLeast) {
    const bool enough =
        facts.major > least.major || (facts.major == least.major && facts.minor >= least.minor);
    if (mode != least.mode || enough) continue;
    refuse(mode,
           fmt::format("{} needs compute capability {}.{}, and this device has {}.{}", name_of(mode),
                       least.major, least.minor, facts.major, facts.minor),
           least.hint);
  }
}

}  // namespace

std::optional<c10::ScalarType> half_type(AmpMode mode) {
  if (mode == AmpMode::fp16) return c10::kHalf;
  if (mode == AmpMode::bf16) return c10::kBFloat16;
  return {};
}

PrecisionFacts precision_facts(c10::Device device) {
  if (!device.is_cuda()) return {.cpu = cpu_instructions()};
  const CudaFacts facts = cuda_plugin().facts();
  const CudaDeviceFacts& cuda = facts.devices.at(static_cast<std::size_t>(device.index()));
  return {.is_cuda = true, .major = cuda.major, .minor = cuda.minor};
}

AmpMode choose_precision(AmpMode mode, const PrecisionFacts& facts) {
  if (mode == AmpMode::mixed) {
    const bool has_bf16 = facts.is_cuda ? facts.major >= 8 : facts.cpu.multiplies_bf16();
    return has_bf16 ? AmpMode::bf16 : choose_precision(AmpMode::automatic, facts);
  }
  if (mode == AmpMode::automatic) return facts.is_cuda && facts.major >= 8 ? AmpMode::tf32 : AmpMode::none;
  if (facts.is_cuda) {
    check_cuda_capability(mode, facts);
    return mode;
  }
  if (mode == AmpMode::tf32) {
    refuse(mode, "TF32 exists on CUDA devices only, and this run is on the CPU",
           "--set amp.mode=none (plain fp32), or leave it out");
  }
  return mode;
}

bool emulates(AmpMode mode, const PrecisionFacts& facts) {
  const std::optional<c10::ScalarType> type = half_type(mode);
  return !facts.is_cuda && type && emulates_products(*type, facts.cpu);
}

AmpMode choose_precision(AmpMode mode, c10::Device device) {
  return choose_precision(mode, precision_facts(device));
}

void apply_precision(AmpMode mode) {
  const bool tf32 = mode == AmpMode::tf32;
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
}

std::string precision_sentence(AmpMode mode, const PrecisionFacts& facts) {
  const bool is_bf16 = mode == AmpMode::bf16;
  if (facts.is_cuda || !is_16_bit(mode)) return "";
  if (emulates(mode, facts)) {
    return fmt::format(
        "emulated: this processor has {}, so 16-bit values are multiplied as fp32. Ranges and "
        "rounding are those of {}; what they gain where there are instructions is in "
        "the README of the lesson on mixed precision",
        is_bf16 ? "neither AMX nor AVX512-BF16" : "no AVX512-FP16", name_of(mode));
  }
  if (is_bf16 ? facts.cpu.amx_bf16 : facts.cpu.amx_fp16) {
    return fmt::format(
        "AMX multiplies {} matrices several times faster than fp32 ones; small ones lose that "
        "to the casts",
        name_of(mode));
  }
  return fmt::format("AVX512-{0} multiplies {1} matrices at most twice as fast as fp32 ones, without AMX{2}",
                     is_bf16 ? "BF16" : "FP16", name_of(mode), is_bf16 ? "" : " for this type");
}

}  // namespace isobar
