#include "run/replica_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/max.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "comm/replica_hash.h"
#include "core/text.h"

namespace isobar {
namespace {

/// What this rank keeps of each.
std::vector<NamedValues> named_values(const Parameters& parameters) {
  const bool has_all = parameters.shared_layout().whole_values;
  std::vector<NamedValues> out;
  for (const Parameter& parameter : parameters.all())
    out.push_back({parameter.name,
                   has_all ? parameters.values().narrow(0, parameter.flat_begin, parameter.tensor.numel())
                           : parameters.own_values(parameter)});
  return out;
}

at::Tensor flat_values(const Parameters& parameters) {
  return parameters.shared_layout().whole_values
             ? parameters.values()
             : parameters.own().front().values.to(parameters.options().device());
}

/// Values that every rank of a model has whole; where replicas share weights out, ranks of a model own the
/// same part of them.
std::vector<NamedValues> whole_values(const Parameters& parameters) {
  std::vector<NamedValues> out;
  const std::vector<NamedValues> all = named_values(parameters);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (parameters.all()[i].shard.count == 1) out.push_back(all[i]);
  }
  return out;
}

/// Buffers that change in training.
std::vector<NamedValues> buffer_values(const Parameters& parameters) {
  std::vector<NamedValues> out;
  for (const Buffer& buffer : parameters.buffers()) {
    if (buffer.saved) out.push_back({buffer.name, buffer.tensor.view(-1)});
  }
  return out;
}

at::Tensor flat(const std::vector<NamedValues>& named) {
  std::vector<at::Tensor> values;
  for (const NamedValues& one : named) values.push_back(one.values);
  return at::concat(values);
}

/// Names and shapes in their order, a line each.
std::string parameter_lines(const Parameters& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters.all()) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : parameter.tensor.sizes()) sizes.push_back(std::to_string(size));
    out += fmt::format("{} [{}]\n", parameter.name, joined(sizes));
  }
  return out;
}

}  // namespace

ReplicaCheck::ReplicaCheck(const Parameters& parameters, RankGroups& groups, const Progress& progress,
                           const CommConfig& config, const FaultSetting& fault, RunOutput& output)
    : parameters_(parameters),
      groups_(groups),
      progress_(progress),
      every_(config.hash_every),
      drifts_(config.sync == SyncKind::none || config.average == Averaged::weights || fault.drifts()),
      drifts_within_(is_of_split_layers(fault.fault)),
      has_buffers_(!buffer_values(parameters).empty()),
      shares_buffers_(config.broadcast_buffers),
      output_(output) {
  if (groups_.world().size() == 1 || progress_.measures) return;
  if (groups_.along("pp").size() == 1) {
    groups_.world().check_same("parameters", parameter_lines(parameters_));
  } else {  // each stage has its own
    groups_.along("dp-cp").check_same("parameters", parameter_lines(parameters_));
    groups_.model().check_same("parameters", parameter_lines(parameters_));
  }
  if (drifts_ && progress_.report_due(progress_.steps_done)) tell_apart();
  look_at_buffers();
}

void ReplicaCheck::compare_when_due() {
  if (groups_.world().size() == 1 || progress_.measures) return;
  const std::int64_t done = progress_.steps_done;
  if (drifts_) {
    if (progress_.report_due(done) || progress_.all_done()) tell_apart();
  } else if (every_ > 0 && (done % every_ == 0 || progress_.all_done())) {
    compare();
  }
  look_at_buffers();
}

void ReplicaCheck::look_at_buffers() {
  if (!has_buffers_) return;
  const std::int64_t done = progress_.steps_done;
  if (!shares_buffers_) {
    if (progress_.report_due(done) || progress_.all_done()) tell_buffers_apart();
  } else if (progress_.scored_step == done) {
    const std::vector<NamedValues> buffers = buffer_values(parameters_);
    compare_replicas(
        groups_.along("dp-cp"), flat(buffers), [&] { return buffers; },
        fmt::format("step {}, of buffers", done));
    tell_buffers_apart();
  }
}

void ReplicaCheck::tell_buffers_apart() {
  tell("buffers", flat(buffer_values(parameters_)), groups_.along("dp-cp"), "running means and variances",
       "rank 0");
}

Comm* ReplicaCheck::holders() const {
  const SharedLayout& layout = parameters_.shared_layout();
  return layout.whole_values ? &groups_.along("dp-cp") : layout.sharer->copies();
}

void ReplicaCheck::compare() {
  const std::string when = fmt::format("step {}", progress_.steps_done);
  if (Comm* const same = holders(); same != nullptr)
    compare_replicas(
        *same, flat_values(parameters_), [&] { return named_values(parameters_); }, when);
  if (groups_.model().size() == 1) return;
  const std::vector<NamedValues> whole = whole_values(parameters_);
  compare_replicas(
      groups_.model(), flat(whole), [&] { return whole; },
      when + ", of what every rank of a model has whole");
}

void ReplicaCheck::tell_apart() {
  // Mistakes in split layers show in what the ranks of one model have whole, all others between ranks that
  // hold the same.
  Comm* const group = drifts_within_ ? &groups_.model() : holders();
  if (group == nullptr) return;
  const at::Tensor own = drifts_within_ ? flat(whole_values(parameters_)) : flat_values(parameters_);
  tell("replicas", own, *group, drifts_within_ ? "weights that ranks of a model have whole" : "weights",
       drifts_within_ ? "its first rank" : "rank 0");
}

void ReplicaCheck::tell(const char* note, const at::Tensor& own, Comm& group, const char* what,
                        const char* whose) {
  const at::Tensor first = own.clone();
  group.broadcast(first, 0, note).wait();
  const double apart = (first - own).abs().max().item<double>();
  const std::vector<double> all = groups_.world().all_gather_numbers(apart, note);
  output_.write(JsonLine("note").add("text", note).add("step", progress_.steps_done).add("apart", apart));
  output_.console().line(fmt::format("  {:<9} step {}: {} are up to {:.4g} away from those of {}", note,
                                     progress_.steps_done, what, *std::max_element(all.begin(), all.end()),
                                     whose));
}

}  // namespace isobar
