#pragma once
// The CUDA plugin of the host device: events, page-locked memory, uploads, graphs, and the fused kernels by
// their CPU forms, each with what it reads and writes.
#include "device/fake_plugin.h"
#include "support/host_device/device.h"

namespace isobar::host_device {

class HostPlugin : public FakePlugin {
 public:
  CUstream_st* current_stream(int device) const override;

  CUevent_st* create_event() const override;
  void destroy_event(CUevent_st* event) const noexcept override;
  void record_event(CUevent_st* event, CUstream_st* stream) const override;
  bool event_passed(CUevent_st* event) const override;
  void wait_for_event(CUevent_st* event) const override;
  void make_stream_wait(CUstream_st* stream, CUevent_st* event) const override;
  double elapsed_us(CUevent_st* begin, CUevent_st* end) const override;

  void* allocate_pinned(std::size_t bytes) const override;
  void free_pinned(void* memory) const noexcept override;
  void upload(void* to, const void* from, std::size_t bytes, CUstream_st* stream) const override;

  void count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter,
                       CUstream_st* stream) const override;
  void normalise(const DeviceFields& batch, FieldOutput output, CUstream_st* stream) const override;
  void unpack(const DeviceFields& batch, PackedField packed, FieldOutput output,
              CUstream_st* stream) const override;

  void compute(const BiasGeluForward& job, CUstream_st* stream) const override;
  void compute(const BiasGeluBackward& job, CUstream_st* stream) const override;
  void compute(const ResidualNormForward& job, CUstream_st* stream) const override;
  void compute(const ResidualNormBackward& job, CUstream_st* stream) const override;
  void compute(const HeadLossForward& job, CUstream_st* stream) const override;
  void compute(const HeadLossBackward& job, CUstream_st* stream) const override;
  void compute(const AdamStep& job, CUstream_st* stream) const override;
  void compute(const GradientNorm& job, CUstream_st* stream) const override;

  CudaGraph* begin_graph() const override;
  void end_graph(CudaGraph* graph) const override;
  void abandon_graph(CudaGraph* graph) const noexcept override;
  GraphNodes graph_nodes(CudaGraph* graph) const override;
  void launch_graph(CudaGraph* graph) const override;
  void destroy_graph(CudaGraph* graph) const noexcept override;
};

}  // namespace isobar::host_device
