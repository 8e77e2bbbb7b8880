#pragma once
// The sides of a data-parallel bench: ranks of ours (ddp_worker.cpp) and of PyTorch's (peers/ddp_peer.py,
// zero_peer.py), on one machine.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_report.h"
#include "bench/tree_memory.h"
#include "bench/worker.h"

namespace isobar {

inline constexpr int kDdpRanks = 2;

/// What joins the ranks.
struct DdpWire {
  int ranks = kDdpRanks;
  std::string interface = "lo";               ///< the network interface that they meet on
  std::vector<std::string> enter = {};        ///< words before the command of rank 1
  std::vector<std::string> environment = {};  ///< "NAME=value"
};

/// The ranks of one side.
class DdpSide {
 public:
  DdpSide(const std::string& name, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, const std::filesystem::path& folder,
          const DdpWire& wire);

  /// The answers of all ranks to one command.
  std::vector<nlohmann::json> ask(const std::string& command);

  /// Losses of ten steps, means over the ranks.
  std::vector<double> losses() { return ask("losses 10").front()["losses"]; }

  /// Median of one block's steps, each as long as its slowest rank's, in milliseconds.
  double block(int steps);

  /// What each rank holds.
  std::vector<OwnMemory> memory() const;
  /// What each rank holds now; peaks count from here on.
  std::vector<OwnMemory> memory_from_now() const;

 private:
  std::vector<std::unique_ptr<Worker>> ranks_;
};

/// What both sides train (case_sheet.h), on one thread a rank. Error (exit code 2) for a batch that the ranks
/// cannot share.
nlohmann::ordered_json ddp_sheet(const std::string& preset, int ranks = kDdpRanks);

/// Both read case.json in `folder`, where rank 0 of ours writes weights and batches: ours come first.
/// `peers`: require_peers.
std::unique_ptr<DdpSide> our_ddp_side(const std::string& name, const std::filesystem::path& folder,
                                      const DdpWire& wire = {});
std::unique_ptr<DdpSide> python_ddp_side(const std::filesystem::path& folder,
                                         const std::filesystem::path& peers, const DdpWire& wire = {},
                                         const std::string& script = "ddp_peer.py");

/// DDP can copy gradients into its buckets, or have them be views of those: sets its ranks up in the form
/// that is quicker, running. Its words for the name of a row. `more`: further words of the command.
std::string set_up_quicker_form(DdpSide& python, const std::string& more = "");

struct DdpSides {
  DdpSide& ours;
  DdpSide& peer;
};

/// Starts both sides on `sheet`, PyTorch's from `script`, for as long as `body` runs.
void with_ddp_sides(const nlohmann::ordered_json& sheet, int ranks, const std::filesystem::path& peers,
                    const std::string& script, const std::function<void(const DdpSides&)>& body);

struct DdpBlocks {
  int pairs = 20;
  bool quick = false;  ///< short blocks
};

/// Compares the losses of ten steps, then fills `row` with blocks of steps of both sides in turn, divides it
/// by `alone` where there is one, and reports it. Error (exit code 1), and nothing timed, where losses differ
/// by more than `tolerance`.
void compare_sides(PairedRow& row, double tolerance, const DdpBlocks& blocks, const DdpSides& sides,
                   BenchReport& report, const PairedRow* alone = nullptr);

}  // namespace isobar
