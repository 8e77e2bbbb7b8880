#include "bench/ddp_sides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/case_sheet.h"
#include "bench/peers.h"
#include "core/error.h"
#include "core/files.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 300;  // for one answer of a worker
constexpr int kWarmUp = 2;        // first steps of a block: the caches hold the other side's data
constexpr double kBlock_ms = 600;
/// What our programs ask of the C library for themselves (device/device.cpp).
const std::vector<std::string> kKeepsFreedMemory = {
    "MALLOC_MMAP_THRESHOLD_=33554432", "MALLOC_TRIM_THRESHOLD_=1073741824", "MALLOC_TOP_PAD_=67108864"};

}  // namespace

DdpSide::DdpSide(const std::string& name, const std::vector<std::string>& words,
                 const std::vector<std::string>& environment, const fs::path& folder, const DdpWire& wire) {
  for (int rank = 0; rank < wire.ranks; ++rank) {
    std::vector<std::string> variables = environment;
    variables.insert(variables.end(), wire.environment.begin(), wire.environment.end());
    for (const std::string& more :
         {fmt::format("RANK={}", rank), fmt::format("LOCAL_RANK={}", rank),
          fmt::format("WORLD_SIZE={}", wire.ranks), "GLOO_SOCKET_IFNAME=" + wire.interface,
          "ISOBAR_MEETING=" + (folder / "meeting").string(), std::string("MASTER_ADDR=127.0.0.1")})
      variables.push_back(more);
    std::vector<std::string> command = rank == 1 ? wire.enter : std::vector<std::string>();
    command.insert(command.end(), words.begin(), words.end());
    ranks_.push_back(std::make_unique<Worker>(fmt::format("{}, rank {}", name, rank), command, variables,
                                              folder / fmt::format("{}.log", ranks_.size()), 0));
  }
  for (const auto& rank : ranks_) rank->hear(kPatience_s);  // they start together
}

std::vector<nlohmann::json> DdpSide::ask(const std::string& command) {
  for (const auto& rank : ranks_) rank->tell(command);
  std::vector<nlohmann::json> out;
  for (const auto& rank : ranks_) out.push_back(rank->hear(kPatience_s));
  return out;
}

double DdpSide::block(int steps) {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::vector<double> slowest(static_cast<std::size_t>(kWarmUp + steps));
  for (const nlohmann::json& answer : ask(fmt::format("run {}", kWarmUp + steps))) {
    const std::vector<double> times = answer["step"];
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], times.at(i));
  }
  return median({slowest.begin() + kWarmUp, slowest.end()}) * 1e-3;
}

std::vector<OwnMemory> DdpSide::memory() const {
  std::vector<OwnMemory> out;
  for (const auto& rank : ranks_) out.push_back(own_memory(rank->pid()));
  return out;
}

std::vector<OwnMemory> DdpSide::memory_from_now() const {
  for (const auto& rank : ranks_) forget_peak(rank->pid());
  return memory();
}

nlohmann::ordered_json ddp_sheet(const std::string& preset, int ranks) {
  nlohmann::ordered_json sheet = case_sheet(preset, "cpu", /*threads=*/1);
  const int batch = sheet["batch"];
  if (batch % ranks != 0)
    throw Error(fmt::format("a batch of {} cannot be divided over {} ranks", batch, ranks),
                "--preset " + preset, "cpu_tiny");
  return sheet;
}

std::unique_ptr<DdpSide> our_ddp_side(const std::string& name, const fs::path& folder, const DdpWire& wire) {
  const std::vector<std::string> words = {bin_folder(ISOBAR_BIN) + "/bench_ddp_worker", folder.string()};
  return std::make_unique<DdpSide>(name, words, std::vector<std::string>(), folder, wire);
}

std::unique_ptr<DdpSide> python_ddp_side(const fs::path& folder, const fs::path& peers, const DdpWire& wire,
                                         const std::string& script) {
  std::vector<std::string> words = peer_words(script);
  words.push_back(folder.string());
  fs::create_directory(folder / "python");
  std::vector<std::string> variables = peer_environment(peers);
  variables.insert(variables.end(), kKeepsFreedMemory.begin(), kKeepsFreedMemory.end());
  return std::make_unique<DdpSide>("PyTorch's side", words, variables, folder / "python", wire);
}

std::string set_up_quicker_form(DdpSide& python, const std::string& more) {
  std::string quicker;
  double least_ms = INFINITY;
  for (const char* const form : {"copies", "views", "copies", "views"}) {
    python.ask(fmt::format("reset {}{}", form, more));
    const double block_ms = python.block(5);
    if (block_ms >= least_ms) continue;
    least_ms = block_ms;
    quicker = form;
  }
  python.ask("reset " + quicker + more);
  return quicker == "views" ? ", gradients as views" : ", gradients copied";
}

void with_ddp_sides(const nlohmann::ordered_json& sheet, int ranks, const fs::path& peers,
                    const std::string& script, const std::function<void(const DdpSides&)>& body) {
  const TempFolder folder;
  const DdpWire wire{.ranks = ranks};
  write_file_whole(folder.path() / "case.json", sheet.dump());
  const auto ours = our_ddp_side("our side", folder.path(), wire);
  const auto peer = python_ddp_side(folder.path(), peers, wire, script);
  body({*ours, *peer});
}

namespace {

/// Between the losses of ten steps. Error (exit code 1) where it is above `tolerance`.
double largest_difference(const std::string& name, double tolerance, const DdpSides& sides) {
  const std::vector<double> mine = sides.ours.losses();
  const std::vector<double> theirs = sides.peer.losses();
  double worst = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const double apart = std::abs(mine[i] - theirs.at(i));
    worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
  }
  if (worst <= tolerance) return worst;
  throw Error(fmt::format("the losses of ten steps differ by {:.3g}; nothing was timed", worst),
              fmt::format("{}: ours {:.9g}; peer {:.9g}", name, fmt::join(mine, " "), fmt::join(theirs, " ")),
              "./build/bin/test_sync_ranks compares the parts", Exit::failed);
}

}  // namespace

void compare_sides(PairedRow& row, double tolerance, const DdpBlocks& blocks, const DdpSides& sides,
                   BenchReport& report, const PairedRow* alone) {
  const double worst = largest_difference(row.name, tolerance, sides);
  const double about_ms = sides.ours.block(3);
  const int steps = blocks.quick ? 3 : std::clamp(static_cast<int>(kBlock_ms / about_ms), 4, 60);
  for (int pair = 0; pair < blocks.pairs; ++pair) {
    row.ours.push_back(sides.ours.block(steps));
    row.peer.push_back(sides.peer.block(steps));
  }
  if (alone != nullptr) divide(row, *alone);
  report.add(row);
  report.say(fmt::format("    losses of ten steps agree to {:.1g}; {} pairs of {} steps", worst, blocks.pairs,
                         steps));
}

}  // namespace isobar
