#include "core/large_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Makes all pages be there; a kernel before 5.14 does not know the call, and is made to by writing.
void populate(std::byte* begin, std::size_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers do not name
  if (madvise(begin, bytes, kPopulateWrite) == 0) return;
  std::memset(begin, 0, bytes);
}

}  // namespace

std::shared_ptr<std::byte> allocate_large(std::size_t bytes) {
  const auto refuse = [bytes] {
    throw Error("there is no " + human_bytes(bytes) + " of memory left", "a buffer",
                "a smaller batch, or fewer of them at once, needs less", Exit::failed);
  };
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) refuse();
  const std::size_t used = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const std::size_t mapped = used + kHugePage;
  void* const start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) refuse();
  std::shared_ptr<std::byte> whole(static_cast<std::byte*>(start),
                                   [mapped](std::byte* at) { munmap(at, mapped); });
  const std::size_t past = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  std::byte* const begin = whole.get() + (past == 0 ? 0 : kHugePage - past);
  madvise(begin, used, MADV_HUGEPAGE);
  populate(begin, bytes);
  return {whole, begin};
}

}  // namespace isobar
