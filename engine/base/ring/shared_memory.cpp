#include "ring/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/text.h"

namespace isobar {

SharedMemory SharedMemory::make(std::uint64_t bytes, const char* hint) {
  const MemoryState memory = memory_state();
  if (memory.available_bytes > 0 && bytes > unpromised_bytes(memory)) {
    throw Error(fmt::format("{} of shared memory are wanted, {} are free", human_bytes(bytes),
                            human_bytes(unpromised_bytes(memory))),
                "memory between ranks", hint, Exit::failed);
  }
  SharedMemory out;
  out.bytes_ = bytes;
  out.file_ = FileDescriptor(memfd_create("isobar", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!out.file_.is_open() || fchmod(out.file_.number(), 0600) != 0 ||
      fallocate(out.file_.number(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    throw system_error(fmt::format("cannot get {} of shared memory", human_bytes(bytes)),
                       "memory between ranks", errno);
  }
  // Who could cut it short could end the others with a SIGBUS.
  fcntl(out.file_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  out.map();
  return out;
}

SharedMemory SharedMemory::open(const std::string& address, std::uint64_t bytes, const char* hint) {
  const std::size_t blank = address.find(' ');
  const std::string path = address.substr(0, blank);
  const std::string view = blank == std::string::npos ? "" : address.substr(blank + 1);
  if (view != process_view()) {
    throw Error("the ranks do not see the same processes: other machines, or containers of their own",
                "memory between ranks", hint, Exit::failed);
  }
  SharedMemory out;
  out.bytes_ = bytes;
  out.file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts {};
  if (!out.file_.is_open() || fstat(out.file_.number(), &facts) != 0) {
    throw Error(std::string("cannot open the memory of another rank: ") + std::strerror(errno), path, hint,
                Exit::failed);
  }
  if (static_cast<std::uint64_t>(facts.st_size) != bytes) {
    throw Error(fmt::format("the memory of another rank has {} bytes, not {}", facts.st_size, bytes), path,
                "start all ranks from the same build", Exit::failed);
  }
  out.map();
  out.file_.close();
  return out;
}

void SharedMemory::map() {
  void* const place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  if (place == MAP_FAILED) throw system_error("cannot map shared memory", "memory between ranks", errno);
  data_ = static_cast<std::byte*>(place);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    if (data_ != nullptr) munmap(data_, bytes_);
    file_ = std::move(other.file_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

std::string SharedMemory::address() const {
  return fmt::format("/proc/{}/fd/{} {}", getpid(), file_.number(), process_view());
}

}  // namespace isobar
