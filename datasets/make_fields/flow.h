#pragma once
// A small atmosphere: two layers of quasi-geostrophic flow on a doubly periodic beta plane, with a moisture
// tracer. Source: the two-layer (Phillips) model, Vallis, Atmospheric and Oceanic Fluid Dynamics, 2nd ed.,
// sections 5.6 and 9.5.
//   q1 = lap psi1 + F (psi2 - psi1),  q2 = lap psi2 + F (psi1 - psi2)
//   dq1/dt + J(psi1, q1) + U1 dq1/dx + (beta + F (U1 - U2)) dpsi1/dx = 0
//   dq2/dt + J(psi2, q2) + U2 dq2/dx + (beta - F (U1 - U2)) dpsi2/dx = -r lap psi2
//   dm/dt  + J(psi2, m)  + U2 dm/dx = (M(y) - m) / tau
// u = -dpsi/dy, v = dpsi/dx, x eastward, y northward. Domain 4 pi x 2 pi. Shear U1 - U2 feeds the eddies
// (baroclinic instability), drag r takes their energy. Advection is Arakawa's Jacobian (1966), which creates
// neither energy nor enstrophy; time stepping is Adams-Bashforth of third order.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "make_fields/spectral.h"

namespace isobar {

/// The state on a grid: two packed fields and one, all [rows, columns], row 0 in the south.
struct FlowState {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<Complex> psi;   ///< psi1 + i psi2
  std::vector<float> tracer;  ///< moisture, dimensionless
};

class Flow {
 public:
  /// Starts from faint noise drawn from `seed`. The flow needs about kSpinUpTime before its eddies are full
  /// grown.
  Flow(std::size_t rows, std::size_t columns, std::uint64_t seed);

  /// Moves on by `time` (dimensionless), in equal steps that the grid can bear.
  void advance(double time);

  FlowState state() const;

  /// Mean square velocity of both layers.
  double energy() const;

  static constexpr double kSpinUpTime = 30;
  static constexpr double kRecordTime = 0.18;  ///< between two records, the data set's 6 hours
  static constexpr double kLengthX = 12.566370614359172;
  static constexpr double kLengthY = 6.283185307179586;

 private:
  struct Layer {
    std::vector<float> q;
    std::vector<float> psi;
    std::array<std::vector<float>, 3> tendency;  ///< tendencies of the last three steps
  };

  void step(float dt);
  void invert();
  void filter(double time);
  void add_jacobian(const std::vector<float>& psi, const std::vector<float>& carried,
                    std::vector<float>& out) const;
  void tendencies();

  std::size_t rows_;
  std::size_t columns_;
  float dx_;
  float dy_;
  Fourier fourier_;
  std::array<Layer, 2> layers_;
  Layer tracer_;                     ///< q is the tracer, psi unused
  std::vector<float> own_weight_;    ///< psi_k from the q of the same layer, in wave number space
  std::vector<float> other_weight_;  ///< psi_k from the q of the other layer
  std::vector<float> moist_profile_;
  std::vector<float> damping_;  ///< rate of the small-scale filter per time
  std::vector<Complex> grid_;
  std::vector<Complex> spectrum_;
  std::vector<Complex> scratch_;
  std::int64_t steps_ = 0;
};

}  // namespace isobar
