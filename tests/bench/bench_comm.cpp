// ./isobar bench comm: all-reduce through our ring over shared memory beside Gloo over the loopback, by size,
// between 2 and 4 processes of this machine.
#include <fmt/format.h>

#include <sstream>

#include "bench/bench_report.h"
#include "core/error.h"
#include "core/files.h"
#include "launch/rank_launcher.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

constexpr double kDeadline_s = 900;
constexpr double kBlock_us = 100e3;
constexpr double kQuickBlock_us = 5e3;

struct Case {
  const char* name;
  std::int64_t bytes;
  double least_ratio;  ///< what is asked for
};
constexpr std::array<Case, 8> kCases = {{{"64 B", 64, 1},
                                         {"1 KiB", 1 << 10, 1},
                                         {"16 KiB", 16 << 10, 1},
                                         {"256 KiB", 256 << 10, 0},
                                         {"1 MiB", 1 << 20, 0},
                                         {"4 MiB", 4 << 20, 0},
                                         {"25 MiB", 25 << 20, 3},
                                         {"100 MiB", 100 << 20, 0}}};
constexpr std::int64_t kMostQuick = 1 << 20;

struct Options {
  std::vector<int> processes = {2, 4};
  std::vector<std::string> sizes;
  int pairs = 15;
};

std::vector<Case> chosen_cases(const Options& options, bool quick) {
  std::vector<Case> out;
  std::string known;
  for (const Case& one : kCases) {
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", one.name);
    const bool named = std::find(options.sizes.begin(), options.sizes.end(), one.name) != options.sizes.end();
    if (options.sizes.empty() ? !quick || one.bytes <= kMostQuick : named) out.push_back(one);
  }
  if (!options.sizes.empty() && out.size() != options.sizes.size())
    throw Error("there is no such size", "--size", "the sizes: " + known);
  return out;
}

std::vector<nlohmann::json> measured(const Options& options, int processes, const std::vector<Case>& cases,
                                     bool quick) {
  const TempFolder folder;
  const std::string file = folder / "lines";
  std::vector<std::string> words = {bin_folder(ISOBAR_BIN) + "/bench_comm_worker", file,
                                    std::to_string(options.pairs),
                                    std::to_string(quick ? kQuickBlock_us : kBlock_us)};
  for (const Case& one : cases) words.push_back(std::to_string(one.bytes));
  const RanksEnded ended =
      launch_ranks(words, processes, {.quiet = true, .deadline_s = kDeadline_s, .grace_s = 5, .tick = {}});
  if (ended.code != 0 || ended.timed_out) {
    const RankEnded& rank = ended.ranks.at(static_cast<std::size_t>(std::max(0, ended.first)));
    throw Error(fmt::format("rank {} of {} ended with exit code {}", rank.rank, processes, rank.code),
                "bench comm", rank.errors, Exit::failed);
  }
  std::vector<nlohmann::json> out;
  std::istringstream lines(read_text_file(file, 1 << 20));
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

void add_rows(const Options& options, int processes, BenchReport& report) {
  const std::vector<Case> cases = chosen_cases(options, report.quick());
  const std::vector<nlohmann::json> lines = measured(options, processes, cases, report.quick());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    PairedRow row;
    row.name = processes == 2 ? one.name : fmt::format("{}, {} processes", one.name, processes);
    row.unit = "us";
    row.peer_name = "Gloo of libtorch 2.11.0, loopback";
    row.least_ratio = one.least_ratio;
    row.ours = lines.at(i)["ours"].get<std::vector<double>>();
    row.peer = lines.at(i)["peer"].get<std::vector<double>>();
    row.floor = median(lines.at(i)["copy"].get<std::vector<double>>());
    row.moved_bytes = static_cast<double>(one.bytes);
    row.bus_factor = 2.0 * (processes - 1) / processes;
    report.add(row);
    const double ours = row.moved_bytes / median(row.ours) * 1e-3;
    const double peer = row.moved_bytes / median(row.peer) * 1e-3;
    report.say(fmt::format(
        "    algbw {:.3g} GB/s, busbw {:.3g}; Gloo {:.3g}, {:.3g}; copying what a rank sends takes {:.3g} us",
        ours, ours * row.bus_factor, peer, peer * row.bus_factor, row.floor));
  }
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "All-reduce through our ring over shared memory beside Gloo, between processes of this machine",
      "./isobar bench comm");
  BenchReport report("comm", parser);
  parser.add("--processes", options.processes, "how many, 2 to 16; may be repeated").in_range(2, 16);
  parser.add("--size", options.sizes, "\"64 B\" ... \"100 MiB\"; may be repeated");
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 3;
  chosen_cases(options, report.quick());
  report.begin();
  for (const int processes : options.processes) add_rows(options, processes, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench comm", [&] { return run(argc, argv); });
}
