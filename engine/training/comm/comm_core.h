#pragma once
// What all that one Comm hands out has in common. For comm/*.cpp, and for who starts collectives otherwise.
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "comm/comm_group.h"
#include "comm/comm_seam.h"
#include "comm/work.h"
#include "record/span_writer.h"

namespace isobar {

enum class Op { all_reduce, broadcast, all_gather, reduce_scatter, all_to_all };

/// One collective, as it was asked for.
struct Collective {
  Op op = Op::all_reduce;
  at::Tensor out;
  at::Tensor in = {};  ///< input of all_gather, reduce_scatter and all_to_all
  Reduce reduce = Reduce::sum;
  int root = 0;
  std::string what = {};
  std::vector<std::int64_t> receives = {}, sends = {};  ///< elements by rank, of all_to_all

  const at::Tensor& whole() const { return op == Op::reduce_scatter || op == Op::all_to_all ? in : out; }
  /// "all_reduce mean f32[1024] bucket 3"
  std::string text() const;
  /// "all-reduce", the name of its span
  const char* name() const;
};

/// Refuses (exit code 1) what a transport of `size` ranks would misread on rank `rank`: other types, gaps in
/// memory, sizes that do not fit each other.
void check_collective(const Collective& job, int rank, int size);

/// A message between ranks on the control group: all have one size, so that two that differ are reported by
/// an Error and not by Gloo, which ends the process.
struct Frame {
  static constexpr std::size_t kRoom = 128;
  std::array<char, 240> what;
  std::int64_t bytes;
  std::array<char, kRoom> data;
};

class CommWatch;

class CommCore final : public CommGroup, public std::enable_shared_from_this<CommCore> {
 public:
  using CommGroup::CommGroup;
  ~CommCore() override;
  CommCore(const CommCore&) = delete;
  CommCore& operator=(const CommCore&) = delete;

  /// Makes the transports; waits for the other members.
  void open(Reach reach = Reach::between_nodes);

  Work start(Collective job);
  /// What `start` does behind the seam.
  Work launch(const Collective& job);
  /// Sends `data` (at most Frame::kRoom bytes) to all and returns what all sent, by rank. Error when ranks
  /// give another `what`.
  std::vector<std::string> exchange(std::string_view what, std::string_view data);
  /// `exchange` for a text of any length.
  std::vector<std::string> exchange_text(const std::string& mine, const std::string& what);
  /// Error on all ranks unless all make the same groups, a line each.
  void check_same_groups(const std::string& group_name, const std::string& lines);
  struct Exchange {
    std::shared_ptr<Pending> pending;
    at::Tensor in, out;
    Waited waited;
  };
  Exchange begin_exchange(std::string_view what, std::string_view data);
  std::vector<std::string> end_exchange(const Exchange& exchange);
  /// Starts to gather the bytes of `in` of all ranks in `out`.
  Exchange begin_gather(const at::Tensor& in, std::string_view what);

  /// "wait" from the call until all were there, where that is known, and the collective itself.
  void leave_spans(const CollectiveTimes& times, const std::string& track, Span span);

  /// Waits until `pending` is done; turns time-outs and lost ranks into an Error that names them, after which
  /// this is broken.
  void await(Pending& pending, const Waited& waited);
  /// Tells other ranks that this one is there.
  void arrive(const Waited& waited) noexcept;
  void throw_if_broken();
  bool is_broken() override;
  void break_off(std::exception_ptr failure, Blame blame) noexcept override;

  /// Watches a transport that is waited for by streams, and records its end.
  void watch(const std::shared_ptr<Pending>& pending, const Waited& waited, const std::string& track,
             const Span& span);

 private:
  /// Refuses a rank that is no member.
  void check_member(const std::string& what) const;
  [[noreturn]] void refuse_different(const std::string& sides);
  /// Whether ranks compare this collective before it starts.
  bool is_checked() const;
  /// All ranks come to it: Error on all of them unless they call the same, and each receives of another what
  /// that one sends.
  void compare(const Collective& job, std::int64_t number, const std::string& text);
  std::shared_ptr<Pending> dispatch(const Collective& job);
  void count(const Collective& job);
  /// What `start` returns; an Error for what it throws, after which this is broken.
  std::shared_ptr<Pending> started(const Waited& waited,
                                   const std::function<std::shared_ptr<Pending>()>& start);
  [[noreturn]] void lose(const Waited& waited, std::int64_t begin_us, const std::string& raw);

  std::int64_t next_ = 0;
  std::int64_t next_exchange_ = 0;
  std::mutex mutex_;  ///< guards failure_
  std::exception_ptr failure_;
  std::unique_ptr<CommWatch> watch_;
};

}  // namespace isobar
