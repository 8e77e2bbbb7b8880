#pragma once
// 1 - Phi(a) = erfc(a / sqrt 2) / 2 = e^(-a^2/2) (1/2 + w Q(w)) for a >= 0 with w = r a / (1 + r a) (after
// Hastings 1955; Q fitted to 2.2e-8 of the value for a up to 13.3): the distribution and its density share
// one exponential. Numbers only, since processors and CUDA devices divide and round in their own ways.
namespace isobar {

inline constexpr float kTailRate = 0.39F;        // r
inline constexpr float kTailFarthest = 14.0F;    // an infinity has no w, and e^(-a^2/2) is 0 there
inline constexpr float kTail7 = -0.0360460367F;  // Q = ((kTail7 w + kTail6) w + ...) w + kTail0
inline constexpr float kTail6 = 0.095366216F;
inline constexpr float kTail5 = -0.0434601794F;
inline constexpr float kTail4 = -0.0149784412F;
inline constexpr float kTail3 = -0.122120044F;
inline constexpr float kTail2 = 0.0234801861F;
inline constexpr float kTail1 = 0.620666302F;
inline constexpr float kTail0 = -1.0229275F;

}  // namespace isobar
