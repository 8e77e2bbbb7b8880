#include "make_fields/channels.h"

#include <cmath>

namespace isobar {

const std::array<ChannelInfo, 20> kChannels = {
    {{"u10m", "m s-1"}, {"v10m", "m s-1"},  {"t2m", "K"},       {"sp", "Pa"},        {"msl", "Pa"},
     {"t850", "K"},     {"u1000", "m s-1"}, {"v1000", "m s-1"}, {"z1000", "m2 s-2"}, {"u850", "m s-1"},
     {"v850", "m s-1"}, {"z850", "m2 s-2"}, {"u500", "m s-1"},  {"v500", "m s-1"},   {"z500", "m2 s-2"},
     {"t500", "K"},     {"z50", "m2 s-2"},  {"r500", "%"},      {"r850", "%"},       {"tcwv", "kg m-2"}}};

namespace {

constexpr float kWind = 5.0F;             // m/s of one unit of velocity
constexpr float kGeopotential = 1600.0F;  // m2/s2 of one unit of psi: f0 (1e-4 /s) x length (3.2e6 m) x kWind
constexpr float kThickness = 5.3F;        // K of one unit of psi1 - psi2: kGeopotential / (287 x ln(850/300))

/// One pressure level as a mix of the layers, with the mean state of its latitude.
struct Level {
  float upper;         // share of layer 1, the rest is layer 2
  float jet;           // m/s of the westerlies where sin^2 of the latitude is 1/2
  float geopotential;  // m2/s2 at the equator
  float fall;          // m2/s2 from the equator to the poles
};
constexpr Level k1000 = {0.00F, 2.0F, 1100, 700};
constexpr Level k850 = {0.15F, 4.0F, 14900, 1700};
constexpr Level k500 = {0.60F, 8.0F, 57300, 3600};
constexpr Level k50 = {0.90F, 6.0F, 202000, 3200};

/// From 0 to 1, like a logistic function, in plain arithmetic that rounds alike on every machine.
float squash(float x) { return 0.5F + 0.5F * x / std::sqrt(1 + x * x); }

/// psi with its derivatives at one point.
struct Point {
  float psi, u, v, vorticity;
};

Point mix(const Point& upper, const Point& lower, float share) {
  const float rest = 1 - share;
  return {share * upper.psi + rest * lower.psi, share * upper.u + rest * lower.u,
          share * upper.v + rest * lower.v, share * upper.vorticity + rest * lower.vorticity};
}

/// A smooth hill of unit height; distances in parts of the domain, periodic in x.
double hill(double x, double y, double at_x, double at_y, double half_x, double half_y) {
  double away_x = std::fabs(x - at_x);
  if (away_x > 0.5) away_x = 1 - away_x;
  const double r2 = away_x * away_x / (half_x * half_x) + (y - at_y) * (y - at_y) / (half_y * half_y);
  return r2 < 1 ? (1 - r2) * (1 - r2) * (1 + 2 * r2) : 0;
}

float mean_wind(const Level& level, float sin2) {
  const float cos2 = 1 - sin2;
  return level.jet * (4 * sin2 * cos2) -
         0.35F * level.jet * cos2 * cos2 * cos2;  // westerlies, and trades at the equator
}

/// What one point of the map is made of.
struct Place {
  Point upper, lower;
  Surface ground;
  float sin2;   // squared sine of the latitude
  float moist;  // the tracer
  float sun;    // -1 at midnight to 1 at noon, weaker towards the poles
};

std::array<float, 20> values_at(const Place& place) {
  const auto& [upper, lower, ground, sin2, moist, sun] = place;
  const float thickness = kThickness * (upper.psi - lower.psi);
  std::array<float, 20> value{};
  // Near the ground the wind turns by 20 degrees towards low pressure and is slowed, more so over land
  // and hills.
  const float slow = kWind * (0.9F - 0.3F * ground.land - 0.0001F * ground.height_m);
  value[0] = slow * (0.94F * lower.u - 0.34F * lower.v) + 0.8F * mean_wind(k1000, sin2);
  value[1] = slow * (0.34F * lower.u + 0.94F * lower.v);
  const float warm = 302 - 18 * sin2;
  value[2] = warm + 0.8F * thickness + 1.0F * moist - 0.0065F * ground.height_m +
             ground.land * (2.0F * sun + 3.0F - 8.0F * sin2);
  value[4] = 101'300 + 1.2F * kGeopotential * lower.psi - 500 * sin2;
  value[3] = value[4] *
             (1 - ground.height_m / 8400.0F + 0.5F * ground.height_m * ground.height_m / (8400.0F * 8400.0F));
  value[5] = 290 - 14 * sin2 + 1.1F * thickness + 0.3F * ground.land * sun;
  const std::array<std::pair<const Level*, std::size_t>, 3> levels = {{{&k1000, 6}, {&k850, 9}, {&k500, 12}}};
  for (const auto& [level, first] : levels) {
    const Point at = mix(upper, lower, level->upper);
    value[first] = kWind * at.u + mean_wind(*level, sin2);
    value[first + 1] = kWind * at.v;
    value[first + 2] = level->geopotential - level->fall * sin2 + kGeopotential * at.psi;
  }
  value[15] = 266 - 12 * sin2 + thickness;
  value[16] = k50.geopotential - k50.fall * sin2 + 1.3F * kGeopotential * mix(upper, lower, k50.upper).psi;
  value[17] = 100 * squash(-0.4F + 0.7F * moist + 0.02F * upper.vorticity + 0.08F * upper.v);
  value[18] = 100 * squash(0.3F + 0.9F * moist + 0.025F * lower.vorticity);
  const float wet = squash(0.1F + 0.8F * moist + 0.06F * thickness + 0.05F * lower.v);
  value[19] = 3 + 55 * wet * wet * (1 - 0.2F * ground.height_m / 1200);
  return value;
}

}  // namespace

ChannelMaker::ChannelMaker(std::size_t rows, std::size_t columns)
    : rows_(rows),
      columns_(columns),
      surface_(rows * columns),
      sin2_(rows),
      cos_hour_(columns),
      sin_hour_(columns) {
  const std::vector<float> latitudes = latitudes_deg();
  for (std::size_t j = 0; j < rows; ++j) {
    const double sine = std::sin(static_cast<double>(latitudes[j]) * M_PI / 180);
    sin2_[j] = static_cast<float>(sine * sine);
    const double y = static_cast<double>(j) / static_cast<double>(rows);
    for (std::size_t i = 0; i < columns; ++i) {
      const double x = static_cast<double>(i) / static_cast<double>(columns);
      const double land = hill(x, y, 0.18, 0.30, 0.17, 0.22) + hill(x, y, 0.30, 0.72, 0.10, 0.24) +
                          hill(x, y, 0.66, 0.34, 0.24, 0.26) + hill(x, y, 0.85, 0.76, 0.11, 0.14);
      const double height = 900 * hill(x, y, 0.13, 0.33, 0.07, 0.17) +
                            700 * hill(x, y, 0.28, 0.74, 0.05, 0.18) +
                            1200 * hill(x, y, 0.70, 0.37, 0.11, 0.11) + 60 * land;
      surface_[j * columns + i] = {static_cast<float>(height), static_cast<float>(land > 1 ? 1 : land)};
    }
  }
  for (std::size_t i = 0; i < columns; ++i) {
    const double angle = 2 * M_PI * static_cast<double>(i) / static_cast<double>(columns);
    cos_hour_[i] = static_cast<float>(std::cos(angle));
    sin_hour_[i] = static_cast<float>(std::sin(angle));
  }
}

std::vector<float> ChannelMaker::latitudes_deg() const {
  std::vector<float> out(rows_);
  for (std::size_t j = 0; j < rows_; ++j) {
    out[j] = static_cast<float>(90 - 180 * static_cast<double>(j) / static_cast<double>(rows_ - 1));
  }
  return out;
}

std::vector<float> ChannelMaker::longitudes_deg() const {
  std::vector<float> out(columns_);
  for (std::size_t i = 0; i < columns_; ++i) {
    out[i] = static_cast<float>(360 * static_cast<double>(i) / static_cast<double>(columns_));
  }
  return out;
}

std::vector<float> ChannelMaker::derive(const FlowState& coarse, std::int64_t record) const {
  std::vector<Complex> psi = coarse.psi;
  std::vector<Complex> tracer(coarse.tracer.begin(), coarse.tracer.end());
  if (coarse.rows != rows_ || coarse.columns != columns_) {
    psi = interpolate(psi, coarse.rows, coarse.columns, rows_, columns_);
    tracer = interpolate(tracer, coarse.rows, coarse.columns, rows_, columns_);
  }
  const float dx = static_cast<float>(Flow::kLengthX / static_cast<double>(columns_));
  const float dy = static_cast<float>(Flow::kLengthY / static_cast<double>(rows_));
  const std::size_t pixels = rows_ * columns_;
  std::vector<float> out(kChannels.size() * pixels);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::size_t j = rows_ - 1 - row;  // the flow counts from the south
    const std::size_t north = (j + 1) % rows_ * columns_;
    const std::size_t south = (j + rows_ - 1) % rows_ * columns_;
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::size_t here = j * columns_ + i;
      const std::size_t east = j * columns_ + (i + 1) % columns_;
      const std::size_t west = j * columns_ + (i + columns_ - 1) % columns_;
      const Complex v = (psi[east] - psi[west]) / (2 * dx);
      const Complex u = (psi[south + i] - psi[north + i]) / (2 * dy);
      const Complex vorticity = (psi[east] - 2.0F * psi[here] + psi[west]) / (dx * dx) +
                                (psi[north + i] - 2.0F * psi[here] + psi[south + i]) / (dy * dy);
      const Point upper = {psi[here].real(), u.real(), v.real(), vorticity.real()};
      const Point lower = {psi[here].imag(), u.imag(), v.imag(), vorticity.imag()};
      // Noon moves a quarter of the way round with every record.
      const auto quarter = static_cast<std::size_t>(record & 3);
      const float sun =
          std::array{cos_hour_[i], sin_hour_[i], -cos_hour_[i], -sin_hour_[i]}[quarter] * (1 - sin2_[row]);
      const std::array<float, 20> value =
          values_at({upper, lower, surface_[row * columns_ + i], sin2_[row], tracer[here].real(), sun});
      for (std::size_t c = 0; c < value.size(); ++c) out[c * pixels + row * columns_ + i] = value[c];
    }
  }
  return out;
}

}  // namespace isobar
