#pragma once
// What is given and what is promised in the exercise of lesson 05. You write my/05_bias_gelu.cpp.
//
// Matrices are [rows, columns] in float32, one row behind the other without gaps; columns = bias.size(), at
// least 1, and there may be no rows. With u = x + b:
//   gelu(u) = u Phi(u)             Phi(u) = (1 + erf(u / sqrt 2)) / 2 = erfc(-u / sqrt 2) / 2
//   gelu'(u) = Phi(u) + u phi(u)   phi(u) = exp(-u^2 / 2) / sqrt(2 pi)
#include <span>

namespace isobar::mine {

// Promised by both: each value of a matrix comes from memory once and goes there once, row by row, and no
// memory is taken but for a row or two. Every finite u gives a finite value. dx does not overlap with x.

/// Promised: y = gelu(x + bias), also right to four digits where it is tiny, down to u = -8. y may be x.
void bias_gelu_forward(std::span<const float> x, std::span<const float> bias, std::span<float> y);

/// Promised: dx = dy gelu'(x + bias), and dbias [columns] = the sum of dx over all rows, whatever was in
/// dbias before. x is what forward got: x + bias was not kept. dx may be dy.
void bias_gelu_backward(std::span<const float> x, std::span<const float> bias, std::span<const float> dy,
                        std::span<float> dx, std::span<float> dbias);

}  // namespace isobar::mine
