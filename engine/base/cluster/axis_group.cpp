#include "cluster/axis_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

int axis_size(const TrainingJob& job, std::string_view axis) {
  const int dp = models_of(job);
  if (axis == "tp") return job.tensor;
  if (axis == "cp") return job.context;
  if (axis == "pp") return job.stages;
  if (axis == "dp") return dp;
  if (axis == "ens") return job.ensemble;
  return axis == "data" ? dp / job.ensemble : 1;
}

/// The part of a buffer that each of so many ranks sends.
double sent_part(CollectiveKind what, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (what == CollectiveKind::send) return 1;
  return what == CollectiveKind::all_reduce ? 2 * others : others;
}

}  // namespace

int models_of(const TrainingJob& job) {
  const int model = job.stages * job.tensor * job.context;
  if (job.gpus < 1 || job.gpus % model != 0)
    throw Error(fmt::format("{} ranks in models of {}", job.gpus, model), "job.gpus", "whole models");
  if (job.gpus / model % job.ensemble != 0)
    throw Error(fmt::format("{} models in ensembles of {}", job.gpus / model, job.ensemble), "job.ensemble",
                "whole ensembles");
  return job.gpus / model;
}

int axis_stride(const TrainingJob& job, std::string_view axis) {
  const bool inside_dp = axis == "ens" || axis == "data";
  int out = 1;
  for (const std::string& name : split(job.order, '-')) {
    if (name == axis || (inside_dp && name == "dp")) return axis == "data" ? out * job.ensemble : out;
    out *= axis_size(job, name);
  }
  throw Error(fmt::format("{} names no axis {}", printable(job.order, 40), axis), "order", "tp-cp-dp-pp");
}

AxisGroup strided_group(const ClusterMachine& machine, int ranks, int stride) {
  const int here = std::clamp(machine.gpus_per_node / stride, 1, ranks);
  return {.ranks = {.nodes = (ranks + here - 1) / here, .ranks_per_node = here},
          .sharing = std::min(stride, machine.gpus_per_node)};
}

AxisGroup axis_group(const ClusterMachine& machine, const TrainingJob& job, std::string_view axis) {
  const int size = axis_size(job, axis);
  return size == 1 ? AxisGroup() : strided_group(machine, size, axis_stride(job, axis));
}

AxisTimes axis_times(const ClusterMachine& machine, const TrainingJob& job, const LinkTerms& terms) {
  AxisTimes out;
  for (const AxisMessage& message : job.messages) {
    AxisGroup group = axis_group(machine, job, message.axis);
    const double part = sent_part(message.what, group.ranks.ranks());
    if (message.what == CollectiveKind::send)  // to the next one, over a node's end where the group has one
      group.ranks = {group.leaves_node() ? 2 : 1, group.leaves_node() ? 1 : 2};
    const HopTimes hops = hop_times(machine, message.what, group.ranks, terms, group.sharing);
    const double bytes = message.behind > 0 ? message.bytes / job.stages : message.bytes;
    const double us = collective_us(message.what, terms.way, group.ranks, hops, bytes);
    const double each_us = us > 0 ? us + terms.call_us : 0;
    out.forward_us += message.forward * each_us;
    out.backward_us += message.backward * each_us;
    out.behind_us += message.behind * each_us;
    out.pass_bytes += (message.forward + message.backward) * part * bytes;
    out.behind_bytes += message.behind * part * bytes;
  }
  return out;
}

}  // namespace isobar
