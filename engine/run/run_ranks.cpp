// The part of Run that knows of other ranks: how they are joined, whether weights are still equal.
#include <ATen/TensorOperators.h>
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
  const at::Tensor first = parameters.values().clone();
  comm_.broadcast(first, 0, "weights").wait();
  const double apart = (first - parameters.values()).abs().max().item<double>();
  const std::vector<double> all = comm_.all_gather_numbers(apart, "distance of the weights");
  stream_->write(JsonLine("note").add("text", "replicas").add("step", steps_done_).add("apart", apart));
  console_.line(fmt::format("  replicas  step {}: weights are up to {:.4g} away from those of rank 0",
                            steps_done_, *std::max_element(all.begin(), all.end())));
}

void Run::check_replicas(const Parameters& parameters) {
  if (comm_.size() == 1 || measures()) return;
  const Config& config = loaded_.config;
  if (steps_done_ == first_step_) comm_.check_same("parameters", parameter_lines(parameters));
  const std::int64_t every = config.comm.hash_every;
  const bool at_end = steps_done_ >= config.train.steps;
  // Replicas that are to drift apart, for a learner to see, are no reason to stop.
  const bool drifts = config.comm.sync == "none" || has_fault(Fault::no_broadcast);
  if (every > 0 && !drifts && steps_done_ > first_step_ && (steps_done_ % every == 0 || at_end)) {
    compare_replicas(
        comm_, parameters.values(), [&] { return named_values(parameters); },
        fmt::format("step {}", steps_done_));
  }
  if (drifts && (is_due(steps_done_) || at_end)) tell_apart(parameters);
  const FaultSetting& fault = fault_setting();
  if (fault.fault == Fault::flip_bit && steps_done_ == fault.step && comm_.rank() == fault.rank) {
    constexpr int kBit = 12;  // of the mantissa: no loss shows it
    flip_bit(parameters.values(), parameters.all().back().flat_begin, kBit);
  }
}

}  // namespace isobar
