#pragma once
struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// Keeps one multiprocessor busy for at least `us` microseconds of the device's own clock; returns at once.
void spin(double us, CUstream_st* stream);

}  // namespace isobar
