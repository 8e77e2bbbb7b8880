#include "device/stream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace isobar {

c10::Stream side_stream(c10::Device device, bool high_priority) {
  if (!has_streams(device)) return current_stream(device);
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, high_priority);
}

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

CUstream_st* stream_handle(const c10::Stream& stream) {
  return static_cast<CUstream_st*>(stream.native_handle());
}

void keep_for(const at::Tensor& tensor, const c10::Stream& stream) {
  if (has_streams(stream.device())) tensor.record_stream(stream);
}

}  // namespace isobar
