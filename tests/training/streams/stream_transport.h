#pragma once
// Collectives as NCCL's are: on a stream of their own, for which the host never waits. The other rank of two
// is made up: it holds twice what this one does.
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <memory>

#include "comm/comm.h"
#include "comm/comm_core.h"
#include "comm/comm_seam.h"
#include "device/stream.h"

namespace isobar {

/// Mistakes of a transport or its user.
struct StreamMistakes {
  bool starts_at_once = false;  ///< not behind what the current stream was asked for
  bool never_waits = false;     ///< the current stream does not wait for its end
};

class StreamTransport final : public Transport {
 public:
  explicit StreamTransport(const StreamMistakes& mistakes) : mistakes_(mistakes) {}
  std::string name() const override { return "streams"; }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  bool blocks_stream() const override { return true; }
  void abort() noexcept override {}

  std::unique_ptr<Pending> all_reduce(const at::Tensor& tensor, Reduce reduce) override {
    const double factor = reduce == Reduce::mean ? 1.5 : 3;
    return done(tensor, [&] { tensor.mul_(factor); });
  }
  std::unique_ptr<Pending> broadcast(const at::Tensor& tensor, int) override {
    return done(tensor, [] {});
  }
  std::unique_ptr<Pending> all_gather(const at::Tensor& out, const at::Tensor& in) override {
    return done(out, [&] { out.view({2, -1}).copy_(in.view({1, -1})); });
  }
  std::unique_ptr<Pending> reduce_scatter(const at::Tensor& out, const at::Tensor& in, Reduce) override {
    return done(out, [&] { out.view({-1}).copy_(in.view({2, -1}).select(0, 0)); });
  }
  std::unique_ptr<Pending> all_to_all(const at::Tensor& out, const at::Tensor& in,
                                      const std::vector<std::int64_t>&,
                                      const std::vector<std::int64_t>&) override {
    return done(out, [&] { out.copy_(in); });
  }

 private:
  struct OnStream final : Pending {
    OnStream(c10::Device on, bool blocks) : device(on), end(on.type()), blocks_(blocks) {}
    bool done() override { return end.query(); }
    bool wait(std::int64_t) override {
      if (blocks_ && has_streams(device)) end.block(current_stream(device));
      return true;
    }
    c10::Device device;
    c10::Event end;
    bool blocks_;
  };

  template <typename Run>
  std::unique_ptr<Pending> done(const at::Tensor& tensor, const Run& run) {
    const c10::Device device = tensor.device();
    auto out = std::make_unique<OnStream>(device, !mistakes_.never_waits);
    if (!has_streams(device)) {
      run();
      return out;
    }
    if (!stream_) stream_ = side_stream(device);
    if (!mistakes_.starts_at_once) {
      c10::Event begin(device.type());
      begin.record(current_stream(device));
      begin.block(*stream_);
    }
    const c10::StreamGuard guard(*stream_);
    run();
    keep_for(tensor, *stream_);
    out->end.record(*stream_);
    return out;
  }

  StreamMistakes mistakes_;
  std::optional<c10::Stream> stream_;
};

/// Turns a Comm of one process into one of two ranks, the other of which is made up.
inline void join_made_up_rank(Comm& comm, const StreamMistakes& mistakes = {}) {
  struct Joining final : CommSeam {
    explicit Joining(const StreamMistakes& wanted) : mistakes(wanted) {}
    Work start(CommCore& core, Collective job) override {
      if (core.size() == 1) {
        core.payload = std::make_unique<StreamTransport>(mistakes);
        core.control = std::make_unique<StreamTransport>(mistakes);
        core.members = {0, 1};
        core.config.check = false;
        core.shared->steps_begun = 1000;  // ranks no longer compare what they send
      }
      return core.launch(job);
    }
    StreamMistakes mistakes;
  };
  comm.set_seam(std::make_shared<Joining>(mistakes));
  comm.all_reduce(at::ones({1}), Reduce::sum, "joining").wait();
}

}  // namespace isobar
