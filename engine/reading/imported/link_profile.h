#pragma once
// Links of a machine, measured by nccl-tests, as the table [machine] of a cluster profile.
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "imported/nccl_tests.h"

namespace isobar {

/// Facts that a log lacks, or has otherwise.
struct LinkWish {
  std::string gpu = {};
  std::int64_t gpus_per_node = 0;  ///< 0 = ranks on a host
};

struct LinkTable {
  std::int64_t nodes = 0;
  std::string op;
  std::vector<NcclRow> rows;  ///< by size, each once
};

struct LinkProfile {
  using ByNodes = std::vector<std::pair<std::int64_t, double>>;

  std::string gpu;
  std::int64_t gpus_per_node = 0;
  std::vector<LinkTable> tables;  ///< by nodes and collective
  ByNodes busbw_by_nodes;         ///< greatest bus bandwidth of an all-reduce, GB/s
  /// Time of an all-reduce of next to no bytes: a of t = a + S / B through the sizes up to 64 KiB. Node
  /// counts with less than two such sizes have none.
  ByNodes small_us_by_nodes;
  double inside_gb_s = 0;  ///< on one node; 0 = not measured
  /// A GPU's share of the network: bus bandwidth on the fewest nodes above one / gpus_per_node.
  double between_gb_s = 0;
  /// A message inside a node: small all-reduces, less the time of a call, as a tree (base/cluster).
  double inside_latency_us = 0;
  double latency_us = 0;  ///< a message between nodes: what their tree adds to that of one
  std::vector<std::string> logs;
  std::vector<std::string> notes;
  LeftOut left_out;
};

/// Where several tests measured one size at one node count, the greater bandwidth counts. Error (exit code 2)
/// for logs of different machines (both files are named), without an all-reduce, with nothing but zeros, and
/// where ranks on a node or the GPU are not known.
LinkProfile link_profile(const std::vector<NcclLog>& logs, const LinkWish& wish);

/// The profile's file; the same logs give the same bytes.
std::string link_text(const LinkProfile& profile, const std::string& title);

/// False where the file is there with these contents. Error (exit code 2) where it has others: nothing is
/// written over.
bool write_link_profile(const std::filesystem::path& file, const std::string& text);

}  // namespace isobar
