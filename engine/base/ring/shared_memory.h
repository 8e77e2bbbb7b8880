#pragma once
// Memory that several processes of one machine have in common. It has no name in any file system: nothing is
// left behind whichever process is killed, no other user can open it, and the size of /dev/shm, 64 MB in many
// containers, does not limit it. Torch-free.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/files.h"

namespace isobar {

class SharedMemory {
 public:
  /// What to do without it, for ranks that have another way.
  static constexpr const char* kNoMemoryHint = "comm.backend=gloo needs no shared memory";

  SharedMemory() = default;
  /// Zeros, whose pages are there: Error (exit code 1) with both figures when so much memory is not free.
  static SharedMemory make(std::uint64_t bytes, const char* hint = kNoMemoryHint);
  /// What another process of the same user made: `address` is its `address()`. Error (exit code 1) when this
  /// process may not open it, cannot see that process (a container of its own), or finds another size.
  static SharedMemory open(const std::string& address, std::uint64_t bytes, const char* hint = kNoMemoryHint);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Where others find it, while the maker lives and has not closed it.
  std::string address() const;
  /// Nobody can open it any more; who has it keeps it.
  void close_door() { file_.close(); }

 private:
  void map();

  FileDescriptor file_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace isobar
