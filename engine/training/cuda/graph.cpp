#include "cuda/graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "cuda/check.h"

namespace isobar {

struct CudaGraph {
  CudaGraph() : pool(at::cuda::graph_pool_handle()), stream(c10::cuda::getCurrentCUDAStream()) {}

  at::cuda::CUDAGraph graph{/*keep_graph=*/true};  // kept, so that its nodes can be counted
  at::cuda::MempoolId_t pool;
  c10::cuda::CUDAStream stream;
};

CudaGraph* begin_graph() {
  // The recording takes memory of its own, as much as a step: what steps before it left over goes back first.
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  c10::cuda::CUDACachingAllocator::emptyCache();
  auto out = std::make_unique<CudaGraph>();
  // Threads that load data allocate and copy meanwhile: with the global mode that would be an error here.
  out->graph.capture_begin(out->pool, cudaStreamCaptureModeThreadLocal);
  return out.release();
}

void end_graph(CudaGraph* graph) {
  graph->graph.capture_end();
  graph->graph.instantiate();
}

void abandon_graph(CudaGraph* graph) noexcept {
  cudaGraph_t partial = nullptr;
  cudaStreamEndCapture(graph->stream.stream(), &partial);
  if (partial != nullptr) cudaGraphDestroy(partial);
  cudaGetLastError();  // clears the error: the recording is known to be broken
  try {
    c10::cuda::CUDACachingAllocator::endAllocateToPool(graph->stream.device_index(), graph->pool);
  } catch (const std::exception&) {  // it had ended already
  }
  destroy_graph(graph);
}

GraphNodes graph_nodes(CudaGraph* graph) {
  const cudaGraph_t raw = graph->graph.raw_cuda_graph();
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(raw, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check_cuda(cudaGraphGetNodes(raw, nodes.data(), &count), "cudaGraphGetNodes");
  GraphNodes out;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    check_cuda(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    if (type == cudaGraphNodeTypeKernel) {
      ++out.kernels;
    } else if (type == cudaGraphNodeTypeMemcpy) {
      ++out.copies;
    } else if (type == cudaGraphNodeTypeMemset) {
      ++out.fills;
    } else {
      ++out.others;
    }
  }
  return out;
}

void launch_graph(CudaGraph* graph) { graph->graph.replay(); }

void destroy_graph(CudaGraph* graph) noexcept {
  cudaDeviceSynchronize();  // it may be at work still, in memory that goes with it
  try {
    delete graph;
  } catch (const std::exception&) {  // the device is lost; its next use reports it
  }
}

}  // namespace isobar
