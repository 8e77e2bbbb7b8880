#include "train/replicas.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace isobar {
namespace {

/// All that is averaged over samples, in one order.
std::vector<double*> scores_of(Evaluation& one) {
  std::vector<double*> out = {&one.loss};
  for (ChannelScores& channel : one.channels) {
    for (double* const score : {&channel.rmse, &channel.persistence_rmse, &channel.climatology_rmse,
                                &channel.acc, &channel.crps, &channel.spread})
      out.push_back(score);
  }
  for (LeadScores& lead : one.later) {
    out.push_back(&lead.rmse);
    out.push_back(&lead.persistence_rmse);
  }
  return out;
}

/// All that is reduced, in one order: samples, then sums over samples.
std::vector<double> as_sums(Evaluation& one) {
  const auto samples = static_cast<double>(one.samples);
  std::vector<double> out = {one.complete ? 1.0 : 0.0, samples};
  for (const double* const score : scores_of(one)) out.push_back(*score * samples);
  return out;
}

std::string as_bytes(const std::vector<double>& numbers) {
  std::string out(numbers.size() * sizeof(double), '\0');
  std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}

std::vector<double> as_numbers(const std::string& bytes) {
  std::vector<double> out(bytes.size() / sizeof(double));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(double));
  return out;
}

}  // namespace

void broadcast_weights(Parameters& parameters, Comm& comm) {
  const SharedLayout& layout = parameters.shared_layout();
  // Where no rank has all of them in float32, each has what nobody else has.
  if (layout.masters) {
    layout.sharer->own_values_changed();
  } else if (layout.whole_values) {
    comm.broadcast(parameters.values(), 0, "weights").wait();
  }
  broadcast_buffers(parameters, comm);
}

void broadcast_buffers(const Parameters& parameters, Comm& comm) {
  if (parameters.buffers().empty() || comm.size() == 1) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> flat;
  for (const Buffer& buffer : parameters.buffers()) flat.push_back(buffer.tensor.view(-1));
  const at::Tensor message = at::concat(flat);
  comm.broadcast(message, 0, "buffers").wait();
  std::int64_t begin = 0;
  for (at::Tensor& buffer : flat) {
    buffer.copy_(message.narrow(0, begin, buffer.numel()));
    begin += buffer.numel();
  }
}

Evaluation mean_over_ranks(Evaluation mine, Comm& comm) {
  if (comm.size() == 1) return mine;
  std::vector<double> sums;
  bool complete = true;
  for (const std::string& bytes : comm.all_gather_text(as_bytes(as_sums(mine)), "scores")) {
    const std::vector<double> theirs = as_numbers(bytes);
    complete = complete && theirs.front() != 0;
    sums.resize(std::max(sums.size(), theirs.size()));
    for (std::size_t i = 0; i < theirs.size(); ++i) sums[i] += theirs[i];
  }
  if (!complete) return {};
  const double samples = sums[1];
  mine.samples = std::llround(samples);
  const double* next = sums.data() + 2;
  for (double* const score : scores_of(mine)) *score = *next++ / samples;
  return mine;
}

}  // namespace isobar
