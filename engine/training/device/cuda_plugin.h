#pragma once
// What the CUDA plugin (libisobar_cuda.so) does for programs that link no CUDA. Torch-free: raw pointers and
// handles.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/allocations.h"
#include "cuda/facts.h"
#include "cuda/graph.h"
#include "cuda/memory.h"
#include "cuda/nccl.h"
#include "kernels/adam.h"
#include "kernels/bias_gelu.h"
#include "kernels/gradient_norm.h"
#include "kernels/head_loss.h"
#include "kernels/normalise_cuda.h"
#include "kernels/residual_norm.h"

struct CUevent_st;   // what cudaEvent_t points to
struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// Raised with every change of CudaPlugin: a plugin of another number is refused before it is called.
inline constexpr int kCudaPluginVersion = 6;

/// The functions of engine/training/cuda and the CUDA forms of engine/training/kernels; the headers
/// there define each. All throw Error (exit code 1) when CUDA refuses, except facts(), which puts what is
/// wrong into its answer.
class CudaPlugin {
 public:
  virtual CudaFacts facts() const = 0;

  /// The stream on which tensor operations of this thread run now.
  virtual CUstream_st* current_stream(int device) const = 0;

  virtual CUevent_st* create_event() const = 0;
  virtual void destroy_event(CUevent_st* event) const noexcept = 0;
  virtual void record_event(CUevent_st* event, CUstream_st* stream) const = 0;
  virtual bool event_passed(CUevent_st* event) const = 0;
  virtual void wait_for_event(CUevent_st* event) const = 0;
  virtual void make_stream_wait(CUstream_st* stream, CUevent_st* event) const = 0;
  virtual double elapsed_us(CUevent_st* begin, CUevent_st* end) const = 0;

  virtual void* allocate_pinned(std::size_t bytes) const = 0;
  virtual void free_pinned(void* memory) const noexcept = 0;
  virtual FreeAndTotal memory_now(int device) const = 0;
  virtual void watch_allocations(AllocationWatch& watch) const = 0;
  virtual void upload(void* device, const void* host, std::size_t bytes, CUstream_st* stream) const = 0;

  virtual void count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter,
                               CUstream_st* stream) const = 0;
  virtual void normalise(const DeviceFields& batch, FieldOutput output, CUstream_st* stream) const = 0;
  virtual void unpack(const DeviceFields& batch, PackedField packed, FieldOutput output,
                      CUstream_st* stream) const = 0;

  virtual void compute(const BiasGeluForward& job, CUstream_st* stream) const = 0;
  virtual void compute(const BiasGeluBackward& job, CUstream_st* stream) const = 0;
  virtual void compute(const ResidualNormForward& job, CUstream_st* stream) const = 0;
  virtual void compute(const ResidualNormBackward& job, CUstream_st* stream) const = 0;
  virtual void compute(const HeadLossForward& job, CUstream_st* stream) const = 0;
  virtual void compute(const HeadLossBackward& job, CUstream_st* stream) const = 0;
  virtual void compute(const AdamStep& job, CUstream_st* stream) const = 0;
  virtual void compute(const GradientNorm& job, CUstream_st* stream) const = 0;

  virtual CudaGraph* begin_graph() const = 0;
  virtual void end_graph(CudaGraph* graph) const = 0;
  virtual void abandon_graph(CudaGraph* graph) const noexcept = 0;
  virtual GraphNodes graph_nodes(CudaGraph* graph) const = 0;
  virtual void launch_graph(CudaGraph* graph) const = 0;
  virtual void destroy_graph(CudaGraph* graph) const noexcept = 0;

  virtual c10d::Backend* make_nccl_backend(c10d::Store* store, const NcclGroup& group) const = 0;
  virtual std::string current_device_address() const = 0;

  virtual void push_range(const char* name) const noexcept = 0;
  virtual void pop_range() const noexcept = 0;
  virtual void start_profiler() const noexcept = 0;
  virtual void stop_profiler() const noexcept = 0;

 protected:
  ~CudaPlugin() = default;  // it lives in the plugin as long as the process does
};

/// The plugin's one exported function, "isobar_cuda_plugin": writes its own kCudaPluginVersion to `*version`
/// and returns the plugin, or null when `wanted` is another version.
using CudaPluginEntry = CudaPlugin* (*)(int wanted, int* version);
inline constexpr const char* kCudaPluginEntry = "isobar_cuda_plugin";

}  // namespace isobar
