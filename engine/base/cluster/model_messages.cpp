#include "cluster/model_messages.h"

#include "core/token_shares.h"

namespace isobar {
namespace {

using Kind = CollectiveKind;

/// A block's, of buffers whose bytes these are.
struct BlockBuffers {
  double all = 0, own = 0, window = 0;  ///< K and V of all tokens, of a rank's, of two windows
};

/// One message for both neighbours: the ranks at the ends have one and send half, and wait for the others.
std::vector<AxisMessage> window_messages(const BlockBuffers& values, const BlockBuffers& gradients) {
  return {{"cp", Kind::send, values.window, 1, 0, 0}, {"cp", Kind::send, gradients.window, 0, 1, 0}};
}

std::vector<AxisMessage> block_messages(const ContextParallelForm& form, const BlockBuffers& values,
                                        const BlockBuffers& gradients) {
  const auto others = static_cast<double>(form.cp - 1);
  switch (form.way) {
    case ContextForm::gather:
      return {{"cp", Kind::all_gather, values.all, 1, 0, 0},
              {"cp", Kind::reduce_scatter, gradients.all, 0, 1, 0}};
    case ContextForm::gather_again:
      return {{"cp", Kind::all_gather, values.all, 1, 1, 0},
              {"cp", Kind::reduce_scatter, gradients.all, 0, 1, 0}};
    case ContextForm::ring:
      return {{"cp", Kind::send, values.own, others, others, 0},
              {"cp", Kind::send, gradients.own, 0, others, 0}};
    case ContextForm::a2a:
      break;
  }
  // q, k, v and the output: twice what K and V are.
  return {{"cp", Kind::all_to_all, 1.5 * values.own, 1, 0, 0},
          {"cp", Kind::all_to_all, 0.5 * values.own, 1, 0, 0},
          {"cp", Kind::all_to_all, 0.5 * gradients.own, 0, 1, 0},
          {"cp", Kind::all_to_all, 1.5 * gradients.own, 0, 1, 0}};
}

}  // namespace

std::vector<AxisMessage> context_messages(const VitShape& shape, const ContextParallelForm& form,
                                          double passes_a_step) {
  if (form.cp == 1) return {};
  const std::int64_t largest = largest_share(shape.tokens(), form.cp);
  const auto bytes = [&](std::int64_t tokens, double value_bytes) {
    return static_cast<double>(form.samples * tokens * shape.embed) * value_bytes;
  };
  const auto buffers = [&](std::int64_t value_bytes) {
    const double both = 2 * static_cast<double>(value_bytes) / static_cast<double>(form.tp);
    return BlockBuffers{bytes(form.cp * largest, both), bytes(largest, both), bytes(2 * shape.window, both)};
  };
  const BlockBuffers values = buffers(form.value_bytes), gradients = buffers(form.gradient_bytes);
  std::vector<AxisMessage> out =
      shape.window > 0 ? window_messages(values, gradients) : block_messages(form, values, gradients);
  const double often = static_cast<double>(form.passes) / passes_a_step;
  for (AxisMessage& message : out) {
    if (form.again) message.backward += message.forward;
    message.forward *= often * static_cast<double>(shape.depth);
    message.backward *= often * static_cast<double>(shape.depth);
  }
  out.push_back(
      {"cp", Kind::all_gather, bytes(form.cp * largest, static_cast<double>(form.value_bytes)), often, 0, 0});
  out.push_back({"cp", Kind::all_gather, bytes(form.cp * largest, 4), 0, often, 0});
  out.push_back(
      {"cp", Kind::all_reduce, 4 * static_cast<double>(context_step(shape, form, 0).summed_values), 0, 0, 1});
  return out;
}

std::vector<AxisMessage> tensor_messages(const VitShape& shape, const TensorParallelForm& form,
                                         double passes_a_step) {
  if (form.tp == 1) return {};
  const double values = form.values(shape) / passes_a_step;
  const auto often = static_cast<double>(2 * shape.depth);
  return {{"tp", Kind::all_reduce, values * static_cast<double>(form.value_bytes), often, 0, 0},
          {"tp", Kind::all_reduce, values * static_cast<double>(form.gradient_bytes), 0, often, 0}};
}

std::vector<AxisMessage> ensemble_messages(const Config& config) {
  const EnsembleTraffic traffic = ensemble_traffic(config);
  if (traffic.gathers == 0) return {};
  const double often = static_cast<double>(traffic.gathers) / static_cast<double>(config.train.accumulate);
  return {{"ens", Kind::all_gather, traffic.forecasts_bytes, often, 0, 0}};
}

}  // namespace isobar
