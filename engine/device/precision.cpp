#include "device/precision.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "core/error.h"
#include "device/cuda_plugin.h"
#include "device/load_cuda.h"

namespace isobar {
namespace {

[[noreturn]] void refuse(const std::string& mode, const std::string& what, const std::string& hint) {
  throw Error(what, "amp.mode = \"" + mode + "\"", hint);
}

void check_cuda_capability(const std::string& mode, const PrecisionFacts& facts) {
  struct Least {
    const char* mode;
    int major;
    int minor;
    const char* hint;
  };
  static constexpr Least kLeast[] = {
      {"tf32", 8, 0, "--set amp.mode=none (plain fp32), or fp16"},
      {"bf16", 8, 0, "--set amp.mode=fp16, whose loss is scaled, or none (plain fp32)"},
      {"fp16", 5, 3, "--set amp.mode=none (plain fp32); bf16 needs a device that is newer still"}};
  for (const Least& least : kLeast) {
    const bool enough =
        facts.major > least.major || (facts.major == least.major && facts.minor >= least.minor);
    if (mode != least.mode || enough) continue;
    refuse(mode,
           fmt::format("{} needs compute capability {}.{}, and this device has {}.{}", mode, least.major,
                       least.minor, facts.major, facts.minor),
           least.hint);
  }
}

}  // namespace

PrecisionFacts precision_facts(c10::Device device) {
  if (!device.is_cuda()) return {.cpu = cpu_instructions()};
  const CudaFacts facts = cuda_plugin().facts();
  const CudaDeviceFacts& cuda = facts.devices.at(static_cast<std::size_t>(device.index()));
  return {.is_cuda = true, .major = cuda.major, .minor = cuda.minor};
}

std::string choose_precision(const std::string& mode, const PrecisionFacts& facts) {
  if (mode == "mixed") {
    const bool has_bf16 = facts.is_cuda ? facts.major >= 8 : facts.cpu.amx_bf16 || facts.cpu.avx512_bf16;
    return has_bf16 ? "bf16" : choose_precision("auto", facts);
  }
  if (mode == "auto") return facts.is_cuda && facts.major >= 8 ? "tf32" : "none";
  if (facts.is_cuda) {
    check_cuda_capability(mode, facts);
    return mode;
  }
  if (mode == "tf32") {
    refuse(mode, "TF32 exists on CUDA devices only, and this run is on the CPU",
           "--set amp.mode=none (plain fp32), or leave it out");
  }
  if (mode == "fp16" && !facts.cpu.avx512_fp16) {
    refuse(mode, "fp16 needs a processor with AVX512-FP16, and this one has none",
           "--set amp.mode=bf16, which every processor can do");
  }
  return mode;
}

std::string choose_precision(const std::string& mode, c10::Device device) {
  return choose_precision(mode, precision_facts(device));
}

void apply_precision(const std::string& mode) {
  const bool tf32 = mode == "tf32";
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
}

std::string precision_sentence(const std::string& mode, const PrecisionFacts& facts) {
  if (facts.is_cuda) return "";
  if (mode == "bf16") {
    if (facts.cpu.amx_bf16)
      return "AMX multiplies bf16 matrices several times faster than fp32 ones; small ones lose that to the "
             "casts";
    if (facts.cpu.avx512_bf16)
      return "AVX512-BF16 multiplies bf16 matrices at most twice as fast as fp32 ones, without AMX";
    return "this processor has neither AMX nor AVX512-BF16: bf16 is emulated, and slower than fp32";
  }
  if (mode == "fp16") {
    if (facts.cpu.amx_fp16)
      return "AMX multiplies fp16 matrices several times faster than fp32 ones; small ones lose that to the "
             "casts";
    return "AVX512-FP16 multiplies fp16 matrices at most twice as fast as fp32 ones, without AMX for this "
           "type";
  }
  return "";
}

}  // namespace isobar
