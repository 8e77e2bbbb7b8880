// Muon against the formula, worked out in double precision by plain loops.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linalg_svdvals.h>

#include <cmath>
#include <limits>
#include <map>

#include "device/cpu_allocator.h"
#include "device/memory_ledger.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/small_vit.h"
#include "support/tolerances.h"
#include "train/host_adam.h"
#include "train/make_optimizer.h"
#include "train/muon.h"

namespace isobar::test_muon {

namespace {

/// A small matrix of doubles.
struct Matrix {
  Matrix(std::int64_t n, std::int64_t m) : rows(n), columns(m), values(static_cast<std::size_t>(n * m)) {}
  explicit Matrix(const at::Tensor& from) : Matrix(from.size(0), from.size(1)) {
    const at::Tensor doubles = from.to(at::kDouble).contiguous();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = doubles.const_data_ptr<double>()[i];
  }
  double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  double at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }

  std::int64_t rows, columns;
  std::vector<double> values;
};

Matrix transposed(const Matrix& m) {
  Matrix out(m.columns, m.rows);
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.columns; ++j) out.at(j, i) = m.at(i, j);
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.columns; ++j)
      for (std::int64_t k = 0; k < a.columns; ++k) out.at(i, j) += a.at(i, k) * b.at(k, j);
  return out;
}

/// a X + b (X X^T) X + c (X X^T)^2 X, five times, from X = M / |M|.
Matrix by_formula(const Matrix& m) {
  double squares = 0;
  for (const double value : m.values) squares += value * value;
  Matrix x = m;
  for (double& value : x.values) value /= std::sqrt(squares);
  for (int step = 0; step < 5; ++step) {
    const Matrix once = product(product(x, transposed(x)), x);
    const Matrix twice = product(product(x, transposed(x)), once);
    for (std::size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = 3.4445 * x.values[i] - 4.7750 * once.values[i] + 2.0315 * twice.values[i];
  }
  return x;
}

double apart(const at::Tensor& ours, const Matrix& expected) {
  double out = 0;
  const Matrix mine(ours);
  for (std::size_t i = 0; i < mine.values.size(); ++i)
    out = std::max(out, std::fabs(mine.values[i] - expected.values[i]));
  return out;
}

bool is_matrix(const Parameter& parameter) {
  return parameter.name.starts_with("blocks.") && parameter.tensor.dim() == 2;
}

void draw_gradients(Parameters& parameters, std::uint64_t seed, double times = 1) {
  at::manual_seed(seed);
  for (const Parameter& parameter : parameters.all())
    parameter.tensor.grad().copy_(at::randn(parameter.tensor.sizes()).mul_(0.01)).mul_(times);
}

/// Matrices of a model and their momentum, moved by the formula.
struct Reference {
  explicit Reference(const Parameters& parameters) {
    for (const Parameter& parameter : parameters.all()) {
      if (!is_matrix(parameter)) continue;
      weights.emplace(parameter.name, Matrix(parameter.tensor.detach()));
      momenta.emplace(parameter.name, Matrix(parameter.tensor.size(0), parameter.tensor.size(1)));
    }
  }
  void step(const Parameters& parameters, double lr, double times) {
    for (const Parameter& parameter : parameters.all()) {
      if (!is_matrix(parameter)) continue;
      const Matrix gradient(parameter.tensor.grad());
      Matrix& momentum = momenta.at(parameter.name);
      Matrix& weight = weights.at(parameter.name);
      Matrix update(weight.rows, weight.columns);
      for (std::size_t i = 0; i < update.values.size(); ++i) {
        const double g = gradient.values[i] * times;
        momentum.values[i] = 0.95 * momentum.values[i] + 0.05 * g;
        update.values[i] = 0.05 * g + 0.95 * momentum.values[i];
      }
      const Matrix direction = by_formula(update);
      const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(weight.rows, weight.columns)));
      for (std::size_t i = 0; i < update.values.size(); ++i)
        weight.values[i] -= lr * scale * direction.values[i];
    }
  }
  std::map<std::string, Matrix> weights, momenta;
};

}  // namespace

TEST_CASE("Newton and Schulz's iteration brings singular values near 1, and is that of the formula") {
  at::manual_seed(5);
  for (const auto& [n, m] : {std::pair{20, 7}, {7, 20}, {9, 9}, {1, 5}}) {
    const at::Tensor matrix = at::randn({n, m}).mul_(3);
    const at::Tensor ours = orthonormalised(matrix);
    CHECK(apart(ours, by_formula(Matrix(matrix))) <= 2e-5);
    if (n == m) continue;  // its smallest one may be too small for five steps
    const at::Tensor singular = at::linalg_svdvals(ours);
    CHECK(singular.min().item<double>() > 0.65);
    CHECK(singular.max().item<double>() < 1.25);
  }
}

