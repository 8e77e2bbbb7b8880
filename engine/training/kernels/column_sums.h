#pragma once
// Gradients of biases and of a norm's parameters are sums over rows. Rows are cut into pieces that depend on
// their number only, never on threads or blocks: each piece is summed by itself, then the pieces in order, so
// that the same rows give the same bits on every run of a form. The CPU and CUDA forms cut alike; within a
// piece they add in their own order, so between them bits may differ.
#include <algorithm>
#include <cstdint>

namespace isobar {

/// Pieces that `rows` rows are cut into.
constexpr std::int64_t row_pieces(std::int64_t rows) {
  return std::clamp<std::int64_t>((rows + 63) / 64, 1, 256);
}

/// The first row of a piece, 0 .. row_pieces(rows); that of the piece behind the last is `rows`.
constexpr std::int64_t row_piece_begin(std::int64_t rows, std::int64_t piece) {
  return rows * piece / row_pieces(rows);
}

/// float32 values that a kernel needs as scratch to sum `sums` matrices of [rows, columns] by column.
constexpr std::int64_t column_sum_scratch(std::int64_t rows, std::int64_t columns, std::int64_t sums) {
  return row_pieces(rows) * columns * sums;
}

}  // namespace isobar
