#pragma once
// The input of a layer that is made again in backward, from what another operation keeps anyway.
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <utility>

namespace isobar {

/// Several layers that take one input share what makes it again: the first one that asks has it made, and it
/// goes with the last.
class RemadeValue {
 public:
  using Make = std::function<at::Tensor(const at::Tensor& from)>;
  /// `make` holds no activation: those would live as long as the graph. Nothing that it does is recorded.
  RemadeValue(Make make, int takers) : make_(std::move(make)), takers_(takers) {}

  at::Tensor take(const at::Tensor& from) {
    if (!value_.defined()) {
      value_ = make_(from);
      left_ = takers_;
    }
    at::Tensor out = value_;
    if (--left_ == 0) value_.reset();
    return out;
  }

 private:
  Make make_;
  int takers_;
  int left_ = 0;
  at::Tensor value_;
};

struct Remade {
  at::Tensor from;  ///< kept; without a graph behind it
  std::shared_ptr<RemadeValue> value;
};

inline Remade remade(const at::Tensor& from, RemadeValue::Make make, int takers = 1) {
  return {from.detach(), std::make_shared<RemadeValue>(std::move(make), takers)};
}

}  // namespace isobar
