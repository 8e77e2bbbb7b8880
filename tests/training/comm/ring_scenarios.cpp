// What each rank does in the tests of our ring and of the emulated link; the tests start these as processes.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "comm/c10d_transport.h"
#include "comm/comm.h"
#include "comm/linked_transport.h"
#include "comm/meeting.h"
#include "comm/ring_transport.h"
#include "core/clock.h"
#include "core/waiting.h"
#include "formula/link.h"
#include "launch/mesh.h"
#include "support/event_clock.h"
#include "support/rank_scenarios.h"

namespace isobar::ring_scenarios {

using namespace isobar::testing;

namespace {

constexpr double kTimeout_s = 30;
constexpr std::int64_t kTimeout_us = 30'000'000;

/// The ring and Gloo between the same processes.
struct World {
  World() {
    at::set_num_threads(1);
    for (int rank = 0; rank < environment.world; ++rank) group.members.push_back(rank);
    ring = make_ring_transport(group, "ring");
    gloo = make_gloo_transport(store, environment.rank, environment.world, "gloo", kTimeout_s, true, "");
  }
  RankEnvironment environment = read_rank_environment();
  c10::intrusive_ptr<c10d::Store> store = meet(environment, kTimeout_s).store;
  GroupMeeting group{store, environment.rank, {}, kTimeout_s};
  std::unique_ptr<Transport> ring;
  std::unique_ptr<Transport> gloo;
};

bool finish(const std::unique_ptr<Pending>& pending) { return pending->wait(kTimeout_us); }

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.nbytes() == b.nbytes() && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

int fails(const std::string& what) {
  fmt::print("{}\n", what);
  return 1;
}

int compare_types(const std::vector<std::string>&) {
  World world;
  const int rank = world.ring->rank();
  for (const auto type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong, at::kByte}) {
    for (const std::int64_t n : {0, 1, 3, 4097, 300'000}) {
      if (n == 0) {
        const at::Tensor nothing = at::empty({0}, type);
        if (!finish(world.ring->all_reduce(nothing, Reduce::sum))) return fails("nothing is not reduced");
        continue;
      }
      const at::Tensor first = at::arange(n, at::kLong).remainder(19).add(rank).to(type);
      for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
        const at::Tensor ours = first.clone();
        const at::Tensor theirs = first.clone();
        finish(world.ring->all_reduce(ours, reduce));
        finish(world.gloo->all_reduce(theirs, reduce));
        if (!same_bits(ours, theirs))
          return fails(fmt::format("{} values of type {} differ", n, c10::toString(type)));
      }
    }
  }
  return 0;
}

/// Gloo's sum, then divided: to the bit, since two addends have one order only.
int compare_means(const std::vector<std::string>&) {
  World world;
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    at::manual_seed(static_cast<std::uint64_t>(5 + world.ring->rank()));
    const at::Tensor ours = at::randn({100'003}, at::kDouble).to(type);
    const at::Tensor theirs = ours.clone();
    finish(world.ring->all_reduce(ours, Reduce::mean));
    finish(world.gloo->all_reduce(theirs, Reduce::mean));
    if (!same_bits(ours, theirs)) return fails(fmt::format("means of {} differ", c10::toString(type)));
  }
  try {
    world.ring->all_reduce(at::ones({4}, at::kInt), Reduce::mean);
    return fails("a mean of whole numbers was not refused");
  } catch (const Error& error) {
    fmt::print("{}\n", error.text());
  }
  return 0;
}

/// Rank 1 is killed while all-reduces go round, or with a word all-to-alls; the others print what they were
/// told.
int lose_a_rank(const std::vector<std::string>& words) {
  std::signal(SIGTERM, SIG_IGN);  // the launcher stops us, and we have something to say
  World world;
  const int size = world.ring->size();
  const at::Tensor values = at::zeros({8 << 20}, at::kFloat);
  const std::vector<std::int64_t> each(static_cast<std::size_t>(size), values.numel() / size);
  try {
    for (int call = 0; call < 1000; ++call) {
      const std::unique_ptr<Pending> pending =
          words.empty() ? world.ring->all_reduce(values, Reduce::sum)
                        : world.ring->all_to_all(at::zeros_like(values), values, each, each);
      if (world.ring->rank() == 1 && call == 3) std::raise(SIGKILL);  // it is under way
      if (!finish(pending)) return fails("nobody told us");
    }
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
    return 0;
  }
  return fails("it went on without rank 1");
}

/// Words: latency in us, Gb/s. All-reduces one behind the other take what the formula says.
int follow_formula(const std::vector<std::string>& words) {
  const EventClock clock(3);  // this thread and those of two rings
  World world;
  const Link link = link_of(std::stod(words.at(0)), std::stod(words.at(1)));
  const auto linked =
      make_linked_transport(make_ring_transport(world.group, "inner"), link, world.group, "link");
  constexpr int kCalls = 6;
  const at::Tensor values = at::zeros({100'000}, at::kFloat);
  const double expected_us = kCalls * ring_all_reduce_us(link, linked->size(), 400'000);
  const std::int64_t begin_us = steady_us();
  std::vector<std::unique_ptr<Pending>> pending;
  for (int call = 0; call < kCalls; ++call) pending.push_back(linked->all_reduce(values, Reduce::sum));
  for (const auto& one : pending) finish(one);
  const auto took_us = static_cast<double>(pending.back()->end_us() - begin_us);
  fmt::print("took {:.0f} us, expected {:.1f}; {}\n", took_us, expected_us, linked->note());
  return std::abs(took_us - expected_us) <= 1 && steady_us() >= pending.back()->end_us() ? 0 : 1;
}

/// All collectives go over the link, and all ranks agree about when each of them ends.
int agree_on_ends(const std::vector<std::string>&) {
  const EventClock clock(3);
  World world;
  const int size = world.ring->size();
  const auto linked = make_linked_transport(make_ring_transport(world.group, "inner"), link_of(20'000, 1),
                                            world.group, "link");
  const at::Tensor whole = at::zeros({std::int64_t{600} * size}, at::kFloat);
  const at::Tensor part = at::zeros({600}, at::kFloat);
  sleep_us(3000 * world.ring->rank());  // the last to come counts
  std::vector<std::unique_ptr<Pending>> pending;
  pending.push_back(linked->all_reduce(whole, Reduce::sum));
  pending.push_back(linked->broadcast(part, size - 1));
  pending.push_back(linked->all_gather(whole, part));
  pending.push_back(linked->reduce_scatter(part, whole, Reduce::mean));
  const std::vector<std::int64_t> each(static_cast<std::size_t>(size), 600);
  pending.push_back(linked->all_to_all(at::zeros_like(whole), whole, each, each));
  for (const auto& one : pending) {
    finish(one);
    const at::Tensor end = at::full({1}, one->end_us(), at::kLong);
    const at::Tensor latest = end.clone();
    finish(world.gloo->all_reduce(latest, Reduce::max));
    if (!at::equal(end, latest)) return fails("ranks do not agree about the end");
  }
  // 20 ms a message: 2 (n - 1), then n - 1 four times.
  const auto apart_us = [&](std::size_t i) { return pending[i]->end_us() - pending[i - 1]->end_us(); };
  const std::int64_t half_us = (size - 1) * 20'000;
  for (const std::size_t i : {1U, 2U, 3U, 4U}) {
    if (std::abs(apart_us(i) - half_us) > half_us / 50) return fails(fmt::format("{} us apart", apart_us(i)));
  }
  return 0;
}

/// All of `values` to the next rank.
Work to_next(Comm& comm, const at::Tensor& values) {
  const int n = comm.size(), r = comm.rank();
  std::vector<std::int64_t> sends(static_cast<std::size_t>(n), 0), receives = sends;
  sends[static_cast<std::size_t>((r + 1) % n)] = receives[static_cast<std::size_t>((r + n - 1) % n)] =
      values.numel();
  return comm.all_to_all(at::zeros_like(values), values, receives, sends, "e");
}

/// Two nodes of two ranks. Words: Gb/s of comm.link, Gb/s of comm.node_link, 0 = none. Each group's
/// collectives take what its own link makes of them, and count for themselves.
int nested_links(const std::vector<std::string>& words) {
  const EventClock clock(4);  // this thread and the rings of the world, the node and what goes between nodes
  at::set_num_threads(1);
  CommConfig config;
  config.backend = BackendKind::ring;
  config.timeout_s = kTimeout_s;
  config.link = {.latency_us = 1000, .gbit_per_s = std::stod(words.at(0))};
  config.node_link.gbit_per_s = std::stod(words.at(1));
  if (config.node_link.gbit_per_s > 0) config.node_link.latency_us = 100;
  Comm world(read_rank_environment(), config, false);
  const Mesh mesh("tp-cp-pp-dp", {.dp = 4, .shard = 2}, world.size());
  Comm node = world.part(mesh.groups("shard"), "shard", Reach::inside_node);
  Comm copies = world.part(mesh.groups("copies"), "copies");
  const Link between = link_of(config.link.latency_us, config.link.gbit_per_s);
  const Link inside = config.node_link.gbit_per_s > 0
                          ? link_of(config.node_link.latency_us, config.node_link.gbit_per_s)
                          : between;
  const at::Tensor whole = at::ones({100'000});
  const double bytes = 400'000;
  int wrong = 0;
  for (const auto& [comm, link] : {std::pair{&node, inside}, {&copies, between}, {&world, between}}) {
    const int n = comm->size();
    const at::Tensor part = at::zeros({whole.numel() / n});
    const auto took = [](Work work) {
      const CollectiveTimes times = work.wait();
      return static_cast<double>(times.end_us - times.begin_us);
    };
    const std::vector<std::pair<double, double>> seen = {
        {took(comm->all_reduce(whole, Reduce::sum, "a")), ring_all_reduce_us(link, n, bytes)},
        {took(comm->reduce_scatter(part, whole, Reduce::sum, "b")), ring_half_us(link, n, bytes)},
        {took(comm->all_gather(whole, part, "c")), ring_half_us(link, n, bytes)},
        {took(comm->broadcast(whole, 0, "d")), broadcast_us(link, n, bytes)},
        {took(to_next(*comm, whole)), messages_us(link, 1, bytes)}};
    for (const auto& [measured_us, expected_us] : seen) {
      if (std::abs(measured_us - expected_us) <= 2) continue;
      fmt::print("{} ranks: {:.0f} us, {:.1f} expected\n", n, measured_us, expected_us);
      ++wrong;
    }
    const std::int64_t sent = (n - 1) * 1'600'000LL / n + (comm->rank() == 0 ? 400'000 : 0) + 400'000;
    if (comm->counts().calls != 5 || comm->counts().wire_bytes != sent) ++wrong;
  }
  return wrong;
}

const AddScenario nested{"nested", nested_links};
const AddScenario types{"types", compare_types};
const AddScenario means{"means", compare_means};
const AddScenario lost{"lost", lose_a_rank};
const AddScenario formula{"formula", follow_formula};
const AddScenario ends{"ends", agree_on_ends};

}  // namespace

}  // namespace isobar::ring_scenarios
