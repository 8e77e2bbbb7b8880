#pragma once
// Side streams: work beside that of the current stream. c10::StreamGuard makes one current for tensor
// operations while it lives; c10::Event orders one after another: `event.record(side)` behind the work,
// `event.block(main)` before it is used, and neither makes the host wait. A tensor made on one stream and
// used on another is kept until that one is done by `keep_for`. On the CPU there is one stream, and all this
// does nothing but run in order.
#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// Whether work on `device` is asked for and then runs beside the host, in the order of streams. A GPU has
/// them, a processor does its work when it is asked.
inline bool has_streams(c10::Device device) { return !device.is_cpu(); }

/// A stream of the device's pool, which libtorch owns. Those of high priority go first where the device is
/// full.
c10::Stream side_stream(c10::Device device, bool high_priority = false);

/// The stream on which tensor operations of this thread run now.
c10::Stream current_stream(c10::Device device);

/// Its handle, for kernels of ours; of a device that has streams.
CUstream_st* stream_handle(const c10::Stream& stream);

/// Memory of `tensor` is given to nobody else before what is on `stream` now is done.
void keep_for(const at::Tensor& tensor, const c10::Stream& stream);

}  // namespace isobar
