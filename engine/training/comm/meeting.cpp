#include "comm/meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "comm/bounded.h"
#include "comm/meeting_port.h"
#include "comm/rank_words.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/machine.h"
#include "core/text.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::int64_t kTell_us = 5'000'000;
constexpr auto kGrace = std::chrono::seconds(2);  // for a rank that reports what is wrong before this one

std::string this_machine() { return host_name() + "/" + boot_id(); }

std::string place(const RankEnvironment& environment) {
  return environment.launched_by == LaunchedBy::isobar
             ? fmt::format("rank {} of {}", environment.rank, environment.world)
             : fmt::format("rank {} of {}, store on {}:{}", environment.rank, environment.world,
                           environment.address, environment.port);
}

std::string key_of(int rank) { return "here/" + std::to_string(rank); }

/// Checks the word that a rank left when it came.
void check_word(const RankEnvironment& environment, int rank, const std::string& world) {
  if (world == std::to_string(environment.world)) return;
  throw Error(fmt::format("rank {} was started as one of {} ranks, and rank {} as one of {}",
                          environment.rank, environment.world, rank, printable(world, 20)),
              place(environment), "WORLD_SIZE, or srun's --ntasks, must be one number for all ranks");
}

/// Not 0, and not twice.
std::uint64_t some_number() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32 | source()) | 1;
}

/// Says that this rank is there. Error when it is there already.
void come(c10d::Store& store, const RankEnvironment& environment) {
  if (store.add("claim/" + std::to_string(environment.rank), 1) != 1) {
    throw Error(fmt::format("there is a rank {} already", environment.rank), place(environment),
                "two launches use one meeting: give each a MASTER_PORT of its own");
  }
  store.set(key_of(environment.rank),
            fmt::format("{} {} {:016x}", environment.world, this_machine(), some_number()));
}

/// The machine, "host/start", of a word "2 host/start number".
std::string machine_of(const std::string& word) {
  const std::size_t begin = word.find(' ') + 1;
  return word.substr(begin, word.rfind(' ') - begin);
}

std::uint64_t number_of(const std::string& word) {
  return std::strtoull(word.c_str() + word.rfind(' ') + 1, nullptr, 16);
}

/// The words of all ranks, by rank, once all are there.
std::vector<std::string> wait_for_all(c10d::Store& store, const RankEnvironment& environment,
                                      double timeout_s) {
  const std::int64_t begin_us = steady_us();
  std::vector<std::string> words(static_cast<std::size_t>(environment.world));
  std::vector<int> missing;
  for (bool told = false;;) {
    missing.clear();
    for (int rank = 0; rank < environment.world; ++rank) {
      std::string& word = words[static_cast<std::size_t>(rank)];
      if (!word.empty()) continue;
      if (!store.check({key_of(rank)})) {
        missing.push_back(rank);
        continue;
      }
      word = store.get_to_str(key_of(rank));
      check_word(environment, rank, word.substr(0, word.find(' ')));
    }
    if (missing.empty()) return words;
    const std::int64_t waited_us = steady_us() - begin_us;
    if (static_cast<double>(waited_us) > timeout_s * 1e6) break;
    if (!told && waited_us > kTell_us) {
      told = true;
      std::fprintf(stderr, "rank %d waits for rank %s to start\n", environment.rank,
                   rank_list(missing).c_str());
    }
    pause_us(waited_us < 1'000'000 ? 2'000 : 50'000);
  }
  // The store ends with rank 0, and the others, who came later, have the same error to report.
  if (environment.rank == 0) std::this_thread::sleep_for(kGrace / 2);
  std::vector<int> came;
  for (int rank = 0; rank < environment.world; ++rank) {
    if (!words[static_cast<std::size_t>(rank)].empty()) came.push_back(rank);
  }
  throw Error(fmt::format("waited {:g} s, and not all ranks came: there are {}, missing are {}", timeout_s,
                          rank_list(came), rank_list(missing)),
              place(environment), "see the output of the missing ones; comm.timeout_s is the longest wait",
              Exit::failed);
}

using StoreOpener = std::function<c10::intrusive_ptr<c10d::Store>()>;

/// Waits until somebody listens where rank 0 is to be; what comes back connects.
StoreOpener opener_of(const RankEnvironment& environment, std::chrono::milliseconds timeout) {
  if (environment.launched_by == LaunchedBy::isobar) {
    return [environment, timeout] {
      auto store = c10::make_intrusive<c10d::FileStore>(environment.meeting_file, environment.world);
      store->setTimeout(timeout);
      return store;
    };
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.port);
  options.waitWorkers = false;  // we wait ourselves, and know who is missing
  options.timeout = timeout;
  std::string host = environment.address;
  if (environment.rank == 0) {
    const ListeningPort port = listen_on(environment.address, environment.port);
    options.isServer = true;
    options.masterListenFd = port.socket;
    host = port.address;
  } else {
    host = wait_for_port(environment.address, environment.port, environment.rank,
                         static_cast<double>(timeout.count()) * 1e-3);
  }
  return [host, options] { return c10::make_intrusive<c10d::TCPStore>(host, options); };
}

Meeting meet_at(const StoreOpener& open, const RankEnvironment& environment, double timeout_s) {
  Meeting out;
  out.store = open();
  come(*out.store, environment);
  const std::vector<std::string> words = wait_for_all(*out.store, environment, timeout_s);
  out.machine = this_machine();
  out.launch = number_of(words[0]);
  out.on_one_machine = std::all_of(words.begin(), words.end(),
                                   [&](const std::string& word) { return machine_of(word) == out.machine; });
  return out;
}

}  // namespace

Meeting meet(const RankEnvironment& environment, double timeout_s) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  std::optional<Meeting> met;
  try {
    const StoreOpener open = opener_of(environment, timeout);
    met = within(timeout + kGrace, [=] { return meet_at(open, environment, timeout_s); });
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error("the ranks cannot meet: " + printable_line(error.what(), 200), place(environment),
                environment.launched_by == LaunchedBy::isobar
                    ? "they meet in " + environment.meeting_file +
                          ": is its file system full, or without locks? TMPDIR names another place"
                    : "MASTER_ADDR and MASTER_PORT name the host of rank 0 and a free port of it",
                Exit::failed);
  }
  if (!met) {
    throw Error("rank 0, at which the ranks meet, does not answer", place(environment),
                "see what rank 0 does: its process may be stopped", Exit::failed);
  }
  if (environment.launched_by != LaunchedBy::isobar && !is_loopback(environment.address))
    met->note = fmt::format("store on {}:{} is open to this network, no authorisation", environment.address,
                            environment.port);
  return *std::move(met);
}

}  // namespace isobar
