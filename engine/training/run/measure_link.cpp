#include "run/measure_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "comm/comm.h"
#include "core/error.h"
#include "device/device.h"
#include "launch/rank_environment.h"
#include "launch/rank_launcher.h"
#include "run/repeats.h"

namespace isobar {
namespace {

constexpr int kRanks = 2;
constexpr std::int64_t kMessage_bytes = 4 << 20;  // about a bucket of gradients
constexpr double kDeadline_s = 60;

}  // namespace

Link link_of(const LinkProbe& probe, int ranks) {
  const auto bytes = static_cast<double>(probe.bytes);
  const double latencies_us = probe.latency_us;  // sum over all messages of an all-reduce
  const double time_us = bytes / (probe.algbw_gb_per_s * 1e3);
  const double carried_us = std::max(time_us - latencies_us, 0.1 * time_us);
  return {.latency_us = latencies_us / static_cast<double>(ring_messages(ranks)),
          .bytes_per_us = ring_bytes(ranks, bytes) / carried_us};
}

Link measure_link() {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const RanksEnded ended =
      launch_ranks({program, "--link"}, kRanks, {.quiet = true, .deadline_s = kDeadline_s});
  if (ended.asked != 0) throw MeasuringStopped{ended.asked};
  Link out;
  std::istringstream said(ended.ranks.front().output);
  if (ended.code == 0 && said >> out.latency_us >> out.bytes_per_us) return out;
  const std::string why =
      ended.timed_out ? fmt::format("it took more than {:.0f} s", kDeadline_s) : first_failure_text(ended);
  throw Error("the link between two ranks could not be measured: " + why, program, "", Exit::failed);
}

void run_link_rank() {
  const RankEnvironment environment = read_rank_environment();
  if (environment.world < 2)
    throw Error("--link is for the ranks that isobar-rates starts", "command line", "leave it out");
  set_up_cpu(/*threads=*/0, environment.local_world);
  CommConfig config;
  config.backend = BackendKind::ring;
  config.timeout_s = kDeadline_s / 2;
  Comm comm = join_ranks(environment, config, /*on_cuda=*/false);
  const Link link = link_of(probe_link(comm, c10::Device(c10::kCPU), kMessage_bytes), comm.size());
  if (comm.rank() == 0) fmt::print("{} {}\n", link.latency_us, link.bytes_per_us);
}

}  // namespace isobar
