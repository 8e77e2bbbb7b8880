// What each rank does in the tests of engine/training/comm; the tests start these as processes.
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "comm/comm_world.h"
#include "comm/link_probe.h"
#include "comm/meeting_port.h"
#include "comm/replica_hash.h"
#include "core/clock.h"
#include "faults/rank_fault.h"

namespace isobar::comm_scenarios {

using namespace isobar::testing;

namespace {

const AddScenario sums{"sums", [](const Words& words) {
                         Comm comm = world(words);
                         const at::Tensor values = at::arange(1000, at::kFloat).add(comm.rank());
                         comm.all_reduce(values, Reduce::sum, "values").wait();
                         const int n = comm.size();
                         const at::Tensor expected = at::arange(1000, at::kFloat).mul(n).add(n * (n - 1) / 2);
                         return at::equal(values, expected) ? 0 : 1;
                       }};

/// Every collective with every type that may be sent: rank r brings r + 1.
const AddScenario types{
    "types", [](const Words& words) {
      Comm comm = world(words);
      const int n = comm.size();
      const double sum = n * (n + 1) / 2.0;
      for (const at::ScalarType type :
           {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong, at::kByte}) {
        const std::string name = c10::toString(type);
        const auto mine = [&](std::int64_t count) { return at::full({count}, comm.rank() + 1, type); };
        at::Tensor one = mine(1001);
        comm.all_reduce(one, Reduce::sum, "one").wait();
        require(all_are(one, sum), name + " sum");
        at::Tensor most = mine(7);
        comm.all_reduce(most, Reduce::max, "most").wait();
        require(all_are(most, n), name + " max");
        at::Tensor sent = mine(33);
        comm.broadcast(sent, n - 1, "sent").wait();
        require(all_are(sent, n), name + " broadcast");
        at::Tensor all = at::zeros({n * 5}, type);
        comm.all_gather(all, mine(5), "all").wait();
        for (int rank = 0; rank < n; ++rank)
          require(all_are(all.narrow(0, rank * 5, 5), rank + 1), name + " all_gather");
        at::Tensor part = at::zeros({11}, type);
        comm.reduce_scatter(part, mine(11 * n), Reduce::sum, "part").wait();
        require(all_are(part, sum), name + " reduce_scatter");
        if (!at::isFloatingType(type)) continue;
        at::Tensor mean = mine(9);
        comm.all_reduce(mean, Reduce::mean, "mean").wait();
        require(all_are(mean, sum / n), name + " mean");
      }
      return 0;
    }};

/// 16-bit sums of values that round: all ranks must hold the same bits.
const AddScenario same_bits{
    "same_bits", [](const Words& words) {
      Comm comm = world(words);
      for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat}) {
        at::Tensor values = at::arange(100003, at::kFloat).mul(0.37 + comm.rank()).sin().to(type);
        comm.all_reduce(values, Reduce::mean, "values").wait();
        const auto bits = values.to(at::kDouble);
        const double sum = bits.mul(at::arange(100003, at::kDouble)).sum().item<double>();
        for (const double other : comm.all_gather_numbers(sum, "sums"))
          require(other == sum, std::string("equal bits of ") + c10::toString(type));
      }
      return 0;
    }};

const AddScenario many{
    "many", [](const Words& words) {
      Comm comm = world(words);
      std::vector<at::Tensor> tensors;
      std::vector<Work> works;
      for (int i = 0; i < 40; ++i) {
        tensors.push_back(at::full({1000 * i + 1}, comm.rank() + i, at::kFloat));
        works.push_back(comm.all_reduce(tensors.back(), Reduce::sum, "bucket " + std::to_string(i)));
      }
      const int n = comm.size();
      for (int i = 0; i < 40; ++i) {
        const CollectiveTimes times = works[static_cast<std::size_t>(i)].wait();
        require(times.end_us >= times.ready_us, "an end after its begin");
        require(all_are(tensors[static_cast<std::size_t>(i)], n * (n - 1) / 2 + i * n),
                "the sum of bucket " + std::to_string(i));
      }
      require(comm.counts().calls == 40, "forty calls");
      return 0;
    }};

