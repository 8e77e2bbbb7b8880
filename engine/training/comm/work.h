#pragma once
// A collective under way, as its user sees it; comm_core.cpp waits for it.
#include <cstdint>
#include <memory>
#include <string>

#include "comm/transport.h"
#include "record/span_writer.h"

namespace isobar {

/// When what happened to one collective, on the steady clock of this rank.
struct CollectiveTimes {
  std::int64_t ready_us = 0;  ///< this rank called it
  std::int64_t begin_us = 0;  ///< all ranks had called it, and the one before it
                              ///< was done; ready_us where unknown
  std::int64_t end_us = 0;    ///< 0 = not known: on a CUDA device the host does not wait for it
  int last_rank = -1;         ///< rank of the group that called it last; -1 = not known
};

/// What was communicated since the group was made, control traffic left out.
struct CommCounts {
  std::int64_t calls = 0;
  std::int64_t wire_bytes = 0;  ///< bytes that this rank sends: 2 (n - 1) / n S for an
                                ///< all-reduce of S bytes, as a ring does
};

/// Which emulated link a group has: comm.node_link where one is set and all its ranks count as one node, else
/// comm.link.
enum class Reach { between_nodes, inside_node };

class CommCore;

/// A collective under way. It must be waited for: the tensor is in use until
/// then.
class Work {
 public:
  Work() = default;
  /// `span` begins when this rank called it; its track is `track`, "" = it
  /// leaves none.
  Work(std::shared_ptr<CommCore> core, std::shared_ptr<Pending> pending, std::int64_t number,
       std::string what, std::string track, const Span& span);
  Work(Work&&) noexcept = default;
  Work& operator=(Work&&) noexcept = default;

  bool is_open() const { return pending_ != nullptr; }
  bool done();
  /// Error (exit code 1) when a rank is lost or does not come within
  /// comm.timeout_s: it names which collective, who arrived, who did not and
  /// what that one was doing. On a CUDA device only the current stream waits,
  /// and a time-out is thrown by the next call instead.
  CollectiveTimes wait();

 private:
  std::shared_ptr<CommCore> core_;
  std::shared_ptr<Pending> pending_;
  std::int64_t number_ = 0;
  std::string what_;
  std::string track_;
  Span span_;
};

}  // namespace isobar
