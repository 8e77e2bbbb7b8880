#pragma once
// Messages between the stages of a pipeline. A channel leads one way from one rank to another, and carries
// activations or gradients: a group of these two, in which each message is a broadcast from the sender. So
// numbers, deadlines, emulated links, counts and spans (tracks "pp forward" and "pp backward") are those of
// any collective. What both ends compare at the beginning is the schedule.
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "comm/comm.h"
#include "pipeline/schedule.h"

namespace isobar {

// Tracks of the timeline.
inline constexpr std::string_view kPipeForwardTrack = "pp forward";
inline constexpr std::string_view kPipeBackwardTrack = "pp backward";

/// Sends are asynchronous: they return at once, and what is sent lives until it has left. Receives are posted
/// in the order in which their sender sends, whatever the own order is.
/// With run.fault = deadlock a send waits until its receiver has received, and nothing is posted ahead.
/// NCCL makes no promise for groups that run beside each other in different orders, so where a stream waits
/// for messages nothing is posted ahead either: behind all that this rank sends before. Several GPUs were not
/// run yet: orders are tested over Gloo and the ring alone.
class StageLinks {
 public:
  /// All ranks of the pipeline call it, with the same schedule, which was checked; both outlive this. Ranks
  /// of a boundary are a pair; pairs that have no rank in common are made at once.
  StageLinks(Comm& ranks, const PipelineSchedule& schedule);
  /// In the middle of a step, for an error, it gives all its groups up: their threads would wait for ranks
  /// that wait for this one.
  ~StageLinks();
  StageLinks(const StageLinks&) = delete;
  StageLinks& operator=(const StageLinks&) = delete;

  /// In front of a step: messages have this shape and, float32, these options.
  void begin(const std::vector<std::int64_t>& shape, const at::TensorOptions& options);
  /// Posts the receive of what `action` needs, and of what its sender sends before it; returns at once.
  void expect(const PipelineAction& action);
  /// What `action` needs of another stage: waits for it where that is on another rank. Undefined where it
  /// needs nothing.
  at::Tensor receive(const PipelineAction& action);
  /// Hands the result of `action` to the stage that needs it, if there is one.
  void send(const PipelineAction& action, const at::Tensor& out);
  /// Behind the last action: waits until everything has left.
  void finish();

  /// Beside steps: from a stage to the next, on whose rank it gives the stream; `out` on the other one.
  at::Tensor hand_on(int stage, const at::Tensor& out, const std::vector<std::int64_t>& shape,
                     const at::TensorOptions& options);

  // Since `begin`.
  std::int64_t sent() const { return sent_; }  ///< messages
  std::int64_t sent_bytes() const { return sent_bytes_; }
  /// Times of messages both ways, by their end; ranks are those of the pipeline. Gives them away.
  std::vector<CollectiveTimes> take_times();
  CommCounts counts() const;  ///< since the beginning, of messages both ways

 private:
  struct Message {
    at::Tensor tensor;
    Work work;
  };
  struct Channel {
    int from = 0, to = 0;  ///< ranks of the pipeline
    bool is_forward = true;
    Comm pair;                               ///< rank 0 sends
    std::vector<PipelineAction> order = {};  ///< what is sent in a step
    std::size_t posted = 0;                  ///< by the receiver, from the front of `order`
    std::size_t came = 0;
    std::deque<Message> open = {};                      ///< received, or to be
    std::deque<Message> leaving = {};                   ///< sent
    std::map<PipelineAction, at::Tensor> waiting = {};  ///< came before it was wanted
  };
  /// What stays on its rank: stage, whether it is an activation, micro-batch.
  using Place = std::tuple<int, bool, int>;

  int rank_of(int stage) const;
  /// The stage that takes the result of `action`; -1 = none does.
  int taker_of(const PipelineAction& action) const;
  void make_channels();
  Channel& channel(int from, int to, bool is_forward);
  void post(Channel& channel);
  void land(Channel& channel);
  void wait(Channel& channel, Work& work);
  void acknowledge(Channel& channel);
  std::string_view track(const Channel& channel) const;

  Comm& ranks_;
  const PipelineSchedule& schedule_;
  bool is_synchronous_;
  bool posts_ahead_;
  std::deque<Channel> channels_;  ///< this rank's
  std::vector<std::int64_t> shape_;
  at::TensorOptions options_;
  std::map<Place, at::Tensor> own_;
  std::vector<CollectiveTimes> times_;
  std::int64_t sent_ = 0;
  std::int64_t sent_bytes_ = 0;
};

}  // namespace isobar
