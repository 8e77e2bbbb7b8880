#include "formula/device_rates.h"

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

DeviceRates a100() {
  return {.name = "A100-40GB",
          .memory_bytes = 40'536 * kMebi,
          .peak_fp32 = 19.5,
          .peak_tf32 = 156,
          .peak_16 = 312,
          .memory_tb_per_s = 1.555,
          .flops_an_exponential = 128,
          .gemm_fp32 = 19.5,
          .gemm_tf32 = 120,
          .gemm_16 = 230,
          .efficient_fp32 = {17 / 0.75, 17 / 0.75, 17 / 0.75, 17 / 0.75},
          .flash = {171, 171, 196, 196},
          .cudnn = {},
          .usual_attention = AttentionKind::flash,
          .element_tb_per_s = 1.35,
          .copy_gb_per_s = 25,
          .misc_us = 8000};
}

DeviceRates h200() {
  return {.name = "H200",
          .memory_bytes = 143'771 * kMebi,
          .peak_fp32 = 67,
          .peak_tf32 = 495,
          .peak_16 = 989,
          .memory_tb_per_s = 4.8,
          .flops_an_exponential = 256,
          .gemm_fp32 = 50,
          .gemm_tf32 = 205,
          .gemm_16 = 600,
          .efficient_fp32 = {25 / 0.75, 25 / 0.75, 25 / 0.75, 25 / 0.75},
          .flash = {289, 239, 368, 310},
          .cudnn = {397, 394, 609, 499},
          .usual_attention = AttentionKind::cudnn,
          .element_tb_per_s = 1.5,
          .copy_gb_per_s = 55,
          .misc_us = 2500,
          .fused_element_tb_per_s = 3.7,
          .fused_adam_tb_per_s = 3.8};
}

DeviceRates h100() {
  constexpr double kSlowerMemory = 4.8 / 3.35;
  DeviceRates out = h200();
  out.name = "H100";
  out.memory_bytes = 81'559 * kMebi;
  out.memory_tb_per_s = 3.35;
  out.element_tb_per_s /= kSlowerMemory;
  out.fused_element_tb_per_s /= kSlowerMemory;
  out.fused_adam_tb_per_s /= kSlowerMemory;
  out.misc_us *= kSlowerMemory;
  return out;
}

}  // namespace

const std::vector<DeviceRates>& device_rates() {
  static const std::vector<DeviceRates> kRates = {a100(), h100(), h200()};
  return kRates;
}

const DeviceRates& rates_of(const std::string& name) {
  const std::string wanted = lowered(name) == "a100" ? "a100-40gb" : lowered(name);
  std::vector<std::string> names;
  for (const DeviceRates& rates : device_rates()) {
    if (lowered(rates.name) == wanted) return rates;
    names.push_back(rates.name);
  }
  throw Error("no rates are known for the device \"" + printable(name, 40) + "\"", "--device",
              "devices: " + joined(names));
}

double data_sheet_flops(const std::string& full_name, AmpMode precision) {
  const auto has = [&](const char* part) { return full_name.find(part) != std::string::npos; };
  const bool is_other_h = (has("H100") || has("H200")) && (has("PCIe") || has("NVL"));
  const char* name = has("A100") ? "A100" : has("H200") ? "H200" : has("H100") ? "H100" : "";
  if (*name == '\0' || is_other_h) return 0;
  const DeviceRates& rates = rates_of(name);
  if (is_16_bit(precision)) return 1e12 * rates.peak_16;
  return 1e12 * (precision == AmpMode::tf32 ? rates.peak_tf32 : rates.peak_fp32);
}

}  // namespace isobar
