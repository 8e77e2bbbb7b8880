// Ranks of Comm in groups, and what they know of each other; the tests start these as processes.
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>

#include "comm/comm_world.h"
#include "launch/mesh.h"
#include "launch/rank_status.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

/// What rank `from` has for rank `to`: none, some, or more than one piece; `odd`: only the first rank sends.
std::int64_t count_for(int from, int to, bool odd) {
  if (odd) return from == 0 ? 3 * to : 0;
  return (from + 2 * to) % 3 == 0 ? 0 : (from + 1) * 40'000 + to;
}

/// Each rank's elements for each other one, in sizes that differ; words: backend, "odd".
const AddScenario to_each{
    "to_each", [](const Words& words) {
      Comm comm = world(words);
      const int n = comm.size(), r = comm.rank();
      const bool odd = words.size() > 1;
      std::int64_t wire = 0, calls = 0;
      for (const at::ScalarType type :
           {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong, at::kByte}) {
        std::vector<std::int64_t> sends, receives;
        std::vector<at::Tensor> mine, expected;
        for (int other = 0; other < n; ++other) {
          sends.push_back(count_for(r, other, odd));
          receives.push_back(count_for(other, r, odd));
          mine.push_back(at::full({sends.back()}, 10 * r + other, type));
          expected.push_back(at::full({receives.back()}, 10 * other + r, type));
          if (other != r) wire += sends.back() * static_cast<std::int64_t>(mine.back().itemsize());
        }
        const at::Tensor wanted = at::cat(expected), out = at::zeros_like(wanted);
        comm.all_to_all(out, at::cat(mine), receives, sends, "to each").wait();
        require(at::equal(out, wanted), std::string("what each has for this rank, ") + c10::toString(type));
        require(comm.counts().calls == ++calls && comm.counts().wire_bytes == wire, "bytes for other ranks");
      }
      const at::Tensor sum = at::ones({5});  // between other collectives, in order
      comm.all_reduce(sum, Reduce::sum, "sum").wait();
      require(all_are(sum, n), "a sum behind it");
      return 0;
    }};