TEST_CASE(
    "matrices of blocks move by the formula, all else by Adam, with loss scale and clip_norm as there") {
  for (const AmpMode mode : {AmpMode::none, AmpMode::fp16}) {
    for (const double clip : {0.0, 0.1}) {
      INFO(name_of(mode) << ", clip_norm " << clip);
      PlainModel ours(kOddVit), others(kOddVit);
      const OptimConfig config{.lr = 1e-3, .clip_norm = clip};
      GradScaler scaler({.mode = mode, .init_scale = 1024}, at::kCPU),
          none({.mode = AmpMode::none}, at::kCPU);
      Muon muon(ours.parameters, config, {});
      FusedAdam adam(others.parameters, config, {});
      Reference expected(ours.parameters);
      for (std::uint64_t step = 0; step < 3; ++step) {
        draw_gradients(others.parameters, step);
        draw_gradients(ours.parameters, step, scaler.active() ? scaler.scale_value().item<double>() : 1);
        const double length = others.parameters.gradients().to(at::kDouble).norm().item<double>();
        expected.step(others.parameters, 1e-3, clip > 0 ? std::min(1.0, clip / length) : 1);
        CHECK(muon.step(1e-3, scaler).item<double>() == Approx(length).epsilon(1e-5));
        adam.step(1e-3, none);
      }
      for (const Parameter& parameter : ours.parameters.all()) {
        INFO(parameter.name);
        const at::Tensor other = others.parameters.find(parameter.name).tensor.detach();
        if (is_matrix(parameter)) {
          CHECK(apart(parameter.tensor.detach(), expected.weights.at(parameter.name)) <= 2e-6);
        } else {
          CHECK(difference(parameter.tensor.detach(), other) <= 1e-6 * largest(other) + 1e-8);
        }
      }
      CHECK(muon.steps() == 3);
      CHECK(muon.matrices_worked_out() == 12);  // q, k, v, proj, fc1, fc2 of two blocks
    }
  }
}

TEST_CASE("Muon keeps one moment of a matrix, two of all else, and they come back from a file's tensors") {
  use_fitting_cpu_blocks();  // these are entered in the ledger
  const auto held = [] { return host_ledger().held()[static_cast<std::size_t>(MemoryCategory::moments)]; };
  PlainModel model(kOddVit);
  const std::uint64_t before = held();
  Muon muon(model.parameters, {}, {});
  std::int64_t of_matrices = 0, values = 0;
  for (const NamedTensor& one : muon.moments()) {
    values += one.tensor.numel();
    if (one.name.starts_with("momentum.")) ++of_matrices;
  }
  std::int64_t wanted = 0;
  for (const Parameter& parameter : model.parameters.all())
    wanted += parameter.tensor.numel() * (is_matrix(parameter) ? 1 : 2);
  CHECK(of_matrices == 12);
  CHECK(values == wanted);
  CHECK(held() - before >= sizeof(float) * static_cast<std::uint64_t>(wanted));
}

TEST_CASE("q, k and v are three matrices, joined or not, and whatever the layout") {
  FusionConfig joined = kNoFusion;
  joined.qkv = true;
  FusedModel one(kOddVit, joined), three(kOddVit, kNoFusion);
  GradScaler scaler({.mode = AmpMode::none}, at::kCPU);
  Muon first(one.parameters, {}, {}), second(three.parameters, {}, {});
  for (std::uint64_t step = 0; step < 3; ++step) {
    draw_gradients(one.parameters, step);
    draw_gradients(three.parameters, step);
    first.step(1e-3, scaler);
    second.step(1e-3, scaler);
    if (step == 1) {
      std::vector<std::size_t> order;
      for (std::size_t i = one.parameters.leaves().size(); i-- > 0;) order.push_back(i);
      one.parameters.lay_out_again(order);
    }
  }
  for (const Parameter& parameter : one.parameters.all()) {
    INFO(parameter.name);
    CHECK(at::equal(parameter.tensor.detach(), three.parameters.find(parameter.name).tensor.detach()));
  }
}

TEST_CASE("a gradient that is not finite moves no matrix and no momentum") {
  for (const AmpMode mode : {AmpMode::none, AmpMode::fp16}) {
    PlainModel model(kOddVit);
    GradScaler scaler({.mode = mode, .init_scale = 1024}, at::kCPU);
    Muon muon(model.parameters, {}, {});
    draw_gradients(model.parameters, 1);
    muon.step(1e-3, scaler);
    const at::Tensor weights = model.parameters.values().clone();
    std::vector<at::Tensor> moments;
    for (const NamedTensor& one : muon.moments()) moments.push_back(one.tensor.clone());
    draw_gradients(model.parameters, 2);
    model.parameters.find("blocks.1.mlp.fc1.weight")
        .tensor.grad()
        .view(-1)[3]
        .fill_(std::numeric_limits<float>::quiet_NaN());
    CHECK_FALSE(std::isfinite(muon.step(1e-3, scaler).item<double>()));
    CHECK(at::equal(model.parameters.values(), weights));
    const std::vector<NamedTensor> after = muon.moments();
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(at::equal(after[i].tensor, moments[i]));
    CHECK(muon.steps() == 1);
  }
}

TEST_CASE("the optimiser is the one that optim.name names") {
  PlainModel model(kOddVit);
  Config config;
  CHECK(dynamic_cast<Muon*>(make_optimizer(model.parameters, config).get()) == nullptr);
  config.optim.name = OptimizerKind::muon;
  CHECK(dynamic_cast<Muon*>(make_optimizer(model.parameters, config).get()) != nullptr);
}

TEST_CASE("states in host memory are updated by our own kernel alone") {
  PlainModel model(kOddVit);
  Config config;
  config.mesh.offload = OffloadKind::optimizer;
  config.fusion.adam = false;
  CHECK_THAT(error_of([&] { make_optimizer(model.parameters, config); }), says("updated by our own kernel"));
}

}  // namespace isobar::test_muon
