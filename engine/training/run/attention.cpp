#include "run/attention.h"

#include "core/error.h"
#include "device/precision.h"
#include "model/attention_choice.h"

namespace isobar {

std::string attention_text(const LessonInfo& lesson, const Config& config, const FaultSetting& fault,
                           c10::Device device) {
  if (!honours(lesson, "model.attention")) return "";
  const std::int64_t patches = config.model.patch * config.model.patch;
  const AttentionShape shape{.batch = config.train.global_batch,
                             .heads = config.model.heads,
                             .tokens = config.data.grid[0] * config.data.grid[1] / patches,
                             .head_size = config.model.embed / config.model.heads,
                             .type = half_type(config.amp.mode).value_or(c10::ScalarType::Float),
                             .device = device};
  const AttentionKind kind = choose_attention(config.model.attention, shape);
  if (fault.fault == Fault::math_attention) {
    if (kind != AttentionKind::math) return std::string("math (the fault), instead of ") + name_of(kind);
    throw Error("attention is math already, and the fault math_attention would change nothing",
                "run.fault = math_attention", "another model.attention, or another fault");
  }
  return name_of(kind) + std::string(config.model.attention == AttentionKind::automatic
                                         ? " (picked by libtorch)"
                                         : " (model.attention)");
}

}  // namespace isobar