/// All of what is refused before it is sent; words: backend, case.
const AddScenario refused{"refused", [](const Words& words) {
                            Comm comm = world(words);
                            const at::Tensor some = at::zeros({4}, at::kFloat);
                            const std::string& which = words.at(1);
                            if (which == "type")
                              comm.all_reduce(some.to(at::kBool), Reduce::sum, "it").wait();
                            if (which == "empty") comm.all_reduce(at::zeros({0}), Reduce::sum, "it").wait();
                            if (which == "mean")
                              comm.all_reduce(some.to(at::kLong), Reduce::mean, "it").wait();
                            if (which == "root") comm.broadcast(some, 9, "it").wait();
                            if (which == "gaps")
                              comm.all_reduce(at::zeros({4, 4}).t(), Reduce::sum, "it").wait();
                            if (which == "size") comm.all_gather(some, some, "it").wait();
                            const auto to_all = [&](const at::Tensor& out, const at::Tensor& in,
                                                    const std::vector<std::int64_t>& receives,
                                                    const std::vector<std::int64_t>& sends) {
                              comm.all_to_all(out, in, receives, sends, "it").wait();
                            };
                            if (which == "flat") to_all(some, some.view({2, 2}), {2, 2}, {2, 2});
                            if (which == "counts") to_all(some, some, {2, 2}, {4});
                            if (which == "negative") to_all(some, some, {5, -1}, {2, 2});
                            if (which == "sum") to_all(some, some, {2, 2}, {2, 1});
                            if (which == "own") {
                              const bool first = comm.rank() == 0;
                              to_all(some, some, {2, 2}, {first ? 1 : 3, first ? 3 : 1});
                            }
                            if (which == "mixed") to_all(some.to(at::kDouble), some, {2, 2}, {2, 2});
                            return 0;
                          }};

/// Rank 1 does something else; words: backend, what.
const AddScenario mutated{
    "mutated", [](const Words& words) {
      Comm comm = world(words);
      const at::Tensor a = at::ones({1024}), b = at::ones({1024});
      const std::string& which = words.at(1);
      const bool other = comm.rank() == 1;
      if (which == "group") {
        const Comm part = comm.group(other ? std::vector<int>{1, 0} : std::vector<int>{0, 1}, "pair");
        return 0;
      }
      if (which == "sends") {  // rank 1 expects more than rank 0 has for it
        const std::vector<std::int64_t> sends = {2, other ? 2 : 4}, receives = {other ? 6 : 2, 2};
        comm.all_to_all(at::zeros({other ? 8 : 4}), at::ones({other ? 4 : 6}), receives, sends, "it").wait();
        return 0;
      }
      if (other && which == "extra") comm.all_reduce(at::ones({8}), Reduce::sum, "extra").wait();
      if (other && which == "order") {
        comm.all_reduce(b, Reduce::sum, "bucket 4").wait();
        comm.all_reduce(a, Reduce::sum, "bucket 3").wait();
        return 0;
      }
      if (other && which == "count") comm.all_reduce(at::ones({1023}), Reduce::sum, "bucket 3").wait();
      if (other && which == "type") comm.all_reduce(a.to(at::kDouble), Reduce::sum, "bucket 3").wait();
      if (other && which == "op") comm.broadcast(a, 0, "bucket 3").wait();
      comm.all_reduce(a, Reduce::sum, "bucket 3").wait();
      comm.all_reduce(b, Reduce::sum, "bucket 4").wait();
      comm.barrier("end");
      return 0;
    }};

/// A fault of the configuration made in Comm; words: backend, fault.
const AddScenario faulty{
    "faulty", [](const Words& words) {
      Comm comm = world(words);
      comm.set_seam(rank_fault({.fault = named<Fault>(words.at(1)), .step = 2, .rank = 1}, 1));
      for (int step = 0; step < 4; ++step) {
        comm.begin_step(step);
        std::vector<Work> works;
        const at::Tensor a = at::ones({1024}), b = at::ones({512});
        works.push_back(comm.all_reduce(a, Reduce::mean, "bucket 0"));
        works.push_back(comm.all_reduce(b, Reduce::mean, "bucket 1"));
        for (Work& work : works) work.wait();
      }
      return 0;
    }};

