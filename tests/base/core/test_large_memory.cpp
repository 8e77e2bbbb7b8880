#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/files.h"
#include "core/large_memory.h"
#include "core/memory.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// Pages from `begin` on that are there; -1 when nothing is mapped.
std::ptrdiff_t pages_there(std::byte* begin, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there((bytes + page - 1) / page);
  if (mincore(begin, bytes, there.data()) != 0) return -1;
  return std::count_if(there.begin(), there.end(), [](unsigned char state) { return (state & 1) != 0; });
}

}  // namespace

TEST_CASE("large memory is zeros, all there at once, aligned, and writable to its last byte") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, (std::size_t{2} << 20) - 1,
                                  std::size_t{2} << 20, (std::size_t{5} << 20) + 12'345}) {
    const std::shared_ptr<std::byte> memory = allocate_large(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % (2U << 20) == 0);
    CHECK(pages_there(memory.get(), bytes) == static_cast<std::ptrdiff_t>((bytes + page - 1) / page));
    CHECK(std::all_of(memory.get(), memory.get() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(memory.get(), bytes, std::byte{7});
  }
}

TEST_CASE("large memory goes back when its last copy is gone") {
  std::shared_ptr<std::byte> memory = allocate_large(std::size_t{4} << 20);
  std::byte* const at = memory.get();
  std::shared_ptr<std::byte> copy = memory;
  memory.reset();
  CHECK(pages_there(at, std::size_t{4} << 20) > 0);
  copy.reset();
  CHECK(pages_there(at, std::size_t{4} << 20) == -1);
}

TEST_CASE("more memory than there are addresses is an error with the number") {
  for (const std::size_t bytes : {std::size_t{1} << 62, ~std::size_t{0}})
    CHECK_THAT(error_of([&] { allocate_large(bytes); }, Exit::failed), says("B of memory left"));
}

TEST_CASE("what a process held counts its own bytes, not files that it maps") {
  constexpr std::size_t kBytes = 64'000'000;
  const TempFolder folder("/var/tmp");  // on a disk: what lies in memory is no file's
  write_file_whole(folder / "file", "x");
  std::filesystem::resize_file(folder / "file", kBytes);
  const std::uint64_t before = peak_own_bytes();
  REQUIRE(before > 1'000'000);

  const int file = open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC);
  void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  close(file);
  REQUIRE(mapped != MAP_FAILED);
  REQUIRE(pages_there(static_cast<std::byte*>(mapped), kBytes) > 0);
  CHECK(peak_own_bytes() < before + kBytes / 4);

  { const std::shared_ptr<std::byte> memory = allocate_large(kBytes); }
  CHECK(peak_own_bytes() > before + kBytes / 2);  // it is given back, and was held all the same
  munmap(mapped, kBytes);
}
