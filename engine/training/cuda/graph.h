#pragma once
// Graphs of CUDA: what was asked of a stream, recorded once and launched again as a whole. Compiled into the
// plugin only; programs see the functions through CudaPlugin.
#include <cstdint>

namespace isobar {

/// A recording and the memory that its tensors live in. Whoever begins one destroys it.
struct CudaGraph;

/// What a graph launches.
struct GraphNodes {
  std::int64_t kernels = 0;
  std::int64_t copies = 0;
  std::int64_t fills = 0;  ///< nodes that fill memory with one value
  std::int64_t others = 0;

  std::int64_t all() const { return kernels + copies + fills + others; }
};

/// From now on what is asked of the current stream, which must be a side stream, is recorded and not done.
/// Other threads may allocate and copy meanwhile. Tensors that are made until `end_graph` get memory of the
/// graph's own, which stays theirs as long as it lives.
CudaGraph* begin_graph();
/// Ends the recording on the same stream and makes it ready for launch.
void end_graph(CudaGraph* graph);
/// After an error while recording: ends it, whatever state it is in, and destroys it. The stream can be used
/// again.
void abandon_graph(CudaGraph* graph) noexcept;

GraphNodes graph_nodes(CudaGraph* graph);
/// Asks the current stream for all of it; does not wait.
void launch_graph(CudaGraph* graph);
void destroy_graph(CudaGraph* graph) noexcept;

}  // namespace isobar