/// Rank 1 goes missing; words: backend, how ("sleeps", "killed", "throws", "leaves"), where ("payload",
/// "control", "async", "unchecked",
/// "subgroup").
const AddScenario missing{
    "missing", [](const Words& words) {
      signal(SIGTERM, SIG_IGN);  // so that they end by what Comm says, not by the launcher
      HeldClock time;
      Comm comm = world(words, 2);
      const at::Tensor values = at::ones({1 << 16});
      comm.all_reduce(values, Reduce::sum, "first").wait();
      Comm part = comm.group(comm.size() == 4 ? std::vector<int>{3, 2, 1, 0} : std::vector<int>{0}, "back");
      comm.begin_step(0);
      const std::string &how = words.at(1), &where = words.at(2);
      const std::string what = where == "control" ? "the end of it" : "bucket 3";
      const auto others_wait = [&] {
        for (int rank = 0; rank < comm.size(); ++rank)
          if (rank != 1 && !has_come(rank, what)) return false;
        return true;
      };
      if (comm.rank() == 1) {
        until(others_wait);
        if (how == "sleeps") until([] { return has_ended(0); });
        if (how == "stopped") kill(getpid(), SIGSTOP);
        if (how == "killed") kill(getpid(), SIGKILL);
        if (how == "throws") throw Error("rank 1 has a reason", "here", "", Exit::bad_input);
        if (how == "leaves") return 0;
      }
      if (how == "sleeps") time.start(others_wait);
      if (how == "stopped") time.start([&] { return others_wait() && is_stopped(1); });
      try {
        if (where == "unchecked") {
          for (int step = 1; step < 5; ++step) comm.begin_step(step);
          comm.all_reduce(values, Reduce::sum, "bucket 3").wait();
        } else if (where == "subgroup") {
          for (int step = 1; step < 5; ++step) comm.begin_step(step);
          part.all_reduce(values, Reduce::sum, "bucket 3").wait();
        } else if (where == "control") {
          comm.barrier("the end of it");
        } else if (where == "async") {
          Work one = comm.all_reduce(values, Reduce::sum, "bucket 3");
          one.wait();
        } else {
          comm.begin_step(1);
          comm.all_reduce(values, Reduce::sum, "bucket 3").wait();
        }
      } catch (const Error&) {
        Comm& broken = where == "subgroup" ? part : comm;
        require(broken.is_broken() && broken.followed() && comm.followed(), "it is broken, by others");
        broken.barrier("again");
      }
      return 0;
    }};

const AddScenario texts{
    "texts", [](const Words& words) {
      Comm comm = world(words);
      for (const std::size_t length : {0u, 1u, 119u, 120u, 5000u}) {
        const std::string mine(length * static_cast<std::size_t>(comm.rank()),
                               static_cast<char>('a' + comm.rank()));
        const std::vector<std::string> all = comm.all_gather_text(mine, "texts");
        for (int rank = 0; rank < comm.size(); ++rank)
          require(all.at(static_cast<std::size_t>(rank)) ==
                      std::string(length * static_cast<std::size_t>(rank), static_cast<char>('a' + rank)),
                  "the text of rank " + std::to_string(rank));
      }
      const std::function<double()> most = comm.start_max(comm.rank() * 1.5, "most");
      comm.barrier("between");
      require(most() == (comm.size() - 1) * 1.5, "the largest");
      comm.check_same("things", "one\ntwo\nthree");
      if (words.size() > 1) comm.check_same("parameters", comm.rank() == 1 ? "a [3]\nb [5]" : "a [3]\nb [4]");
      return 0;
    }};

/// Groups of two, of one, and none.
const AddScenario groups{"groups", [](const Words& words) {
                           Comm comm = world(words);
                           const int n = comm.size(), r = comm.rank();
                           std::vector<std::vector<int>> pairs;
                           for (int i = 0; i < n; i += 2) pairs.push_back({i, i + 1});
                           Comm pair = comm.part(pairs, "pair");
                           require(pair.rank() == r % 2 && pair.size() == 2, "a place in the pair");
                           at::Tensor values = at::full({100}, r, at::kFloat);
                           pair.all_reduce(values, Reduce::sum, "values").wait();
                           require(all_are(values, 2 * (r - r % 2) + 1), "the sum of the pair");
                           Comm last = comm.group({n - 1}, "last");
                           require(last.is_member() == (r == n - 1), "who is in it");
                           if (r == 0) {
                             try {
                               last.all_reduce(values, Reduce::sum, "values").wait();
                               return 1;
                             } catch (const Error& error) {
                               std::printf("%s\n", error.text().c_str());
                             }
                           }
                           Comm odd = comm.group({n - 1, 0}, "ends");
                           if (odd.is_member()) {
                             at::Tensor mine = at::full({3}, r, at::kFloat);
                             odd.broadcast(mine, 0, "mine").wait();
                             require(all_are(mine, n - 1), "what the first of the group sent");
                           }
                           comm.barrier("end");
                           return 0;
                         }};

