#pragma once
// Events: points on a stream, with the time at which they were passed. Handles are raw, so that no CUDA
// header is needed to hold one; the caller that makes one destroys it. Every function throws Error (exit code
// 1) when CUDA refuses.
struct CUevent_st;   // what cudaEvent_t points to
struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// An event with a time, of the current device.
CUevent_st* create_event();
void destroy_event(CUevent_st* event) noexcept;

/// Puts the event behind all work that is on `stream` now.
void record_event(CUevent_st* event, CUstream_st* stream);
/// Whether the stream has passed it. Does not wait.
bool event_passed(CUevent_st* event);
/// The calling thread waits until the stream has passed it.
void wait_for_event(CUevent_st* event);
/// `stream` waits until the event is passed; the calling thread does not.
void make_stream_wait(CUstream_st* stream, CUevent_st* event);
/// Microseconds from one passed event to another, to half a microsecond.
double elapsed_us(CUevent_st* begin, CUevent_st* end);

}  // namespace isobar
