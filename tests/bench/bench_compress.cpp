// ./isobar bench compress: our averaging, plain and by PowerSGD, beside PyTorch's DistributedDataParallel,
// plain and with its PowerSGD hook, both over Gloo through one wire of a given speed. Equality first; then
// blocks of steps in turn, as in bench ddp.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "bench/ddp_sides.h"
#include "bench/peers.h"
#include "bench/pipes.h"
#include "core/argv.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 20;
constexpr int kStart = 2;  // uncompressed steps; PyTorch's hook takes no fewer
/// What the wire lets pass at once: 16 kB, and what it sends in 0.2 ms.
constexpr double kBurst_bytes = 16e3;
constexpr double kBurst_s = 0.2e-3;
const char* const kWire = "ISOBAR_WIRE";  // set by link.sh, in which this program starts again
const std::string kNamespaces = "namespaces";

struct Options {
  std::string preset = "cpu_tiny";
  std::vector<int> speeds_mbit;
  int rank = 4;
  int pairs = 8;
};

std::string link_script() { return (project_home() / "tests/bench/link.sh").string(); }

bool in_namespaces() { return std::getenv(kWire) == kNamespaces; }

DdpWire wire_of(int mbit) {
  const double bytes_per_s = mbit * 1e6 / 8;
  if (!in_namespaces())
    return {.environment = {std::string("LD_PRELOAD=") + ISOBAR_PACE,
                            fmt::format("ISOBAR_PACE={:.0f}", bytes_per_s)}};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::vector<std::string> words = {link_script(), "--speed", fmt::format("{}mbit", mbit),
                                          fmt::format("{:.0f}", kBurst_bytes + kBurst_s * bytes_per_s)};
  if (wait_for_end(start_program(words, {}, files), kPatience_s) != 0)
    throw Error(fmt::format("the wire cannot be set to {} Mbit/s", mbit), link_script(),
                "what tc printed stands above", Exit::failed);
  return {.interface = "isobar0", .enter = {"nsenter", "--net=/proc/self/fd/9"}};
}

/// Step times of ours and of the peer; nothing where the row could not be measured.
std::optional<std::pair<double, double>> measure(const std::string& speed, int rank, const Options& options,
                                                 DdpSide& ours, DdpSide& peer, BenchReport& report) {
  PairedRow row;
  row.name = rank == 0 ? speed + ", plain" : fmt::format("{}, powersgd rank {}", speed, rank);
  row.unit = "ms";
  row.peer_name = std::string("DDP 2.11.0, gloo") + (rank == 0 ? "" : ", powerSGD_hook") +
                  (in_namespaces() ? "" : ", paced");
  row.least_ratio = rank == 0 ? 0 : 1;
  try {
    const std::string how = fmt::format(" {} {}", rank, kStart);
    ours.ask("reset plain gloo buckets" + how);
    row.peer_name += set_up_quicker_form(peer, how);
    compare_sides(row, kLoss, {options.pairs, report.quick()}, {ours, peer}, report);
  } catch (const Error& error) {
    report.refuse(row.name, row.peer_name, error);
    return std::nullopt;
  }
  return std::pair(estimate_of(row.ours).value, estimate_of(row.peer).value);
}

void measure_speed(int mbit, const Options& options, const fs::path& peers, const Json& sheet,
                   BenchReport& report) {
  const TempFolder folder;
  write_file_whole(folder.path() / "case.json", sheet.dump());
  const DdpWire wire = wire_of(mbit);
  const auto ours = our_ddp_side("our side", folder.path(), wire);
  const auto python = python_ddp_side(folder.path(), peers, wire);
  const std::string speed = fmt::format("{} Gb/s", mbit / 1000.0);
  const auto plain = measure(speed, 0, options, *ours, *python, report);
  const auto compressed = measure(speed, options.rank, options, *ours, *python, report);
  if (plain && compressed)
    report.say(fmt::format("    compressed beside plain: ours {:.2f} times as fast, PyTorch's {:.2f} times",
                           plain->first / compressed->first, plain->second / compressed->second));
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "Our plain and compressed averaging beside PyTorch's: 2 processes, 1 thread each, gloo, "
      "over a wire of a given speed",
      "./isobar bench compress");
  BenchReport report("compress", parser);
  parser.add("--preset", options.preset, "whose sizes; cpu_tiny");
  parser.add("--mbit", options.speeds_mbit, "speed of the wire in Mbit/s, may be repeated; 100, 1000, 10000")
      .in_range(1, 100'000);
  parser.add("--rank", options.rank, "of the factors").in_range(1, 64);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 3;
  if (options.speeds_mbit.empty()) options.speeds_mbit = {100, 1000, 10'000};
  const Json sheet = ddp_sheet(options.preset);
  const fs::path peers = require_peers("compress");
  if (std::getenv(kWire) == nullptr) {
    std::vector<std::string> words = {link_script(), fs::read_symlink("/proc/self/exe").string()};
    words.insert(words.end(), argv + 1, argv + argc);
    execv(words.front().c_str(), as_argv(words).data());
    throw system_error("cannot start the program", words.front(), errno);
  }
  report.say(
      in_namespaces()
          ? "  the wire: a pair of interfaces between two network namespaces, held to its speed by tc's tbf"
          : "  the wire: the loopback, each connection held to the speed by SO_MAX_PACING_RATE; no "
            "namespaces "
            "here: " +
                printable(std::getenv(kWire), 120));
  report.begin();
  for (const int mbit : options.speeds_mbit) measure_speed(mbit, options, peers, sheet, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench compress", [&] { return run(argc, argv); });
}
