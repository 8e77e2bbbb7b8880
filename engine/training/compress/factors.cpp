#include "compress/factors.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "config/fault.h"
#include "core/random.h"

namespace isobar {
namespace {

/// Columns of one factor in double precision, each in one piece of memory.
class Columns {
 public:
  explicit Columns(const at::Tensor& factor)
      : factor_(factor), rows_(factor.size(0)), values_(static_cast<std::size_t>(factor.numel())) {
    visit([this](auto& value, std::int64_t row, std::int64_t column) {
      at(column)[row] = static_cast<double>(value);
    });
  }

  void orthonormalise() {
    for (std::int64_t column = 0; column < factor_.size(1); ++column) {
      // What is left of a column that the others span is rounding.
      double least = 1e-6 * length(at(column));
      project(column);
      for (std::int64_t unit = 0; length(at(column)) <= least && unit < rows_; ++unit) {
        std::fill_n(at(column), rows_, 0.0);
        at(column)[unit] = 1;
        least = 1e-3;
        project(column);
      }
      const double norm = length(at(column));
      for (std::int64_t row = 0; row < rows_ && norm > 0; ++row) at(column)[row] /= norm;
    }
    visit([this](auto& value, std::int64_t row, std::int64_t column) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(at(column)[row]);
    });
  }

 private:
  double* at(std::int64_t column) { return values_.data() + column * rows_; }
  double length(const double* column) const { return std::sqrt(dot(column, column)); }

  double dot(const double* a, const double* b) const {
    double out = 0;
    for (std::int64_t row = 0; row < rows_; ++row) out += a[row] * b[row];
    return out;
  }

  /// Takes off what the columns before it span; twice, since the first time leaves rounding.
  void project(std::int64_t column) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t before = 0; before < column; ++before) {
        const double share = dot(at(before), at(column));
        for (std::int64_t row = 0; row < rows_; ++row) at(column)[row] -= share * at(before)[row];
      }
    }
  }

  template <typename Visit>
  void visit(const Visit& each) {
    if (factor_.scalar_type() == at::kFloat)
      visit_as<float>(each);
    else
      visit_as<double>(each);
  }
  template <typename Value, typename Visit>
  void visit_as(const Visit& each) {
    auto* const data = factor_.mutable_data_ptr<Value>();
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t column = 0; column < factor_.size(1); ++column)
        each(data[row * factor_.stride(0) + column * factor_.stride(1)], row, column);
  }

  at::Tensor factor_;
  std::int64_t rows_;
  std::vector<double> values_;
};

}  // namespace

void orthonormalise(const at::Tensor& factor) {
  if (has_fault(Fault::no_orth)) return;
  if (factor.is_cpu())
    Columns(factor).orthonormalise();
  else
    factor.copy_(std::get<0>(at::linalg_qr(factor)));
}

at::Tensor random_factor(std::int64_t columns, std::int64_t rank, std::int64_t seed, const std::string& name,
                         std::int64_t turn, const at::Tensor& like) {
  const std::uint64_t key = stream_key(static_cast<std::uint64_t>(seed), fmt::format("{} {}", name, turn));
  return at::randn({columns, rank}, at::make_generator<at::CPUGeneratorImpl>(key), at::kFloat)
      .to(like.device());
}

void alternate_round(const FactorRound& round) {
  orthonormalise(round.kept);
  at::Tensor sent = round.sent;
  at::mm_out(sent, round.matrix, round.kept);
  round.matrix.addmm_(sent, round.kept.t(), 1, -1);
}

}  // namespace isobar
