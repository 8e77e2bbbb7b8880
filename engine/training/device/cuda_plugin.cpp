// The plugin's side of the interface; compiled into libisobar_cuda.so only.
#include "device/cuda_plugin.h"

#include <c10/cuda/CUDAStream.h>

#include "cuda/event.h"
#include "cuda/profiler.h"
#include "kernels/count_nonfinite.h"

namespace isobar {
namespace {

class Plugin final : public CudaPlugin {
 public:
  CudaFacts facts() const override { return read_cuda_facts(); }

  CUstream_st* current_stream(int device) const override {
    return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
  }

  CUevent_st* create_event() const override { return isobar::create_event(); }
  void destroy_event(CUevent_st* event) const noexcept override { isobar::destroy_event(event); }
  void record_event(CUevent_st* event, CUstream_st* stream) const override {
    isobar::record_event(event, stream);
  }
  bool event_passed(CUevent_st* event) const override { return isobar::event_passed(event); }
  void wait_for_event(CUevent_st* event) const override { isobar::wait_for_event(event); }
  void make_stream_wait(CUstream_st* stream, CUevent_st* event) const override {
    isobar::make_stream_wait(stream, event);
  }
  double elapsed_us(CUevent_st* begin, CUevent_st* end) const override {
    return isobar::elapsed_us(begin, end);
  }

  void* allocate_pinned(std::size_t bytes) const override { return isobar::allocate_pinned(bytes); }
  void free_pinned(void* memory) const noexcept override { isobar::free_pinned(memory); }
  FreeAndTotal memory_now(int device) const override { return device_memory_now(device); }
  void watch_allocations(AllocationWatch& watch) const override { isobar::watch_allocations(watch); }
  void upload(void* device, const void* host, std::size_t bytes, CUstream_st* stream) const override {
    isobar::upload(device, host, bytes, stream);
  }

  void count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter,
                       CUstream_st* stream) const override {
    count_nonfinite_cuda(values, n, counter, stream);
  }
  void normalise(const DeviceFields& batch, FieldOutput output, CUstream_st* stream) const override {
    normalise_cuda(batch, output, stream);
  }
  void unpack(const DeviceFields& batch, PackedField packed, FieldOutput output,
              CUstream_st* stream) const override {
    unpack_cuda(batch, packed, output, stream);
  }

  void compute(const BiasGeluForward& job, CUstream_st* stream) const override {
    bias_gelu_cuda(job, stream);
  }
  void compute(const BiasGeluBackward& job, CUstream_st* stream) const override {
    bias_gelu_cuda(job, stream);
  }
  void compute(const ResidualNormForward& job, CUstream_st* stream) const override {
    residual_norm_cuda(job, stream);
  }
  void compute(const ResidualNormBackward& job, CUstream_st* stream) const override {
    residual_norm_cuda(job, stream);
  }
  void compute(const HeadLossForward& job, CUstream_st* stream) const override {
    head_loss_cuda(job, stream);
  }
  void compute(const HeadLossBackward& job, CUstream_st* stream) const override {
    head_loss_cuda(job, stream);
  }
  void compute(const AdamStep& job, CUstream_st* stream) const override { adam_cuda(job, stream); }
  void compute(const GradientNorm& job, CUstream_st* stream) const override {
    gradient_norm_cuda(job, stream);
  }

  CudaGraph* begin_graph() const override { return isobar::begin_graph(); }
  void end_graph(CudaGraph* graph) const override { isobar::end_graph(graph); }
  void abandon_graph(CudaGraph* graph) const noexcept override { isobar::abandon_graph(graph); }
  GraphNodes graph_nodes(CudaGraph* graph) const override { return isobar::graph_nodes(graph); }
  void launch_graph(CudaGraph* graph) const override { isobar::launch_graph(graph); }
  void destroy_graph(CudaGraph* graph) const noexcept override { isobar::destroy_graph(graph); }

  c10d::Backend* make_nccl_backend(c10d::Store* store, const NcclGroup& group) const override {
    return isobar::make_nccl_backend(store, group);
  }
  std::string current_device_address() const override { return isobar::current_device_address(); }

  void push_range(const char* name) const noexcept override { isobar::push_range(name); }
  void pop_range() const noexcept override { isobar::pop_range(); }
  void start_profiler() const noexcept override { isobar::start_profiler(); }
  void stop_profiler() const noexcept override { isobar::stop_profiler(); }
};

}  // namespace
}  // namespace isobar

extern "C" __attribute__((visibility("default"))) isobar::CudaPlugin* isobar_cuda_plugin(int wanted,
                                                                                         int* version) {
  static isobar::Plugin plugin;
  *version = isobar::kCudaPluginVersion;
  return wanted == isobar::kCudaPluginVersion ? &plugin : nullptr;
}
