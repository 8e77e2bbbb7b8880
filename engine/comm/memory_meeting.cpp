#include "comm/memory_meeting.h"

#include <fmt/format.h>

#include "comm/bounded.h"
#include "core/error.h"

namespace isobar {
namespace {

constexpr const char* kMapped = "mapped";
constexpr auto kGrace = std::chrono::seconds(1);

std::string key_of(const std::string& name, int rank) { return fmt::format("memory/{}/{}", name, rank); }

void say(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

/// The server of the store may stand still too, and then its own time-out never comes.
std::string hear(const c10::intrusive_ptr<c10d::Store>& store, const std::string& key, int rank,
                 double timeout_s) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  try {
    const auto bytes = within(timeout + kGrace, [store, key, timeout] {
      store->wait({key}, timeout);
      return store->get(key);
    });
    if (bytes) return {bytes->begin(), bytes->end()};
  } catch (const std::exception&) {  // the same to whoever waits
  }
  throw Error(fmt::format("rank {} did not come within {:g} s", rank, timeout_s), "memory between ranks",
              "look at what that rank said; comm.timeout_s is how long the others wait", Exit::failed);
}

}  // namespace

std::vector<std::string> exchange_texts(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                        const std::string& name, const std::string& mine, double timeout_s) {
  say(*store, key_of(name, rank), mine);
  std::vector<std::string> out;
  for (int other = 0; other < size; ++other) {
    out.push_back(hear(store, key_of(name, other), other, timeout_s));
  }
  return out;
}

SharedMemory meet_in_memory(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                            const std::string& name, std::uint64_t bytes, double timeout_s) {
  const std::string door = key_of(name, size);  // no rank has that number
  SharedMemory memory;
  std::string mine = kMapped;
  try {
    if (rank == 0) {
      memory = SharedMemory::make(bytes);
      say(*store, door, memory.address());
    } else {
      const std::string address = hear(store, door, 0, timeout_s);
      if (!address.empty()) memory = SharedMemory::open(address, bytes);
    }
  } catch (const Error& error) {
    mine = error.what();
    if (rank == 0) say(*store, door, "");
  }
  const std::vector<std::string> all = exchange_texts(store, rank, size, name, mine, timeout_s);
  for (int other = 0; other < size; ++other) {
    const std::string& text = all[static_cast<std::size_t>(other)];
    if (text == kMapped) continue;
    throw Error(fmt::format("rank {}: {}", other, text), "memory between ranks",
                "comm.backend=gloo needs no shared memory", Exit::failed);
  }
  memory.close_door();
  return memory;
}

}  // namespace isobar
