#pragma once
// The tail of the normal distribution from its density, so that GELU and its slope take one exponential:
// 1 - Phi(a) = erfc(a / sqrt 2) / 2 = bell (1/2 + w Q(w)) for a >= 0, where bell = e^(-a^2/2) and
// w = kScale a / (1 + kScale a), after Hastings 1955; Q fitted to 2.2e-8 of the value for a up to 13.3.

namespace isobar {

struct NormalTail {
  static constexpr float kScale = 0.39F;
  static constexpr float kMost = 14.0F;  ///< from here on bell is 0 in float32; an infinity has no w
  // Q(w) = k0 + k1 w + ... + k7 w^7.
  static constexpr float k0 = -1.0229275F;
  static constexpr float k1 = 0.620666302F;
  static constexpr float k2 = 0.0234801861F;
  static constexpr float k3 = -0.122120044F;
  static constexpr float k4 = -0.0149784412F;
  static constexpr float k5 = -0.0434601794F;
  static constexpr float k6 = 0.095366216F;
  static constexpr float k7 = -0.0360460367F;
};

}  // namespace isobar
