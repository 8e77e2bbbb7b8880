#include "train/gradient_sizes.h"

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "comm/comm.h"

namespace isobar {
namespace {

/// The sizes that all ranks of the group have in their shares.
GradientHistogram summed(const GradientHistogram& mine, Comm& group) {
  std::string text = fmt::format("{} {}", mine.zero, mine.nonfinite);
  for (const std::int64_t count : mine.counts) text += fmt::format(" {}", count);
  GradientHistogram out;
  for (const std::string& theirs : group.all_gather_text(text, "gradient sizes")) {
    std::istringstream in(theirs);
    const auto add_next = [&](std::int64_t& sum) {
      std::int64_t count = 0;
      in >> count;
      sum += count;
    };
    add_next(out.zero);
    add_next(out.nonfinite);
    for (std::int64_t& count : out.counts) add_next(count);
  }
  return out;
}

}  // namespace

GradientHistogram gradient_sizes(const Parameters& parameters) {
  GradientHistogram out;
  if (parameters.is_shared_out()) {
    for (const Parameter& parameter : parameters.all()) {
      const at::Tensor own = parameters.own_gradients(parameter).cpu();
      out.add({own.const_data_ptr<float>(), static_cast<std::size_t>(own.numel())});
    }
    return summed(out, parameters.shared_layout().sharer->group());
  }
  const at::Tensor here = parameters.gradients().cpu();  // one copy, whatever the number of parameters
  const float* const values = here.const_data_ptr<float>();
  for (const Parameter& parameter : parameters.all())
    out.add({values + parameter.flat_begin, static_cast<std::size_t>(parameter.tensor.numel())});
  return out;
}

}  // namespace isobar
