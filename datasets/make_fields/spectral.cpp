#include "make_fields/spectral.h"

#include <kiss_fftnd.h>

#include <array>

namespace isobar {

static_assert(sizeof(kiss_fft_cpx) == sizeof(Complex), "kissfft's complex numbers are two floats");

struct Fourier::Plans {
  std::size_t size;
  kiss_fftnd_cfg forward;
  kiss_fftnd_cfg inverse;

  Plans(std::size_t rows, std::size_t columns) : size(rows * columns) {
    const std::array<int, 2> dims = {static_cast<int>(rows), static_cast<int>(columns)};
    forward = kiss_fftnd_alloc(dims.data(), 2, 0, nullptr, nullptr);
    inverse = kiss_fftnd_alloc(dims.data(), 2, 1, nullptr, nullptr);
  }
  ~Plans() {
    kiss_fft_free(forward);
    kiss_fft_free(inverse);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;
};

namespace {

void transform(kiss_fftnd_cfg plan, std::span<const Complex> in, std::span<Complex> out) {
  kiss_fftnd(plan, reinterpret_cast<const kiss_fft_cpx*>(in.data()),
             reinterpret_cast<kiss_fft_cpx*>(out.data()));
}

std::size_t bin_of(int wave, std::size_t bins) {
  return wave >= 0 ? static_cast<std::size_t>(wave) : bins - static_cast<std::size_t>(-wave);
}

}  // namespace

Fourier::Fourier(std::size_t rows, std::size_t columns) : plans_(std::make_unique<Plans>(rows, columns)) {}
Fourier::~Fourier() = default;
Fourier::Fourier(Fourier&&) noexcept = default;

void Fourier::forward(std::span<const Complex> in, std::span<Complex> out) const {
  transform(plans_->forward, in, out);
}
void Fourier::inverse(std::span<const Complex> in, std::span<Complex> out) const {
  transform(plans_->inverse, in, out);
}
std::size_t Fourier::size() const { return plans_->size; }

int wave_number(std::size_t at, std::size_t bins) {
  return at <= bins / 2 ? static_cast<int>(at) : static_cast<int>(at) - static_cast<int>(bins);
}

std::vector<Complex> interpolate(std::span<const Complex> fields, std::size_t rows, std::size_t columns,
                                 std::size_t new_rows, std::size_t new_columns) {
  const Fourier coarse(rows, columns);
  const Fourier fine(new_rows, new_columns);
  std::vector<Complex> spectrum(coarse.size());
  coarse.forward(fields, spectrum);
  std::vector<Complex> padded(fine.size());
  const float scale = 1.0F / static_cast<float>(coarse.size());
  for (std::size_t j = 0; j < rows; ++j) {
    const int row_wave = wave_number(j, rows);
    for (std::size_t i = 0; i < columns; ++i) {
      const int column_wave = wave_number(i, columns);
      // The highest wave of an even grid has no partner of opposite sign; the flow holds nothing there.
      if (2 * j == rows || 2 * i == columns) continue;
      padded[bin_of(row_wave, new_rows) * new_columns + bin_of(column_wave, new_columns)] =
          spectrum[j * columns + i] * scale;
    }
  }
  std::vector<Complex> out(fine.size());
  fine.inverse(padded, out);
  return out;
}

}  // namespace isobar
