#include "make_fields/flow.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.h"

namespace isobar {
namespace {

constexpr float kShear = 0.35F;  // U1 = -U2
constexpr float kBeta = 2.5F;
constexpr float kCoupling = 10.0F;  // F; the deformation radius is 1 / sqrt(2 F)
constexpr float kDrag = 0.35F;
constexpr float kMoistTime = 3.0F;  // tau
constexpr double kMostStep =
    0.0055;  // on 72 rows; the fastest eddies then stay below a third of the stability limit
constexpr int kFilterEvery = 4;
constexpr double kFilterRate =
    55;  // of waves at two thirds of the finest, per time; falls with the 8th power below

}  // namespace

Flow::Flow(std::size_t rows, std::size_t columns, std::uint64_t seed)
    : rows_(rows),
      columns_(columns),
      dx_(static_cast<float>(kLengthX / static_cast<double>(columns))),
      dy_(static_cast<float>(kLengthY / static_cast<double>(rows))),
      fourier_(rows, columns),
      own_weight_(rows * columns),
      other_weight_(rows * columns),
      moist_profile_(rows),
      damping_(rows * columns),
      grid_(rows * columns),
      spectrum_(rows * columns),
      scratch_(rows * columns) {
  const double finest = static_cast<double>(rows) / 2;
  for (std::size_t j = 0; j < rows; ++j) {
    moist_profile_[j] =
        static_cast<float>(-std::cos(2 * M_PI * (static_cast<double>(j) + 0.5) / static_cast<double>(rows)));
    for (std::size_t i = 0; i < columns; ++i) {
      const double ky = wave_number(j, rows);
      const double kx = wave_number(i, columns) * kLengthY / kLengthX;
      const double k2 = kx * kx + ky * ky;
      const double barotropic = k2 > 0 ? -1 / k2 : 0;
      const double baroclinic = k2 > 0 ? -1 / (k2 + 2 * static_cast<double>(kCoupling)) : 0;
      const double normal = 0.5 / static_cast<double>(rows * columns);  // the transforms are not normalised
      own_weight_[j * columns + i] = static_cast<float>((barotropic + baroclinic) * normal);
      other_weight_[j * columns + i] = static_cast<float>((barotropic - baroclinic) * normal);
      const double ratio2 = k2 / (finest * finest * 4 / 9);
      damping_[j * columns + i] = static_cast<float>(kFilterRate * ratio2 * ratio2 * ratio2 * ratio2);
    }
  }
  const std::uint64_t key = stream_key(seed, "flow");
  for (std::size_t l = 0; l < 2; ++l) {
    layers_[l].q.resize(rows * columns);
    layers_[l].psi.resize(rows * columns);
    for (std::size_t n = 0; n < rows * columns; ++n) {
      layers_[l].q[n] = static_cast<float>(uniform_at(key, l * rows * columns + n) - 0.5);
    }
  }
  tracer_.q.resize(rows * columns);
  for (std::size_t n = 0; n < rows * columns; ++n) tracer_.q[n] = moist_profile_[n / columns];
  for (Layer* field : {&layers_[0], &layers_[1], &tracer_}) {
    for (auto& tendency : field->tendency) tendency.resize(rows * columns);
  }
  filter(1.0);  // white noise to smooth noise
  invert();
}

void Flow::advance(double time) {
  const double most = kMostStep * 72 / static_cast<double>(rows_);
  const auto count = static_cast<std::int64_t>(std::ceil(time / most - 1e-9));
  const double dt = time / static_cast<double>(count);
  for (std::int64_t s = 0; s < count; ++s) {
    step(static_cast<float>(dt));
    if (steps_ % kFilterEvery == 0) filter(dt * kFilterEvery);
    invert();
  }
}

void Flow::step(float dt) {
  tendencies();
  ++steps_;
  // Adams-Bashforth 3; the first two steps are too short for it and take what is there.
  const float now = steps_ > 2 ? 23.0F / 12.0F : 1.0F;
  const float last = steps_ > 2 ? -16.0F / 12.0F : 0.0F;
  const float before = steps_ > 2 ? 5.0F / 12.0F : 0.0F;
  for (Layer* field : {&layers_[0], &layers_[1], &tracer_}) {
    const float* const t0 = field->tendency[0].data();
    const float* const t1 = field->tendency[1].data();
    const float* const t2 = field->tendency[2].data();
    float* const q = field->q.data();
    const std::size_t size = field->q.size();
    for (std::size_t n = 0; n < size; ++n) q[n] += dt * (now * t0[n] + last * t1[n] + before * t2[n]);
  }
}

void Flow::tendencies() {
  for (Layer* field : {&layers_[0], &layers_[1], &tracer_}) {
    std::rotate(field->tendency.begin(), field->tendency.end() - 1, field->tendency.end());
  }
  const std::array<float, 2> wind = {kShear, -kShear};
  const std::array<float, 2> gradient = {kBeta + 2 * kCoupling * kShear, kBeta - 2 * kCoupling * kShear};
  const float half_dx = 0.5F / dx_;
  const float dx2 = 1 / (dx_ * dx_);
  const float dy2 = 1 / (dy_ * dy_);
  for (std::size_t l = 0; l < 2; ++l) add_jacobian(layers_[l].psi, layers_[l].q, layers_[l].tendency[0]);
  add_jacobian(layers_[1].psi, tracer_.q, tracer_.tendency[0]);
  const std::array<const float*, 2> q = {layers_[0].q.data(), layers_[1].q.data()};
  const std::array<const float*, 2> psi = {layers_[0].psi.data(), layers_[1].psi.data()};
  const std::array<float*, 2> to = {layers_[0].tendency[0].data(), layers_[1].tendency[0].data()};
  const float* const moist = tracer_.q.data();
  float* const moist_to = tracer_.tendency[0].data();
  for (std::size_t j = 0; j < rows_; ++j) {
    const std::size_t north = (j + 1 == rows_ ? 0 : j + 1) * columns_;
    const std::size_t south = (j == 0 ? rows_ - 1 : j - 1) * columns_;
    const std::size_t here = j * columns_;
    const float profile = moist_profile_[j];
    const auto at = [&](std::size_t w, std::size_t i, std::size_t e) __attribute__((always_inline)) {
      const std::size_t n = here + i;
      for (std::size_t l = 0; l < 2; ++l) {
        to[l][n] -= wind[l] * (q[l][here + e] - q[l][here + w]) * half_dx +
                    gradient[l] * (psi[l][here + e] - psi[l][here + w]) * half_dx;
      }
      const float laplacian = (psi[1][here + e] - 2 * psi[1][n] + psi[1][here + w]) * dx2 +
                              (psi[1][north + i] - 2 * psi[1][n] + psi[1][south + i]) * dy2;
      to[1][n] -= kDrag * laplacian;
      moist_to[n] -=
          wind[1] * (moist[here + e] - moist[here + w]) * half_dx + (moist[n] - profile) / kMoistTime;
    };
    at(columns_ - 1, 0, 1);
#pragma GCC ivdep  // tendencies are none of the others
    for (std::size_t i = 1; i + 1 < columns_; ++i) at(i - 1, i, i + 1);
    at(columns_ - 2, columns_ - 1, 0);
  }
}

void Flow::add_jacobian(const std::vector<float>& psi, const std::vector<float>& carried,
                        std::vector<float>& out) const {
  const float scale = 1 / (12 * dx_ * dy_);
  for (std::size_t j = 0; j < rows_; ++j) {
    const std::size_t up = (j + 1 == rows_ ? 0 : j + 1) * columns_;
    const std::size_t down = (j == 0 ? rows_ - 1 : j - 1) * columns_;
    const float* const p0 = psi.data() + j * columns_;
    const float* const pn = psi.data() + up;
    const float* const ps = psi.data() + down;
    const float* const q0 = carried.data() + j * columns_;
    const float* const qn = carried.data() + up;
    const float* const qs = carried.data() + down;
    float* const to = out.data() + j * columns_;
    const auto at = [&](std::size_t w, std::size_t i, std::size_t e) __attribute__((always_inline)) {
      const float plain = (p0[e] - p0[w]) * (qn[i] - qs[i]) - (pn[i] - ps[i]) * (q0[e] - q0[w]);
      const float by_psi = p0[e] * (qn[e] - qs[e]) - p0[w] * (qn[w] - qs[w]) - pn[i] * (qn[e] - qn[w]) +
                           ps[i] * (qs[e] - qs[w]);
      const float by_q = qn[i] * (pn[e] - pn[w]) - qs[i] * (ps[e] - ps[w]) - q0[e] * (pn[e] - ps[e]) +
                         q0[w] * (pn[w] - ps[w]);
      to[i] = -(plain + by_psi + by_q) * scale;  // minus: it stands on the other side of dq/dt
    };
    at(columns_ - 1, 0, 1);
#pragma GCC ivdep  // `out` is none of the others
    for (std::size_t i = 1; i + 1 < columns_; ++i) at(i - 1, i, i + 1);
    at(columns_ - 2, columns_ - 1, 0);
  }
}

void Flow::invert() {
  for (std::size_t n = 0; n < grid_.size(); ++n) grid_[n] = {layers_[0].q[n], layers_[1].q[n]};
  fourier_.forward(grid_, spectrum_);
  for (std::size_t j = 0; j < rows_; ++j) {
    const std::size_t mirrored_row = (rows_ - j) % rows_ * columns_;
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::size_t n = j * columns_ + i;
      const Complex z = spectrum_[n];
      const Complex mirrored = spectrum_[mirrored_row + (columns_ - i) % columns_];
      // With Z = Q1 + i Q2 of real fields, i conj(Z(-k)) = Q2 + i Q1: the layers change places.
      const Complex swapped(mirrored.imag(), mirrored.real());
      scratch_[n] = Complex(own_weight_[n] * z.real() + other_weight_[n] * swapped.real(),
                            own_weight_[n] * z.imag() + other_weight_[n] * swapped.imag());
    }
  }
  fourier_.inverse(scratch_, grid_);
  for (std::size_t n = 0; n < grid_.size(); ++n) {
    layers_[0].psi[n] = grid_[n].real();
    layers_[1].psi[n] = grid_[n].imag();
  }
}

