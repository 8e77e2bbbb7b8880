#pragma once
// The ranks that work together, as a lesson sees them: collectives with numbers, deadlines and telemetry.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.h"
#include "config/config.h"
#include "launch/rank_environment.h"
#include "launch/rank_status.h"
#include "record/span_writer.h"

namespace isobar {

/// When what happened to one collective, on the steady clock of this rank.
struct CollectiveTimes {
  std::int64_t ready_us = 0;  ///< this rank called it
  std::int64_t begin_us =
      0;  ///< all ranks had called it, and the one before it was done; ready_us where unknown
  std::int64_t end_us = 0;
  int last_rank = -1;  ///< who called it last; -1 = not known
};

/// What was communicated since the group was made, control traffic left out.
struct CommCounts {
  std::int64_t calls = 0;
  std::int64_t wire_bytes =
      0;  ///< that this rank sends: 2 (n - 1) / n S for an all-reduce of S bytes, as a ring does
};

class CommCore;

/// A collective under way. It must be waited for: the tensor is in use until then.
class Work {
 public:
  Work() = default;
  Work(std::shared_ptr<CommCore> core, std::unique_ptr<Pending> pending, std::int64_t number,
       std::string what, std::int64_t bytes, std::string track, std::int64_t ready_us);
  Work(Work&&) noexcept = default;
  Work& operator=(Work&&) noexcept = default;

  bool is_open() const { return pending_ != nullptr; }
  bool done();
  /// Error (exit code 1) when a rank is lost or does not come within comm.timeout_s: it says which
  /// collective, who arrived, who did not and what that one was doing.
  CollectiveTimes wait();

 private:
  std::shared_ptr<CommCore> core_;
  std::unique_ptr<Pending> pending_;
  std::int64_t number_ = 0;
  std::string what_;
  std::int64_t bytes_ = 0;
  std::string track_;
  std::int64_t ready_us_ = 0;
};

class Comm {
 public:
  /// One process: every collective is done at once.
  Comm();
  /// The whole world of `environment`, by comm.backend. Waits for the other ranks.
  Comm(const RankEnvironment& environment, const CommConfig& config, bool on_cuda);
  ~Comm();
  Comm(Comm&&) noexcept;
  Comm& operator=(Comm&&) noexcept;

  int rank() const;
  int size() const;
  std::string backend() const;  ///< "solo", "gloo", "nccl", "ring"

  /// All of these return at once. `what` names the tensor in errors and timelines: "bucket 3"; spans lie on
  /// the track of that name ("bucket.3").
  Work all_reduce(const at::Tensor& tensor, Reduce reduce, std::string_view what);
  Work broadcast(const at::Tensor& tensor, int root, std::string_view what);
  Work all_gather(const at::Tensor& out, const at::Tensor& in, std::string_view what);
  Work reduce_scatter(const at::Tensor& out, const at::Tensor& in, Reduce reduce, std::string_view what);

  // Between hosts, in small amounts; never counted, never on an emulated link.
  void barrier(std::string_view what);
  std::vector<std::string> all_gather_text(const std::string& mine, std::string_view what);
  std::vector<double> all_gather_numbers(double mine, std::string_view what);
  /// The largest of all, not waited for: read it with `wait` and `value`.
  struct PendingMax {
    Work work;
    at::Tensor place;  ///< float64 scalar on the CPU
    double value();    ///< waits
  };
  PendingMax start_max(double mine, std::string_view what);

  /// Steps are numbered from 0; the first three of an attempt are checked as with comm.check.
  void begin_step(std::int64_t step);
  CommCounts counts() const;
  /// Where spans go, and who hears what this rank does; both outlive this.
  void tell(SpanWriter* spans, StatusSlot* status, const std::filesystem::path& status_folder);

 private:
  std::shared_ptr<CommCore> core_;
};

}  // namespace isobar
