#pragma once
// What a build of the emulated kernels looks for beside wrong results; each has one of the files watch_*.cpp.
//   plain      memory around operands that was written to; values of shared memory that nobody wrote are NaN
//   addresses  the compiler's address and undefined-behaviour sanitizers: one element beyond an operand or an
//              array of shared memory, loads and stores that are not aligned as their type asks
//   races      two accesses to one place, one of them a write, that no barrier orders; reads of shared memory
//              that no thread of the block has written
#include <cstddef>
#include <cstdint>
#include <string>

namespace isobar::emulated {

enum class Memory { global, shared };

/// Bytes that a kernel may touch, and none beside; they stay until `give_back`. `name` outlives them.
std::byte* take(Memory memory, const char* name, std::size_t bytes, std::size_t alignment);
void give_back(std::byte* bytes);

/// Whether the build finds accesses beside what was taken; else operands need a margin that is compared.
bool finds_accesses_beside();

/// What runs goes on on another stack, of `bytes` from `bottom` on; null: on the one that it came from.
void leave_stack(void** kept, const void* bottom, std::size_t bytes);
void arrive_on_stack(void* kept);

// For those files: where the running thread is.

struct Moment {
  std::uint32_t launch;  ///< from 1 on
  std::uint32_t block;   ///< of the launch
  std::uint32_t thread;  ///< of the block
};
Moment moment();
/// Barriers that a thread of the running block has passed.
std::uint32_t barriers_passed(std::uint32_t thread);

/// Ends the program: `what` the running thread does.
[[noreturn]] void refuse(const std::string& what);

}  // namespace isobar::emulated
