#include "formula/step_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "formula/vit_memory.h"

namespace isobar {
namespace {

constexpr double kTera = 1e12;
constexpr double kMicro = 1e6;
// What an operation of libtorch costs the host for each of its launches, autograd and dispatch included: of
// lessons 04 and 08 beside an H200 (16 cores of an Intel Xeon, recorded 2026-11-26), where the host was the
// slower one.
constexpr double kLeastLaunch_us = 16;
constexpr double kLaunch_us = 19;
constexpr double kMostLaunch_us = 20;
// What a kernel takes on the device however little it does: cpu_tiny replayed there.
constexpr double kLeastKernel_us = 3.5;
constexpr double kElementForwardShare = 1.0 / 3;

/// Bytes a token, channel and block of one piece.
struct Piece {
  double plain;
  double fused;
};

struct ElementBytes {
  double plain = 0;  ///< time of chains of plain operations
  double fused = 0;  ///< time of kernels that do a piece at once

  void add(const Piece& piece, bool is_fused, double share) {
    (is_fused ? fused : plain) += share * (is_fused ? piece.fused : piece.plain);
  }
};

struct Pieces {
  Piece bias_gelu;      ///< GELU in and out of 4 E values, its gradient, the sum for the bias
  Piece residual_norm;  ///< two of: residual sum, norm, casts of its output, and the way back
  Piece qkv;            ///< two more casts, three gradients back and summed; bias sums
};

// In 16 bits they add up to 228 plain and 97 fused: 68 and 29 GB over 4050 tokens x 384 x 12 blocks x 16
// samples.
constexpr Pieces kPieces16 = {{48, 40}, {120, 56}, {60, 1}};
constexpr Pieces kPieces32 = {{96, 80}, {88, 64}, {44, 2}};

/// The rate for this head size. A GPU's kernel works on 64 or 128 values at a time, so smaller heads waste a
/// part: 48 values count as 0.75 of 64.
std::pair<double, double> rates_for_head(const AttentionRates& rates, std::int64_t head, bool is_processor) {
  if (is_processor) return {rates.forward64, rates.backward64};
  if (head <= 64) {
    const double part = static_cast<double>(head) / 64;
    return {rates.forward64 * part, rates.backward64 * part};
  }
  const double part = static_cast<double>(head) / 128;
  return {rates.forward128 * part, rates.backward128 * part};
}

/// The attention kernel that is meant, and its rates. Error where there are none.
std::pair<AttentionKind, AttentionRates> attention_of(const StepForm& form, const DeviceRates& device) {
  const bool half = is_16_bit(form.precision);
  const AttentionKind kind = form.attention != AttentionKind::automatic ? form.attention
                             : half || device.is_processor              ? device.usual_attention
                                                                        : AttentionKind::efficient;
  const AttentionRates rates = kind == AttentionKind::efficient && !half ? device.efficient_fp32
                               : kind == AttentionKind::flash && (half || device.is_processor) ? device.flash
                               : kind == AttentionKind::cudnn && half                          ? device.cudnn
                                                                      : AttentionRates{};
  if (rates.forward64 > 0) return {kind, rates};
  throw Error(fmt::format("no rate is known for {} attention in {} on {}", name_of(kind),
                          precision_text(form.precision), device.name),
              fmt::format("model.attention = {}", name_of(form.attention)),
              "model.attention=auto takes the one that is");
}

/// What a GEMM of this type reaches, and the type's peak; TFLOP/s.
std::pair<double, double> gemm_of(const StepForm& form, const DeviceRates& device) {
  if (is_16_bit(form.precision)) return {device.gemm_16, device.peak_16};
  if (form.precision == AmpMode::tf32) return {device.gemm_tf32, device.peak_tf32};
  if (form.precision == AmpMode::none) return {device.gemm_fp32, device.peak_fp32};
  throw Error(fmt::format("no rate is known for the precision \"{}\"", name_of(form.precision)), "amp.mode",
              "none, tf32, fp16 or bf16");
}

ElementBytes element_bytes(const StepForm& form) {
  const Pieces& pieces = is_16_bit(form.precision) ? kPieces16 : kPieces32;
  ElementBytes out;
  out.add(pieces.bias_gelu, form.fused_bias_gelu, form.share());
  out.add(pieces.residual_norm, form.fused_residual_norm, form.token_share());
  out.add(pieces.qkv, form.fused_qkv, form.share());
  return out;
}

double values_of(const VitShape& shape, std::int64_t batch) {
  return static_cast<double>(batch) * static_cast<double>(shape.channels) *
         static_cast<double>(shape.height) * static_cast<double>(shape.width);
}

double state_bytes(const StepForm& form) {
  return static_cast<double>(parameters_on_rank(form.shape, form.tp)) *
         (form.fused_adam ? kFusedAdamBytes : kPlainAdamBytes);
}

/// Microseconds a byte at this rate, 0 = at that of element-wise kernels.
double byte_us(double tb_per_s, const DeviceRates& device) {
  return kMicro / ((tb_per_s > 0 ? tb_per_s : device.element_tb_per_s) * kTera);
}

/// For a device whose rates were published the rest of misc goes with the values of a batch; it was published
/// for base with 16 samples.
double ends_us(const StepForm& form, const DeviceRates& device) {
  const double values = values_of(form.shape, form.batch);
  if (device.is_processor)
    return (form.fused_head_loss ? device.fused_ends_us_per_value : device.ends_us_per_value) * values;
  const VitShape base;
  const double base_state_us =
      static_cast<double>(count_parameters(base).total()) * kFusedAdamBytes * byte_us(0, device);
  return (device.misc_us - base_state_us) * values / values_of(base, 16);
}

/// What backward computes again, in the time that forward took for it.
ClassTimes redone_times(const StepForm& form, const ClassTimes& forward, const ForwardFlops& flops,
                        double gemm_flops) {
  if (form.kept.kind == CheckpointKind::none) return {};
  const bool redoes_attention = form.kept.kind == CheckpointKind::block;
  const double products =
      form.share() * (redone_flops(form.kept, form.shape) - (redoes_attention ? flops.attention : 0));
  return {.attention_us = redoes_attention ? forward.attention_us : 0,
          .gemm_us = forward.gemm_us * products / gemm_flops,
          .element_us = forward.element_us};
}

void add_times(ClassTimes& times, const ClassTimes& more) {
  times.attention_us += more.attention_us;
  times.gemm_us += more.gemm_us;
  times.element_us += more.element_us;
  times.misc_us += more.misc_us;
}

ClassTimes repeated(const ClassTimes& times, std::int64_t passes) {
  const auto often = static_cast<double>(passes);
  return {.attention_us = often * times.attention_us,
          .gemm_us = often * times.gemm_us,
          .element_us = often * times.element_us,
          .misc_us = often * times.misc_us};
}

void check_form(const StepForm& form, const DeviceRates& device) {
  const VitShape& shape = form.shape;
  if (form.batch < 1 || form.passes < 1 || shape.embed < 1 || shape.heads < 1 || shape.depth < 1 ||
      shape.tokens() < 1)
    throw Error("a step without samples, blocks or tokens takes no time", "the form of the step", "");
  if (!device.is_processor && shape.embed / shape.heads > 128)
    throw Error(fmt::format("no rate is known for heads of {} values", shape.embed / shape.heads),
                fmt::format("model.embed = {}, model.heads = {}", shape.embed, shape.heads),
                "heads of at most 128 values");
}

}  // namespace

double StepForm::token_share() const {
  const double tokens =
      own_tokens > 0 ? static_cast<double>(own_tokens) / static_cast<double>(shape.tokens()) : 1;
  return tokens / static_cast<double>(shares_tokens ? tp : 1);
}

double StepForm::share() const { return token_share() / static_cast<double>(shares_tokens ? 1 : tp); }

ClassTimes StepTime::classes() const {
  return {.attention_us = forward.attention_us + backward.attention_us,
          .gemm_us = forward.gemm_us + backward.gemm_us,
          .element_us = forward.element_us + backward.element_us,
          .misc_us = forward.misc_us + backward.misc_us + optimize_us};
}

double StepTime::graph_gain_us() const { return std::max(0.0, host_us - device_us()); }

double StepTime::step_us() const { return graph ? device_us() : std::max(host_us, device_us()); }

std::string StepTime::bound() const {
  const ClassTimes times = classes();
  if (!graph && host_us > device_us()) return "host (launch)";
  const std::array<std::pair<double, const char*>, 6> parts = {{{times.attention_us, "attention"},
                                                                {times.gemm_us, "GEMM"},
                                                                {times.element_us, "element-wise"},
                                                                {times.misc_us, "misc"},
                                                                {small_us, "small kernels"},
                                                                {upload_us, "upload"}}};
  return std::max_element(parts.begin(), parts.end())->second;
}

double element_bytes_per_place(const StepForm& form) {
  const ElementBytes bytes = element_bytes(form);
  return bytes.plain + bytes.fused;
}

double count_launches(const StepForm& form) {
  // Plain: the tutorial's profile, 1,500. Fused: recorded graphs of 12 and 4 blocks, 550 and 197.
  const auto depth = static_cast<double>(form.shape.depth);
  double block = 120;
  if (form.fused_qkv) block -= 44;
  if (form.fused_residual_norm) block -= 24;
  if (form.fused_bias_gelu) block -= 8;
  double ends = 60;
  if (form.fused_head_loss) ends -= 15;
  if (form.fused_adam) ends -= 10;
  if (form.fused_grad_norm) ends -= 3;
  return depth * block + ends;
}

StepTime predict_step(const StepForm& form, const DeviceRates& device) {
  check_form(form, device);
  const auto batch = static_cast<double>(form.batch);
  const auto [kind, attention] = attention_of(form, device);
  const auto [forward_rate, backward_rate] =
      rates_for_head(attention, form.shape.embed / form.shape.heads, device.is_processor);
  const auto [gemm_rate, peak] = gemm_of(form, device);
  const ForwardFlops flops = count_forward_flops(form.shape);
  const bool convolves = device.patch_tflops > 0 && !form.patch_is_product;
  const double apart = convolves ? flops.patch : 0;
  const double share = form.share(), blocks = share * (flops.qkv + flops.projection + flops.mlp);
  const double attention_flops = share * flops.attention;
  const double gemm_forward = blocks + flops.head + flops.patch - apart;
  const double gemm_backward = 2 * gemm_forward - (flops.patch - apart);  // no gradient of the input
  const double patch_us = convolves ? batch * apart / (device.patch_tflops * kTera) * kMicro : 0;
  const double places =
      batch * static_cast<double>(form.shape.tokens() * form.shape.embed * form.shape.depth);
  const ElementBytes bytes = element_bytes(form);
  const double element_us = places * bytes.plain * byte_us(0, device) +
                            places * bytes.fused * byte_us(device.fused_element_tb_per_s, device);
  const double misc_us = ends_us(form, device);
  StepTime out;
  out.forward = {.attention_us = batch * attention_flops / (forward_rate * kTera) * kMicro,
                 .gemm_us = batch * gemm_forward / (gemm_rate * kTera) * kMicro + patch_us,
                 .element_us = kElementForwardShare * element_us,
                 .misc_us = misc_us / 2};
  out.backward = {.attention_us = batch * 2.5 * attention_flops / (backward_rate * kTera) * kMicro,
                  .gemm_us = batch * gemm_backward / (gemm_rate * kTera) * kMicro + patch_us,
                  .element_us = (1 - kElementForwardShare) * element_us,
                  .misc_us = misc_us / 2};
  add_times(out.backward, redone_times(form, out.forward, flops, gemm_forward + apart));
  out.forward = repeated(out.forward, form.passes);
  out.backward = repeated(out.backward, form.passes);
  out.optimize_us = state_bytes(form) *
                    byte_us(form.fused_adam ? device.fused_adam_tb_per_s : device.adam_tb_per_s, device);
  out.element_bytes =
      static_cast<double>(form.passes) * places * (bytes.plain + bytes.fused) + state_bytes(form);
  out.attention = kind;
  out.peak_flops_per_s = peak * kTera;
  out.graph = form.graph;
  if (device.is_processor) return out;
  if (!form.uploads_beside)
    out.upload_us = static_cast<double>(form.passes) * 2 * values_of(form.shape, form.batch) * sizeof(float) /
                    (device.copy_gb_per_s * 1e9) * kMicro;
  out.launches = static_cast<double>(form.passes) * count_launches(form);
  out.small_us = std::max(0.0, out.launches * kLeastKernel_us - out.classes().total_us());
  out.host_us = out.launches * kLaunch_us;
  out.host_least_us = out.launches * kLeastLaunch_us;
  out.host_most_us = out.launches * kMostLaunch_us;
  return out;
}

}  // namespace isobar