void Flow::filter(double time) {
  const auto damp = [&](std::vector<float>& first, std::vector<float>* second) {
    for (std::size_t n = 0; n < grid_.size(); ++n)
      grid_[n] = {first[n], second != nullptr ? (*second)[n] : 0.0F};
    fourier_.forward(grid_, spectrum_);
    const float normal = 1.0F / static_cast<float>(grid_.size());
    for (std::size_t n = 0; n < grid_.size(); ++n) {
      // 1 / (1 + a)^2 instead of exp(-2 a): plain arithmetic rounds alike on every machine.
      const float a = 1 + 0.5F * damping_[n] * static_cast<float>(time);
      spectrum_[n] *= normal / (a * a);
    }
    fourier_.inverse(spectrum_, grid_);
    for (std::size_t n = 0; n < grid_.size(); ++n) {
      first[n] = grid_[n].real();
      if (second != nullptr) (*second)[n] = grid_[n].imag();
    }
  };
  damp(layers_[0].q, &layers_[1].q);
  damp(tracer_.q, nullptr);
}

FlowState Flow::state() const {
  FlowState out{rows_, columns_, {}, tracer_.q};
  out.psi.resize(rows_ * columns_);
  for (std::size_t n = 0; n < out.psi.size(); ++n) out.psi[n] = {layers_[0].psi[n], layers_[1].psi[n]};
  return out;
}

double Flow::energy() const {
  double sum = 0;
  for (const Layer& layer : layers_) {
    for (std::size_t j = 0; j < rows_; ++j) {
      for (std::size_t i = 0; i < columns_; ++i) {
        const float here = layer.psi[j * columns_ + i];
        const float v = (layer.psi[j * columns_ + (i + 1) % columns_] - here) / dx_;
        const float u = (layer.psi[(j + 1) % rows_ * columns_ + i] - here) / dy_;
        sum += static_cast<double>(u * u + v * v);
      }
    }
  }
  return sum / static_cast<double>(2 * rows_ * columns_);
}

}  // namespace isobar
