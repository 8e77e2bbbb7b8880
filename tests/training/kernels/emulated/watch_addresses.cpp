#include <sanitizer/common_interface_defs.h>

#include <cstdlib>
#include <new>

#include "kernels/emulated/watch.h"

namespace isobar::emulated {
namespace {

const void* came_from = nullptr;
std::size_t came_from_bytes = 0;

}  // namespace

/// Each a block of the heap that ends with the last byte asked for: the sanitizer guards either side.
std::byte* take(Memory, const char*, std::size_t bytes, std::size_t alignment) {
  void* out = nullptr;
  if (posix_memalign(&out, alignment < sizeof out ? sizeof out : alignment, bytes) != 0)
    throw std::bad_alloc();
  return static_cast<std::byte*>(out);
}

void give_back(std::byte* bytes) { std::free(bytes); }

bool finds_accesses_beside() { return true; }

void leave_stack(void** kept, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(kept, bottom == nullptr ? came_from : bottom,
                                 bottom == nullptr ? came_from_bytes : bytes);
}

void arrive_on_stack(void* kept) { __sanitizer_finish_switch_fiber(kept, &came_from, &came_from_bytes); }

}  // namespace isobar::emulated
