#include "comm/linked_transport.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "ring/link_clock.h"

namespace isobar {
namespace {

constexpr std::int64_t kArrivalLook_us = 100;  // how often to ask whether a rank has come
constexpr std::int64_t kTolerance_us = 50;     // what the inner transport may be late before it is reported

/// To the microsecond or two, where the system wakes sleepers in time.
void sleep_exactly_until_us(std::int64_t due_us) {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // 50 us otherwise
  sleep_until_us(due_us);
  prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);  // back to this thread's own
}

/// What the transport and its pendings have in common.
struct LinkState {
  explicit LinkState(ArrivalBoard board) : clock(std::move(board)) {}

  LinkClock clock;
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> slower = 0;  ///< collectives among them that really took longer
};

class LinkedPending final : public Pending {
 public:
  LinkedPending(std::unique_ptr<Pending> inner, std::shared_ptr<LinkClock::Use> use,
                std::shared_ptr<LinkState> state)
      : inner_(std::move(inner)), use_(std::move(use)), state_(std::move(state)) {}

  bool done() override {
    const std::optional<std::int64_t> end_us = state_->clock.end_us(*use_);
    return end_us.has_value() && steady_us() >= *end_us && inner_->done();
  }

  bool wait(std::int64_t timeout_us) override {
    const std::int64_t due_us = steady_us() + timeout_us;
    if (!inner_->wait(timeout_us)) return false;
    const std::int64_t real_us = inner_->end_us() > 0 ? inner_->end_us() : steady_us();
    std::optional<std::int64_t> end_us;
    while (!(end_us = state_->clock.end_us(*use_)).has_value()) {
      if (steady_us() >= due_us) return false;
      pause_us(kArrivalLook_us);
    }
    if (steady_us() < *end_us) sleep_exactly_until_us(std::min(*end_us, due_us));
    if (due_us < *end_us) return false;
    end_us_ = std::max(real_us, *end_us);
    state_->done += 1;
    state_->slower += real_us > *end_us + kTolerance_us ? 1 : 0;
    return true;
  }

  std::int64_t end_us() const override { return end_us_; }
  std::vector<CollectiveStep> steps() const override { return inner_->steps(); }

 private:
  std::unique_ptr<Pending> inner_;
  std::shared_ptr<LinkClock::Use> use_;
  std::shared_ptr<LinkState> state_;
  std::int64_t end_us_ = 0;
};

class LinkedTransport final : public Transport {
 public:
  LinkedTransport(std::unique_ptr<Transport> inner, const Link& link, ArrivalBoard board, double timeout_s)
      : inner_(std::move(inner)),
        link_(link),
        timeout_us_(static_cast<std::int64_t>(timeout_s * 1e6)),
        state_(std::make_shared<LinkState>(std::move(board))) {}

  std::string name() const override { return inner_->name(); }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

  std::unique_ptr<Pending> all_reduce(const at::Tensor& tensor, Reduce reduce) override {
    auto use = begin(ring_all_reduce_us(link_, size(), bytes_of(tensor)));
    return linked(inner_->all_reduce(tensor, reduce), std::move(use));
  }
  std::unique_ptr<Pending> broadcast(const at::Tensor& tensor, int root) override {
    auto use = begin(broadcast_us(link_, size(), bytes_of(tensor)));
    return linked(inner_->broadcast(tensor, root), std::move(use));
  }
  std::unique_ptr<Pending> all_gather(const at::Tensor& out, const at::Tensor& in) override {
    auto use = begin(ring_half_us(link_, size(), bytes_of(out)));
    return linked(inner_->all_gather(out, in), std::move(use));
  }
  std::unique_ptr<Pending> reduce_scatter(const at::Tensor& out, const at::Tensor& in,
                                          Reduce reduce) override {
    auto use = begin(ring_half_us(link_, size(), bytes_of(in)));
    return linked(inner_->reduce_scatter(out, in, reduce), std::move(use));
  }
  std::unique_ptr<Pending> all_to_all(const at::Tensor& out, const at::Tensor& in,
                                      const std::vector<std::int64_t>& receives,
                                      const std::vector<std::int64_t>& sends) override {
    const Traffic sent = traffic(sends), received = traffic(receives);
    auto use = begin(messages_us(link_, std::max(sent.messages, received.messages),
                                 static_cast<double>(std::max(sent.elements, received.elements)) *
                                     static_cast<double>(in.itemsize())));
    return linked(inner_->all_to_all(out, in, receives, sends), std::move(use));
  }
  void abort() noexcept override { inner_->abort(); }

  std::string note() const override {
    if (state_->slower == 0) return "";
    return fmt::format(
        "{} of {} collectives took longer than the emulated link allows: {} itself is slower here, and its "
        "times count",
        state_->slower.load(), state_->done.load(), inner_->name());
  }

 private:
  struct Traffic {
    int messages = 0;
    std::int64_t elements = 0;
  };
  /// With other ranks.
  Traffic traffic(const std::vector<std::int64_t>& counts) const {
    Traffic out;
    for (std::size_t other = 0; other < counts.size(); ++other) {
      if (other == static_cast<std::size_t>(rank()) || counts[other] == 0) continue;
      ++out.messages;
      out.elements += counts[other];
    }
    return out;
  }
  static double bytes_of(const at::Tensor& tensor) { return static_cast<double>(tensor.nbytes()); }
  std::shared_ptr<LinkClock::Use> begin(double cost_us) { return state_->clock.begin(cost_us, timeout_us_); }
  std::unique_ptr<Pending> linked(std::unique_ptr<Pending> inner, std::shared_ptr<LinkClock::Use> use) {
    return std::make_unique<LinkedPending>(std::move(inner), std::move(use), state_);
  }

  std::unique_ptr<Transport> inner_;
  Link link_;
  std::int64_t timeout_us_;
  std::shared_ptr<LinkState> state_;
};

ArrivalBoard meet_at_board(const GroupMeeting& group, const std::string& name) {
  try {
    return {meet_in_memory(group, name, ArrivalBoard::bytes(group.size())), group.rank, group.size()};
  } catch (const Error& error) {
    throw Error(std::string("an emulated link is for ranks of one machine: ") + error.what(),
                "comm.link.latency_us, comm.link.gbit_per_s", "leave both at 0", Exit::failed);
  }
}

}  // namespace

std::unique_ptr<Transport> make_linked_transport(std::unique_ptr<Transport> inner, const Link& link,
                                                 const GroupMeeting& group, const std::string& name) {
  ArrivalBoard board = meet_at_board(group, name);
  return std::make_unique<LinkedTransport>(std::move(inner), link, std::move(board), group.timeout_s);
}

}  // namespace isobar
