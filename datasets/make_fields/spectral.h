#pragma once
// Fourier transforms of two real periodic fields at once: one rides as the real, one as the imaginary part.
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace isobar {

using Complex = std::complex<float>;

/// A two-dimensional complex transform of fixed size, [rows, columns] row-major, not normalised.
class Fourier {
 public:
  Fourier(std::size_t rows, std::size_t columns);
  ~Fourier();
  Fourier(Fourier&&) noexcept;

  void forward(std::span<const Complex> in, std::span<Complex> out) const;
  void inverse(std::span<const Complex> in, std::span<Complex> out) const;
  std::size_t size() const;

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

/// The signed wave number of bin `at` of `bins`: 0, 1, ..., bins/2, -(bins/2 - 1), ..., -1.
int wave_number(std::size_t at, std::size_t bins);

/// Band-limited interpolation of `fields` [rows, columns] (two real fields, packed) to a finer or equal
/// periodic grid.
std::vector<Complex> interpolate(std::span<const Complex> fields, std::size_t rows, std::size_t columns,
                                 std::size_t new_rows, std::size_t new_columns);

}  // namespace isobar
