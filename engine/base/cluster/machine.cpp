#include "cluster/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/toml_keys.h"
#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"

namespace isobar {
namespace {

using Entry = const TomlEntry&;

constexpr int kMostGpusPerNode = 1024;
constexpr std::string_view kByNodes = "busbw_by_nodes.";

/// On a line over the logarithms of both.
double between(const BusBandwidth& low, const BusBandwidth& high, double nodes) {
  const double part = std::log(nodes / low.nodes) / std::log(high.nodes / low.nodes);
  return low.gb_s * std::pow(high.gb_s / low.gb_s, part);
}

/// "4" of busbw_by_nodes = { 4 = 180, .. }: a key for each number of nodes.
void take_bandwidth(std::vector<BusBandwidth>& known, Entry entry, std::string_view nodes) {
  const std::optional<double> count = number_of<double>(nodes);
  if (!count || !(*count >= 1)) refuse_value(entry, "a number of nodes as its key");
  known.push_back({*count, positive_in(entry)});
  std::ranges::sort(known, {}, &BusBandwidth::nodes);
}

std::vector<BusBandwidth> bandwidths_in(Entry entry) {
  const auto* const rows = std::get_if<TomlRows>(&entry.value);
  std::vector<BusBandwidth> out;
  if (rows == nullptr) refuse_value(entry, "pairs of nodes and GB/s: [[1, 230], [4, 180]]");
  for (const std::vector<double>& row : *rows) {
    if (row.size() != 2 || !(row[0] >= 1) || !(row[1] > 0) || !std::isfinite(row[1]))
      refuse_value(entry, "pairs of nodes and GB/s above 0: [[1, 230], [4, 180]]");
    if (!out.empty() && !(row[0] > out.back().nodes)) refuse_value(entry, "numbers of nodes that rise");
    out.push_back({row[0], row[1]});
  }
  return out;
}

struct MachineNumber {
  const char* name;
  double ClusterMachine::*member;
};
constexpr MachineNumber kMachineNumbers[] = {{"peak_tflops", &ClusterMachine::peak_tflops},
                                             {"memory_gb_s", &ClusterMachine::memory_gb_s},
                                             {"inside_gb_s", &ClusterMachine::inside_gb_s},
                                             {"between_gb_s", &ClusterMachine::between_gb_s},
                                             {"inside_latency_us", &ClusterMachine::inside_latency_us},
                                             {"latency_us", &ClusterMachine::latency_us},
                                             {"read_gb_s", &ClusterMachine::read_gb_s},
                                             {"jitter", &ClusterMachine::jitter}};

}  // namespace

std::vector<std::string> machine_numbers() {
  std::vector<std::string> out;
  for (const MachineNumber& number : kMachineNumbers) out.emplace_back(number.name);
  return out;
}

double* number_of(ClusterMachine& machine, std::string_view key) {
  for (const MachineNumber& number : kMachineNumbers)
    if (key == number.name) return &(machine.*number.member);
  return nullptr;
}

std::span<const BusBandwidth> measured_between(const ClusterMachine& machine) {
  const auto& known = machine.busbw_by_nodes;
  return std::span(known).subspan(!known.empty() && known.front().nodes <= 1 ? 1 : 0);
}

bool knows_network(const ClusterMachine& machine) {
  return machine.between_gb_s > 0 || !measured_between(machine).empty();
}

double bus_gb_s(const ClusterMachine& machine, int nodes, int ranks_per_node, double falloff) {
  const std::vector<BusBandwidth>& known = machine.busbw_by_nodes;
  if (nodes == 1)
    return !known.empty() && known.front().nodes <= 1 ? known.front().gb_s : machine.inside_gb_s;
  const std::span<const BusBandwidth> far = measured_between(machine);
  const auto less = [&](double gb_s, double from) {
    return gb_s * std::pow(1 - falloff, std::log2(nodes / from));
  };
  if (far.empty()) {
    const double all = machine.between_gb_s * ranks_per_node;
    return less(machine.inside_gb_s > 0 && ranks_per_node > 1 ? std::min(machine.inside_gb_s, all) : all, 2);
  }
  if (nodes <= far.front().nodes) return far.front().gb_s;
  if (far.size() == 1) return less(far.front().gb_s, far.front().nodes);
  const auto above = std::find_if(far.begin() + 1, far.end() - 1,
                                  [&](const BusBandwidth& one) { return one.nodes >= nodes; });
  const double on_line = between(*std::prev(above), *above, nodes);
  return nodes > far.back().nodes ? std::min(on_line, far.back().gb_s) : on_line;
}

namespace {

std::string* text_of(ClusterMachine& machine, std::string_view key) {
  return key == "name"    ? &machine.name
         : key == "gpu"   ? &machine.gpu
         : key == "rates" ? &machine.rates
                          : nullptr;
}

}  // namespace

bool take_machine_key(ClusterMachine& machine, Entry entry, std::string_view key) {
  if (std::string* const text = text_of(machine, key)) {
    *text = text_in(entry);
  } else if (key.starts_with(kByNodes)) {
    take_bandwidth(machine.busbw_by_nodes, entry, key.substr(kByNodes.size()));
  } else if (const auto* const part = std::get_if<double>(&entry.value);
             key == "gpus_per_nic" && part != nullptr && *part > 0 && *part < 1) {
    machine.gpus_per_nic = 1;  // several cards for each
  } else if (key == "gpus_per_node" || key == "gpus_per_nic") {
    (key == "gpus_per_node" ? machine.gpus_per_node : machine.gpus_per_nic) =
        static_cast<int>(integer_in(entry, 1, kMostGpusPerNode));
  } else if (key == "small_us_by_nodes" || key == "busbw_by_bytes") {
    return true;  // what a log of nccl-tests has beyond that: for people
  } else if (key == "busbw_by_nodes") {
    machine.busbw_by_nodes = bandwidths_in(entry);
  } else if (double* const number = number_of(machine, key)) {
    *number = positive_in(entry);
  } else {
    return false;
  }
  return true;
}

}  // namespace isobar
