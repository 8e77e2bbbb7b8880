// The part of Run that knows of other ranks: how they are joined, whether weights are still equal.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/max.h>
#include <fmt/format.h>

#include <algorithm>

#include "comm/link_probe.h"
#include "comm/replica_hash.h"
#include "core/fault.h"
#include "core/text.h"
#include "run/run.h"

namespace isobar {
namespace {

std::vector<NamedValues> named_values(const Parameters& parameters) {
  std::vector<NamedValues> out;
  for (const Parameter& parameter : parameters.all())
    out.push_back(
        {parameter.name, parameters.values().narrow(0, parameter.flat_begin, parameter.tensor.numel())});
  return out;
}

/// Of those that every rank of a model has whole.
std::vector<NamedValues> whole_values(const Parameters& parameters) {
  std::vector<NamedValues> out;
  for (const Parameter& parameter : parameters.all()) {
    if (parameter.shard.count == 1) out.push_back({parameter.name, parameter.tensor.detach().view(-1)});
  }
  return out;
}

at::Tensor flat(const std::vector<NamedValues>& named) {
  std::vector<at::Tensor> values;
  for (const NamedValues& one : named) values.push_back(one.values);
  return at::cat(values);
}

/// Names and shapes in their order, a line each.
std::string parameter_lines(const Parameters& parameters) {
  std::string out;
  for (const Parameter& parameter : parameters.all()) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : parameter.tensor.sizes()) sizes.push_back(std::to_string(size));
    out += fmt::format("{} [{}]\n", parameter.name, join(sizes, ", "));
  }
  return out;
}

}  // namespace

void Run::announce_ranks() {
  if (comm_.size() == 1) return;
  const MeshConfig& mesh = loaded_.config.mesh;
  if (mesh.tp > 1) {
    console_.line(fmt::format("  mesh    {} model{} of {} ranks each: tp {} x dp {}, order {}",
                              replica_count(), replica_count() == 1 ? "" : "s", mesh.tp, mesh.tp,
                              replica_count(), mesh.order));
  }
  if (!comm_.note().empty()) console_.line("  ranks   " + comm_.note());
  if (!loaded_.config.comm.probe) return;
  const LinkProbe probe = probe_link(comm_, device_);
  console_.line("  comm    " + probe_text(probe, comm_));
  stream_->write(JsonLine("note")
                     .add("text", "probe")
                     .add("backend", comm_.backend())
                     .add("latency_us", probe.latency_us)
                     .add("bytes", probe.bytes)
                     .add("algbw_gb_per_s", probe.algbw_gb_per_s)
                     .add("busbw_gb_per_s", probe.busbw_gb_per_s));
}

void Run::tell_apart(const Parameters& parameters) {
  // Mistakes in split layers show in what the ranks of one model have whole, all others between models.
  const bool within = is_of_split_layers(fault_setting().fault);
  const at::Tensor own = within ? flat(whole_values(parameters)) : parameters.values();
  const at::Tensor first = own.clone();
  group(within ? "tp" : "dp").broadcast(first, 0, "weights").wait();
  const double apart = (first - own).abs().max().item<double>();
  const std::vector<double> all = comm_.all_gather_numbers(apart, "distance of the weights");
  stream_->write(JsonLine("note").add("text", "replicas").add("step", steps_done_).add("apart", apart));
  console_.line(fmt::format("  replicas  step {}: {} are up to {:.4g} away from those of {}", steps_done_,
                            within ? "weights that ranks of a model have whole" : "weights",
                            *std::max_element(all.begin(), all.end()), within ? "its first rank" : "rank 0"));
}

void Run::compare_whole_parameters(const Parameters& parameters) {
  if (model_ranks_.size() == 1) return;
  const std::vector<NamedValues> whole = whole_values(parameters);
  compare_replicas(
      model_ranks_, flat(whole), [&] { return whole; },
      fmt::format("step {}, of what every rank of a model has whole", steps_done_));
}

void Run::check_replicas(const Parameters& parameters) {
  if (comm_.size() == 1 || measures()) return;
  const Config& config = loaded_.config;
  if (steps_done_ == first_step_) comm_.check_same("parameters", parameter_lines(parameters));
  const std::int64_t every = config.comm.hash_every;
  const bool at_end = steps_done_ >= config.train.steps;
  // Replicas that are to drift apart, for a learner to see, are no reason to stop.
  const bool drifts = config.comm.sync == "none" || has_fault(Fault::no_broadcast) ||
                      is_of_split_layers(fault_setting().fault);
  if (every > 0 && !drifts && steps_done_ > first_step_ && (steps_done_ % every == 0 || at_end)) {
    compare_replicas(
        group("dp"), parameters.values(), [&] { return named_values(parameters); },
        fmt::format("step {}", steps_done_));
    compare_whole_parameters(parameters);
  }
  if (drifts && (is_due(steps_done_) || at_end)) tell_apart(parameters);
  const FaultSetting& fault = fault_setting();
  if (fault.fault == Fault::flip_bit && steps_done_ == fault.step && comm_.rank() == fault.rank) {
    constexpr int kBit = 12;  // of the mantissa: no loss shows it
    flip_bit(parameters.values(), parameters.all().back().flat_begin, kBit);
  }
}

}  // namespace isobar