/// Rank 1 has waited for an exchange of the same name before it stands still in front of this one.
const AddScenario stale{"stale", [](const Words& words) {
                          signal(SIGTERM, SIG_IGN);
                          HeldClock time;
                          Comm comm = world(words, 2);
                          if (comm.rank() == 0) {
                            until([] { return has_come(1, "checkpoint"); });
                            // Longer than its patience, so that it leaves the word that it waits.
                            for (int i = 0; i < 5; ++i) pause_us(200'000);
                            time.start([] { return is_stopped(1); });
                          } else {
                            time.clock.advance_us(1'000'000);
                          }
                          comm.barrier("checkpoint");
                          if (comm.rank() == 1) kill(getpid(), SIGSTOP);
                          comm.barrier("checkpoint");
                          return 0;
                        }};

/// Rank 1 comes first, and its process is stopped while it waits.
const AddScenario stopped_inside{"stopped_inside", [](const Words& words) {
                                   signal(SIGTERM, SIG_IGN);
                                   HeldClock time;
                                   Comm comm = world(words, 2);
                                   const auto rank_1 = [] {
                                     return read_rank_status(meeting_folder(), 1).value_or(RankStatus{});
                                   };
                                   comm.barrier("start");
                                   const at::Tensor values = at::ones({1 << 16});
                                   if (comm.rank() == 1) {
                                     std::thread stopper([&] {
                                       until([&] { return rank_1().reached >= 0; });
                                       kill(getpid(), SIGSTOP);
                                     });
                                     stopper.detach();
                                   } else {
                                     until([] { return is_stopped(1); });
                                     time.start([] { return has_come(0, "values"); });
                                   }
                                   comm.all_reduce(values, Reduce::sum, "values").wait();
                                   return 0;
                                 }};

/// A group that was made before its world was told where spans and words go.
const AddScenario told{"told", [](const Words& words) {
                         Comm comm = world(words);
                         Comm pair = comm.part({{0, 1}}, "pair");
                         const auto folder = meeting_folder() / "told";
                         std::filesystem::create_directories(folder);
                         StatusSlot status(folder, comm.rank());
                         comm.tell(nullptr, &status, folder);
                         const at::Tensor values = at::ones({8});
                         pair.all_reduce(values, Reduce::sum, "values").wait();
                         const auto said = [&] { return *read_rank_status(folder, comm.rank()); };
                         require(said().what == "group pair.0, collective 0: all_reduce sum f32[8] values",
                                 "what the pair did: " + said().what);
                         require(said().reached == -1, "numbers of the world are its own");
                         Work first = comm.all_reduce(values, Reduce::sum, "first");
                         Work second = comm.all_reduce(values, Reduce::sum, "second");
                         first.wait();
                         require(said().collective == 0 && said().reached == 1, "it has come to both");
                         second.wait();
                         comm.barrier("end");
                         require(said().exchange > 0, "its exchanges count");
                         return 0;
                       }};

/// Rank 0 waits, and its clock jumps an hour: its process, or its machine, stood still. Rank 1 comes after
/// that.
const AddScenario jumped{"jumped", [](const Words& words) {
                           SetClock clock;
                           Comm comm = world(words, 3);
                           comm.barrier("start");
                           const at::Tensor values = at::ones({1000});
                           std::jthread jump;
                           if (comm.rank() == 0) {
                             jump = std::jthread([&] {
                               until([] { return has_come(0, "it"); });
                               pause_us(200'000);  // it looks at the clock when it begins to wait,
                               clock.advance_us(3'600'000'000);
                               // and again when its patience ends, by the machine's clock or by that one
                               for (int i = 0; i < 9; ++i) pause_us(200'000);
                               say("jumped");
                             });
                           } else {
                             until([] { return is_said("jumped"); });
                           }
                           if (words.at(1) == "payload") comm.all_reduce(values, Reduce::max, "it").wait();
                           comm.barrier("it");
                           return 0;
                         }};

/// All processes stand still for longer than comm.timeout_s in the middle of a wait, then go on. In real
/// time.
const AddScenario paused{"paused", [](const Words& words) {
                           Comm comm = world(words, 3);
                           const pid_t rank = getpid();
                           const bool is_late = comm.rank() == 1;
                           comm.barrier("start");
                           if (fork() == 0) {
                             usleep(300'000);
                             kill(rank, SIGSTOP);
                             usleep(is_late ? 4'300'000 : 4'000'000);
                             kill(rank, SIGCONT);
                             _exit(0);
                           }
                           if (is_late) usleep(600'000);
                           const at::Tensor values = at::ones({1000});
                           if (words.at(1) == "payload") comm.all_reduce(values, Reduce::max, "it").wait();
                           comm.barrier("end");
                           return 0;
                         }};

const AddScenario same_name{
    "same_name", [](const Words& words) {
      Comm comm = world(words);
      for (const std::vector<int>& ranks : std::vector<std::vector<int>>{{0, 1}, {0, 1}, {0, 2}, {0, 2, 1}}) {
        Comm pair = comm.group(ranks, "pair");
        if (!pair.is_member()) continue;
        at::Tensor values = at::ones({10});
        pair.all_reduce(values, Reduce::sum, "values").wait();
        require(all_are(values, pair.size()), "the sum of the group");
        pair.barrier("end");
      }
      return 0;
    }};

/// Who is no member is refused, whatever it calls.
const AddScenario outside{"outside", [](const Words& words) {
                            Comm comm = world(words);
                            Comm first = comm.group({0}, "first");
                            if (comm.rank() == 0) return 0;
                            const std::vector<std::function<void()>> calls = {
                                [&] { first.barrier("it"); },
                                [&] { first.all_gather_text("mine", "it"); },
                                [&] { first.all_gather_numbers(1, "it"); },
                                [&] { first.check_same("things", "mine"); },
                                [&] { first.start_max(1, "it"); },
                                [&] { first.broadcast(at::ones({1}), 0, "it"); }};
                            for (const auto& call : calls) {
                              try {
                                call();
                                return 1;
                              } catch (const Error& error) {
                                std::printf("%s\n", error.text().c_str());
                              }
                            }
                            return 0;
                          }};

/// Rank 1 brings what no transport takes.
const AddScenario no_start{"no_start", [](const Words& words) {
                             signal(SIGTERM, SIG_IGN);
                             Comm comm = world(words, 5);
                             const at::Device place = comm.rank() == 1 ? at::kMeta : at::kCPU;
                             comm.all_reduce(at::ones({8}, at::device(place)), Reduce::sum, "it").wait();
                             return 0;
                           }};

/// Ranks that differ behind everything that one message holds.
const AddScenario many_groups{"many_groups", [](const Words& words) {
                                Comm comm = world(words);
                                std::vector<std::vector<int>> groups;
                                for (int i = 0; i < comm.size(); ++i) groups.push_back({i});
                                if (comm.rank() == 1) groups.back() = {};
                                if (comm.rank() == 1) groups.pop_back();
                                comm.part(groups, std::string(300, 'n'));
                                return 0;
                              }};

const AddScenario mesh{"mesh", [](const Words& words) {
                         Comm comm = world(words);
                         const Mesh mesh("tp-dp", {.tp = 2, .dp = 2}, comm.size());
                         for (const std::string axis : {"tp", "dp"}) {
                           Comm part = comm.part(mesh.groups(axis), axis);
                           require(part.members() == mesh.group_of(comm.rank(), axis),
                                   "the ranks of " + axis);
                           require(part.rank() == mesh.coordinate(comm.rank(), axis), "a place on " + axis);
                           at::Tensor values = at::full({100}, comm.rank(), at::kFloat);
                           part.all_reduce(values, Reduce::sum, "values").wait();
                           const int sum = part.members()[0] + part.members()[1];
                           require(all_are(values, sum), "the sum on " + axis);
                         }
                         return 0;
                       }};

/// Rank 1 has another setting; words: backend, key, value.
const AddScenario other_setting{"other_setting", [](const Words& words) {
                                  at::set_num_threads(1);
                                  CommConfig config = config_of(words);
                                  const RankEnvironment environment = read_rank_environment();
                                  if (environment.rank == 1 && words.at(1) == "backend")
                                    config.backend = named<BackendKind>(words.at(2));
                                  if (environment.rank == 1 && words.at(1) == "latency")
                                    config.link.latency_us = std::stod(words.at(2));
                                  if (environment.rank == 1 && words.at(1) == "node_link")
                                    config.node_link.gbit_per_s = std::stod(words.at(2));
                                  Comm comm(environment, config, false);
                                  return 0;
                                }};

/// The folder holds what an earlier launch left: rank 1 failed there.
const AddScenario old_pages{"old_pages", [](const Words& words) {
                              signal(SIGTERM, SIG_IGN);
                              HeldClock time;
                              Comm comm = world(words, 2);
                              const auto folder = meeting_folder() / "old";
                              std::filesystem::create_directories(folder);
                              StatusSlot status(folder, comm.rank());
                              if (comm.rank() == 1) {
                                status.join(1);
                                status.end(RankPhase::failed);
                              } else {
                                comm.tell(nullptr, &status, folder);
                              }
                              comm.barrier("start");
                              if (comm.rank() == 1) {
                                until([] { return has_ended(0); });
                                return 0;
                              }
                              time.start([] { return true; });
                              comm.barrier("end");
                              return 0;
                            }};

}  // namespace
