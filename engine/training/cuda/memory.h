#pragma once
// Memory of the host that devices read and write directly, and how much a device has left.
#include <cstddef>
#include <cstdint>

struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// Page-locked host memory, readable by all devices: copies from it need no help of the processor. Error
/// (exit code 1) that names how much was asked for. `free_pinned` gives it back.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* memory) noexcept;

/// Asks for `bytes` to be copied from host to device memory on `stream`. Does not wait where `host` is
/// page-locked: it must stay as it is until the stream has done it. From other memory the call takes as long
/// as it needs to be copied elsewhere first.
void upload(void* device, const void* host, std::size_t bytes, CUstream_st* stream);

struct FreeAndTotal {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};

/// Memory of `device`, over all processes.
FreeAndTotal device_memory_now(int device);

}  // namespace isobar
