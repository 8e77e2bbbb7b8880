#include "cuda/event.h"

#include <cuda_runtime_api.h>

#include "cuda/check.h"

namespace isobar {

CUevent_st* create_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  return event;
}

void destroy_event(CUevent_st* event) noexcept { cudaEventDestroy(event); }

void record_event(CUevent_st* event, CUstream_st* stream) {
  check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
}

bool event_passed(CUevent_st* event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code != cudaErrorNotReady) check_cuda(code, "cudaEventQuery");
  return code == cudaSuccess;
}

void wait_for_event(CUevent_st* event) { check_cuda(cudaEventSynchronize(event), "cudaEventSynchronize"); }

void make_stream_wait(CUstream_st* stream, CUevent_st* event) {
  check_cuda(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

double elapsed_us(CUevent_st* begin, CUevent_st* end) {
  float time_ms = 0;
  check_cuda(cudaEventElapsedTime(&time_ms, begin, end), "cudaEventElapsedTime");
  return static_cast<double>(time_ms) * 1e3;
}

}  // namespace isobar
