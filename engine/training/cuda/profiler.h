#pragma once
// What a profiler of NVIDIA is told: named ranges of this thread (NVTX), and the part of a run that it is to
// keep (`nsys profile -c cudaProfilerApi`). Without a profiler each of these is one call that does nothing,
// and no run fails for what a profiler thinks of it.
namespace isobar {

/// Opens a range within those that are open; `pop_range` closes the innermost.
void push_range(const char* name) noexcept;
void pop_range() noexcept;

void start_profiler() noexcept;
void stop_profiler() noexcept;

}  // namespace isobar
