#include "comm/memory_meeting.h"

#include <fmt/format.h>

#include "comm/bounded.h"
#include "core/error.h"

namespace isobar {
namespace {

constexpr const char* kMapped = "mapped";
constexpr const char* kWhere = "memory between ranks";
constexpr auto kMemoryGrace = std::chrono::seconds(1);

std::string key_of(const std::string& name, int rank) { return fmt::format("memory/{}/{}", name, rank); }

void say(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

/// The server of the store may stand still too, and then its own time-out never comes.
std::string hear(const GroupMeeting& group, const std::string& key, int rank, const std::string& where) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(group.timeout_s * 1e3));
  try {
    const auto bytes = within(timeout + kMemoryGrace, [store = group.store, key, timeout] {
      store->wait({key}, timeout);
      return store->get(key);
    });
    if (bytes) return {bytes->begin(), bytes->end()};
  } catch (const std::exception&) {  // the same to whoever waits
  }
  throw Error(fmt::format("rank {} did not come within {:g} s", group.members[static_cast<std::size_t>(rank)],
                          group.timeout_s),
              where, "see the output of that rank; comm.timeout_s is how long the others wait", Exit::failed);
}

}  // namespace

std::vector<std::string> exchange_texts(const GroupMeeting& group, const std::string& name,
                                        const std::string& mine, const std::string& where) {
  say(*group.store, key_of(name, group.rank), mine);
  std::vector<std::string> out;
  for (int other = 0; other < group.size(); ++other)
    out.push_back(hear(group, key_of(name, other), other, where));
  return out;
}

SharedMemory meet_in_memory(const GroupMeeting& group, const std::string& name, std::uint64_t bytes) {
  const std::string door = key_of(name, group.size());  // no rank has that number
  SharedMemory memory;
  std::string mine = kMapped;
  try {
    if (group.rank == 0) {
      memory = SharedMemory::make(bytes);
      say(*group.store, door, memory.address());
    } else {
      const std::string address = hear(group, door, 0, kWhere);
      if (!address.empty()) memory = SharedMemory::open(address, bytes);
    }
  } catch (const Error& error) {
    mine = error.what();
    if (group.rank == 0) say(*group.store, door, "");
  }
  const std::vector<std::string> all = exchange_texts(group, name, mine, kWhere);
  for (std::size_t other = 0; other < all.size(); ++other) {
    if (all[other] == kMapped) continue;
    throw Error(fmt::format("rank {}: {}", group.members[other], all[other]), kWhere,
                "comm.backend=gloo needs no shared memory", Exit::failed);
  }
  memory.close_door();
  return memory;
}

}  // namespace isobar
