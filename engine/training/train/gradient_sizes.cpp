#include "train/gradient_sizes.h"

namespace isobar {

GradientHistogram gradient_sizes(const Parameters& parameters) {
  const at::Tensor here = parameters.gradients().cpu();
  const float* const values = here.const_data_ptr<float>();
  GradientHistogram out;
  for (const Parameter& parameter : parameters.all())
    out.add({values + parameter.flat_begin, static_cast<std::size_t>(parameter.tensor.numel())});
  return out;
}

}  // namespace isobar
