#include "context/token_rows.h"

#include <ATen/ops/empty.h>

namespace isobar {

at::Tensor TokenRows::tensor(std::int64_t i) const {
  return rows.view({rows.size(0), tensors, batch, heads, head_size}).select(1, i).permute({1, 2, 0, 3});
}

TokenRows TokenRows::with(const at::Tensor& other) const {
  TokenRows out = *this;
  out.rows = other;
  return out;
}

TokenRows rows_of(const std::vector<at::Tensor>& tensors, at::ScalarType type) {
  const at::Tensor& first = tensors.front();
  const std::int64_t tokens = first.size(2);
  TokenRows out{.rows = {},
                .tensors = static_cast<std::int64_t>(tensors.size()),
                .batch = first.size(0),
                .heads = first.size(1),
                .head_size = first.size(3)};
  out.rows = at::empty({tokens, out.tensors * out.batch * out.heads * out.head_size},
                       first.options().dtype(type).requires_grad(false));
  for (std::int64_t i = 0; i < out.tensors; ++i) out.tensor(i).copy_(tensors[static_cast<std::size_t>(i)]);
  return out;
}

TokenRows rows_of(const std::vector<at::Tensor>& tensors) {
  return rows_of(tensors, tensors.front().scalar_type());
}

}  // namespace isobar
