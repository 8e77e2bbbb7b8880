#pragma once
#include <cstdint>

namespace isobar {

/// Lengths of what compression left out of gradients so far, over all matrices; -1: not measured.
struct ErrorNorms {
  double own = -1;   ///< |E| of this rank
  double mean = -1;  ///< |mean of E over ranks|
};

/// What communication cost this rank in one step: averaging gradients, and layers that ranks share.
struct SyncFigures {
  /// In which at least one collective ran, beside backward or not; -1 = not known.
  std::int64_t total_us = 0;
  std::int64_t calls = 0;       ///< collectives
  std::int64_t wire_bytes = 0;  ///< bytes that this rank sends (CommCounts)
  int waited_for = -1;          ///< the rank that this one waited for longest; -1 = not known
  // Of split layers alone, and part of the three figures above.
  std::int64_t tp_calls = 0;
  std::int64_t tp_wire_bytes = 0;
  /// The host stood still for them in forward and in backward, which is no computing; 0 on a CUDA device.
  std::int64_t tp_forward_wait_us = 0;
  std::int64_t tp_backward_wait_us = 0;
  // Between ranks that share the tokens of a model (mesh.cp), and part of the three figures above.
  std::int64_t cp_calls = 0;
  std::int64_t cp_wire_bytes = 0;
  std::int64_t cp_forward_wait_us = 0;  ///< 0 on a CUDA device
  std::int64_t cp_backward_wait_us = 0;
  // Forecasts of an ensemble that its models gather, and bands of fields that ranks of a model read
  // (SharedReading); parts of `calls` and `wire_bytes`.
  std::int64_t ens_calls = 0;
  std::int64_t ens_wire_bytes = 0;
  std::int64_t read_calls = 0;
  std::int64_t read_wire_bytes = 0;
  // Between the ranks of a node (mesh.shard), and part of `calls` and `wire_bytes`; the others are between
  // nodes. 0 where mesh.shard = 0.
  std::int64_t node_calls = 0;
  std::int64_t node_wire_bytes = 0;
  // Between the stages of a pipeline; messages are part of `calls` and `wire_bytes`.
  std::int64_t pipe_us = 0;       ///< from begin() to the end of the last action; 0 = none, or not known
  std::int64_t pipe_busy_us = 0;  ///< computing, a part of it; the rest is idle, or waits within split layers
  std::int64_t pipe_calls = 0;    ///< messages that this rank sent
  std::int64_t pipe_bytes = 0;    ///< in them
  /// Most micro-batches whose activations were kept at a time, counted by stage.
  std::int64_t pipe_kept = 0;
  std::int64_t compress_us = 0;       ///< arithmetic of compression, on the host; in backward and behind it
  std::int64_t late_compress_us = 0;  ///< part of it behind backward, which is no communication
  /// The host stood still in the middle of forward, for weights or for other members of an ensemble.
  std::int64_t forward_wait_us = 0;
  std::int64_t backward_wait_us = 0;  ///< the host stood still for a message in the middle of backward
  std::int64_t waited_us = 0;         ///< the host stood still for ranks that came later to a collective

  // Between the device and host memory (mesh.offload), and no part of the figures above.
  std::int64_t offload_down_bytes = 0;
  std::int64_t offload_up_bytes = 0;

  /// Adds what else was sent in the step.
  SyncFigures& operator+=(const SyncFigures& more) {
    total_us = total_us < 0 || more.total_us < 0 ? -1 : total_us + more.total_us;
    calls += more.calls;
    wire_bytes += more.wire_bytes;
    node_calls += more.node_calls;
    node_wire_bytes += more.node_wire_bytes;
    offload_down_bytes += more.offload_down_bytes;
    offload_up_bytes += more.offload_up_bytes;
    cp_calls += more.cp_calls;
    cp_wire_bytes += more.cp_wire_bytes;
    cp_forward_wait_us += more.cp_forward_wait_us;
    cp_backward_wait_us += more.cp_backward_wait_us;
    ens_calls += more.ens_calls;
    ens_wire_bytes += more.ens_wire_bytes;
    read_calls += more.read_calls;
    read_wire_bytes += more.read_wire_bytes;
    pipe_us += more.pipe_us;
    pipe_busy_us += more.pipe_busy_us;
    pipe_calls += more.pipe_calls;
    pipe_bytes += more.pipe_bytes;
    pipe_kept += more.pipe_kept;
    forward_wait_us += more.forward_wait_us;
    waited_us += more.waited_us;
    return *this;
  }
};

}  // namespace isobar
