#pragma once
// What is known of a cluster's nodes and of the links between them. GB are 1e9 bytes; a bus bandwidth is that
// of nccl-tests: bytes of the buffer x 2 (n - 1) / n over the time of an all-reduce.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml_text.h"

namespace isobar {

struct BusBandwidth {
  double nodes = 1;
  double gb_s = 0;
  bool operator==(const BusBandwidth&) const = default;
};

/// A number that was not published, and between which values it lies.
struct UnknownTerm {
  std::string key;  ///< name of a term (cluster/terms.h) or of a number of [machine]
  double least = 0;
  double most = 0;
  bool operator==(const UnknownTerm&) const = default;
};

struct ClusterMachine {
  std::string name = {};
  std::string gpu = {};
  std::string rates = {};  ///< the device of formula/device_rates.h whose rates stand for it
  double peak_tflops = 0;  ///< dense products in the type in use; 0 = not known
  double memory_gb_s = 0;  ///< a GPU's own; 0 = not known
  int gpus_per_node = 1;
  double inside_gb_s = 0;        ///< bus bandwidth of an all-reduce inside a node; 0 = not known
  double between_gb_s = 0;       ///< what the network gives each GPU of a node, one direction; 0 = not known
  int gpus_per_nic = 1;          ///< GPUs that share a network card
  double inside_latency_us = 4;  ///< latency of a message inside a node (NCCL: 3.4 to 5.7)
  double latency_us = 14;        ///< latency of a message between nodes (NCCL: 14)
  double read_gb_s = 0;          ///< what all GPUs of a node together read of files; 0 = no limit
  std::vector<BusBandwidth> busbw_by_nodes = {};  ///< measured, ascending
  double jitter = -1;  ///< standard deviation of the speed of ranks, relative; -1 = the fitted one
  std::vector<UnknownTerm> unknown = {};
  bool operator==(const ClusterMachine&) const = default;
};

/// What was measured between nodes: entries of more than one.
std::span<const BusBandwidth> measured_between(const ClusterMachine& machine);
/// Whether a bandwidth between nodes is known; links without one take no time.
bool knows_network(const ClusterMachine& machine);

/// Bus bandwidth of an all-reduce over so many nodes with so many ranks on each, GB/s: as measured, on a line
/// over the logarithm of both between two node counts, and beyond the last one along that of the last two
/// where it falls; one node has inside_gb_s where it was not measured. Behind a single measurement between
/// nodes, and without one, from min(inside, between x ranks on a node) at two, it loses `falloff` with each
/// doubling. 0 = not known.
double bus_gb_s(const ClusterMachine& machine, int nodes, int ranks_per_node, double falloff);

/// Takes a key of [machine], "" in front of it. False for a key that there is not. Error (exit code 2) for
/// a value that is no number above 0, or none of its form.
bool take_machine_key(ClusterMachine& machine, const TomlEntry& entry, std::string_view key);

std::vector<std::string> machine_numbers();  ///< keys of its numbers
/// A number of the machine by its key, to change it; null for another key.
double* number_of(ClusterMachine& machine, std::string_view key);

}  // namespace isobar
