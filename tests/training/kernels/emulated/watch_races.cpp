// Compiled with -fsanitize=thread, kernels call the functions at the end of this file for each access to
// memory. The compiler's own runtime would know fibers too, but takes 0.4 ms to make one, and a launch of
// gradient_norm has 262,144 threads, each of which must be new lest a block be ordered behind the one before.
// CUDA's rules are simpler than those of a processor's threads: a barrier orders the threads of a block that
// wait at it, warp intrinsics order nothing, and blocks of one launch are never ordered, so that a place is
// told by its last write and its last readers.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "kernels/emulated/watch.h"

namespace isobar::emulated {
namespace {

constexpr std::size_t kGrain = 2;  // bytes of the smallest value of a kernel
constexpr std::uint32_t kMany = 0xffffffffU;

/// Who was at a place, and how many barriers behind the begin of its block.
struct Access {
  std::uint32_t launch = 0;
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uint32_t barriers = 0;
};

struct Place {
  Access write;
  Access read;  ///< the last one; `kMany` blocks, or threads since one barrier
  bool atomic = false;
};

struct Region {
  Memory memory;
  const char* name;
  std::size_t bytes;
  std::vector<Place> places;
};

std::map<std::uintptr_t, Region>& regions() {  // by their begin
  static std::map<std::uintptr_t, Region> all;
  return all;
}

enum class Kind { read, write, atomic };
constexpr std::array<const char*, 3> kVerbs = {"reads", "writes", "adds to"};

std::string place_name(const Region& region, std::size_t byte) {
  return "byte " + std::to_string(byte) + " of " + std::to_string(region.bytes) + " of " +
         (region.memory == Memory::shared ? "shared memory " : "") + region.name;
}

/// Whether all of `before` is done when the running thread goes on.
bool is_ordered(const Access& before, const Moment& now, bool shared) {
  if (before.launch != now.launch) return true;
  if (before.block != now.block) return shared;  // blocks have shared memory of their own
  if (before.block == kMany || before.thread == kMany) return barriers_passed(now.thread) > before.barriers;
  return before.thread == now.thread ||
         (barriers_passed(now.thread) > before.barriers && barriers_passed(before.thread) > before.barriers);
}

[[noreturn]] void report(const Region& region, std::size_t byte, Kind kind, const Access& before,
                         const char* verb) {
  std::string who = before.thread == kMany ? "several threads" : "thread " + std::to_string(before.thread);
  who += before.block == kMany ? " of several blocks" : " of block " + std::to_string(before.block);
  refuse(std::string("data race: ") + kVerbs[static_cast<std::size_t>(kind)] + " " +
         place_name(region, byte) + ", which " + who + " " + verb + ", with no barrier between them");
}

void note_read(Access& read, const Access& now, bool shared) {
  if (read.launch == now.launch && read.block != now.block && !shared) {
    read.block = kMany;
  } else if (read.launch == now.launch && read.block == now.block && read.barriers == now.barriers) {
    if (read.thread != now.thread) read.thread = kMany;
  } else {
    read = now;
  }
}

void touch(Region& region, std::size_t byte, Kind kind, const Moment& now) {
  Place& place = region.places[byte / kGrain];
  const bool shared = region.memory == Memory::shared;
  const Access mine = {now.launch, now.block, now.thread, barriers_passed(now.thread)};
  const bool both_atomic = kind == Kind::atomic && place.atomic;
  if (!both_atomic && !is_ordered(place.write, now, shared)) {
    report(region, byte, kind, place.write, place.atomic ? "adds to" : "writes");
  }
  const bool written = place.write.launch == now.launch && place.write.block == now.block;
  if (shared && kind != Kind::write && !written) {
    refuse("reads " + place_name(region, byte) + ", which no thread of its block has written");
  }
  if (kind != Kind::read && !is_ordered(place.read, now, shared)) {
    report(region, byte, kind, place.read, "reads");
  }
  if (kind == Kind::read) return note_read(place.read, mine, shared);
  place.write = mine;
  place.atomic = kind == Kind::atomic;
}

/// The one that was touched last: most accesses are to it. Null after a change of regions.
std::pair<const std::uintptr_t, Region>* last = nullptr;

/// The region with this address; null where it is on a stack, or the program's own.
std::pair<const std::uintptr_t, Region>* region_at(std::uintptr_t address) {
  auto& all = regions();
  if (last != nullptr && address - last->first < last->second.bytes) return last;
  auto next = all.upper_bound(address);
  if (next == all.begin()) return nullptr;
  --next;
  if (address - next->first >= next->second.bytes) return nullptr;
  return last = &*next;
}

void touch(const void* at, std::size_t bytes, Kind kind) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto* const found = region_at(address);
  if (found == nullptr) return;
  const Moment now = moment();
  const std::size_t begin = address - found->first;
  const std::size_t end = std::min(begin + bytes, found->second.bytes);
  for (std::size_t byte = begin; byte < end; byte += kGrain) touch(found->second, byte, kind, now);
}

}  // namespace

std::byte* take(Memory memory, const char* name, std::size_t bytes, std::size_t alignment) {
  void* const out = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (out == nullptr) throw std::bad_alloc();
  last = nullptr;
  regions()[reinterpret_cast<std::uintptr_t>(out)] = {memory, name, bytes,
                                                      std::vector<Place>((bytes + kGrain) / kGrain)};
  return static_cast<std::byte*>(out);
}

void give_back(std::byte* bytes) {
  last = nullptr;
  regions().erase(reinterpret_cast<std::uintptr_t>(bytes));
  std::free(bytes);
}

bool finds_accesses_beside() { return false; }

void leave_stack(void**, const void*, std::size_t) {}
void arrive_on_stack(void*) {}

}  // namespace isobar::emulated

// What the compiler calls.

using isobar::emulated::Kind;
using isobar::emulated::touch;

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read1(void* at) { touch(at, 1, Kind::read); }
void __tsan_read2(void* at) { touch(at, 2, Kind::read); }
void __tsan_read4(void* at) { touch(at, 4, Kind::read); }
void __tsan_read8(void* at) { touch(at, 8, Kind::read); }
void __tsan_read16(void* at) { touch(at, 16, Kind::read); }
void __tsan_write1(void* at) { touch(at, 1, Kind::write); }
void __tsan_write2(void* at) { touch(at, 2, Kind::write); }
void __tsan_write4(void* at) { touch(at, 4, Kind::write); }
void __tsan_write8(void* at) { touch(at, 8, Kind::write); }
void __tsan_write16(void* at) { touch(at, 16, Kind::write); }
void __tsan_read_range(void* at, std::size_t bytes) { touch(at, bytes, Kind::read); }
void __tsan_write_range(void* at, std::size_t bytes) { touch(at, bytes, Kind::write); }
void __tsan_vptr_update(void**, void*) {}
std::uint64_t __tsan_atomic64_fetch_add(std::uint64_t* at, std::uint64_t value, int) {
  touch(at, sizeof value, Kind::atomic);
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
}
