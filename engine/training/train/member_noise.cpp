#include "train/member_noise.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>

#include "core/random.h"

namespace isobar {
namespace {

constexpr std::int64_t kGrain = 16384;  // pairs that are worth a thread

std::uint64_t key_of(const NoisePlace& place) {
  std::uint64_t key = stream_key(static_cast<std::uint64_t>(place.seed), "member noise");
  for (const std::int64_t part : {place.epoch, place.sample, place.member, place.lead})
    key = mixed_bits(key ^ static_cast<std::uint64_t>(part));
  return key;
}

}  // namespace

void fill_with_noise(const NoisePlace& place, double standard_deviation, float* out, std::int64_t n) {
  const std::uint64_t key = key_of(place);
  const auto scale = static_cast<float>(standard_deviation);
  at::parallel_for(0, (n + 1) / 2, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t bits = mixed_bits(key + static_cast<std::uint64_t>(i));
      const float uniform = (static_cast<float>(bits >> 32) + 0.5F) * 0x1p-32F;  // never 0
      const float angle = static_cast<float>(bits & 0xffffffffU) * 0x1p-32F * 2 * std::numbers::pi_v<float>;
      const float radius = scale * std::sqrt(-2 * std::log(uniform));
      out[2 * i] = radius * std::cos(angle);
      if (2 * i + 1 < n) out[2 * i + 1] = radius * std::sin(angle);
    }
  });
}

}  // namespace isobar