/// Rank 2 comes late.
const AddScenario last_rank{
    "last_rank", [](const Words& words) {
      Comm comm = world(words);
      const at::Tensor values = at::ones({1000});
      comm.all_reduce(values, Reduce::max, "first").wait();
      if (comm.rank() == 2) until([] { return has_come(0, "it") && has_come(1, "it") && has_come(3, "it"); });
      const CollectiveTimes times = comm.all_reduce(values, Reduce::max, "it").wait();
      require(times.last_rank == 2, "rank 2 was the last");
      require(times.begin_us >= times.ready_us && times.end_us >= times.begin_us, "times in order");
      return 0;
    }};

/// Weights that rank 1 may have changed; words: backend, "equal" or "flipped".
const AddScenario replicas{
    "replicas", [](const Words& words) {
      Comm comm = world(words);
      const at::Tensor values = at::arange(3000, at::kFloat).mul(0.01);
      if (words.at(1) == "flipped" && comm.rank() == 1) flip_bit(values, 1500, 3);
      compare_replicas(
          comm, values,
          [&] {
            std::vector<NamedValues> out;
            for (int i = 0; i < 3; ++i)
              out.push_back({"layer" + std::to_string(i), values.narrow(0, i * 1000, 1000)});
            return out;
          },
          "step 100");
      return 0;
    }};

const AddScenario probe{"probe", [](const Words& words) {
                          Comm comm = world(words);
                          const std::int64_t begin_us = steady_us();
                          const LinkProbe probe = probe_link(comm, at::kCPU);
                          std::printf("%s; took %.3f s\n", probe_text(probe, comm).c_str(),
                                      static_cast<double>(steady_us() - begin_us) * 1e-6);
                          require(probe.latency_us > 0 && probe.bytes >= 16384 && probe.algbw_gb_per_s > 0,
                                  "figures");
                          for (const double other : comm.all_gather_numbers(probe.algbw_gb_per_s, "probe"))
                            require(other == probe.algbw_gb_per_s, "the same figures on all ranks");
                          require(comm.counts().calls == 0, "what a probe sends does not count");
                          return 0;
                        }};

/// What comparing costs; words: backend.
const AddScenario check_cost{"check_cost", [](const Words& words) {
                               Comm comm = world(words);
                               const at::Tensor values = at::ones({256});
                               for (int step = 0; step < 8; ++step) {
                                 comm.begin_step(step);  // the first three are checked
                                 const std::int64_t begin_us = steady_us();
                                 for (int i = 0; i < 200; ++i)
                                   comm.all_reduce(values, Reduce::max, "it").wait();
                                 const double us = static_cast<double>(steady_us() - begin_us) / 200;
                                 if (comm.rank() == 0) std::printf("step %d: %.1f us\n", step, us);
                               }
                               return 0;
                             }};

/// A world over the variables of torchrun; words: port, then what is odd.
const AddScenario over_tcp{"over_tcp", [](const Words& words) {
                             at::set_num_threads(1);
                             RankEnvironment environment = read_rank_environment();
                             environment.launched_by = LaunchedBy::torchrun;
                             environment.meeting_file.clear();
                             environment.address = "127.0.0.1";
                             environment.port = std::stoi(words.at(0));
                             const std::string odd = words.size() > 1 ? words[1] : "";
                             if (odd == "no_host" && environment.rank == 1)
                               environment.address = "nowhere.invalid";
                             if (odd == "other_host" && environment.rank == 0)
                               environment.address = "192.0.2.1";
                             if (odd == "world" && environment.rank == 1) environment.world += 1;
                             if (odd == "twice" && environment.rank == 2) environment.rank = 1;
                             if (odd == "late" && environment.rank == 1) {
                               pause();  // until it is ended
                               return 0;
                             }
                             if (odd == "silent" && environment.rank == 0) {
                               pause();  // until it is ended
                               return 0;
                             }
                             if (odd == "deaf" && environment.rank == 0) {
                               listen_on(environment.address, environment.port);
                               pause();  // until it is ended
                               return 0;
                             }
                             Comm comm(environment, config_of({"gloo"}, 3), false);
                             if (odd == "stopped") {
                               comm.barrier("the beginning");
                               if (environment.rank == 0) kill(getpid(), SIGSTOP);
                               comm.barrier("the end of it");
                             }
                             const at::Tensor values = at::ones({100});
                             comm.all_reduce(values, Reduce::sum, "values").wait();
                             return all_are(values, comm.size()) ? 0 : 1;
                           }};

}  // namespace

}  // namespace isobar::comm_scenarios
