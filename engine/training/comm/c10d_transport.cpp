#include "comm/c10d_transport.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <atomic>
#include <functional>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

class C10dPending final : public Pending {
 public:
  /// `finish` is called once it is done.
  C10dPending(c10::intrusive_ptr<c10d::Work> work, std::function<void()> finish, bool blocks_stream)
      : work_(std::move(work)), finish_(std::move(finish)), blocks_stream_(blocks_stream) {
    if (blocks_stream_) return;
    try {
      work_->getFuture()->addCallback([end = end_us_](c10::ivalue::Future&) { *end = steady_us(); });
    } catch (const std::exception&) {  // this kind of work has no future: its end is when it was waited for
    }
  }
  bool done() override { return work_->isCompleted(); }
  bool wait(std::int64_t timeout_us) override {
    if (blocks_stream_) {
      work_->wait();
    } else if (!wait_on_host(timeout_us)) {
      return false;
    }
    if (const std::function<void()> finish = std::exchange(finish_, nullptr)) finish();
    return true;
  }
  std::int64_t end_us() const override { return *end_us_; }

 private:
  bool wait_on_host(std::int64_t timeout_us) {
    try {
      work_->wait(std::chrono::milliseconds(std::max<std::int64_t>(1, timeout_us / 1000)));
    } catch (const std::exception&) {
      if (!work_->isCompleted()) return false;  // only our patience ended
      work_->wait();  // it may have ended between that time-out and our look: this throws its error
    }
    return true;
  }

  c10::intrusive_ptr<c10d::Work> work_;
  std::function<void()> finish_;
  bool blocks_stream_;
  std::shared_ptr<std::atomic<std::int64_t>> end_us_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

class C10dTransport final : public Transport {
 public:
  C10dTransport(c10::intrusive_ptr<c10d::Backend> backend, bool blocks_stream)
      : backend_(std::move(backend)), blocks_stream_(blocks_stream) {}
  ~C10dTransport() override {
    // Ending it properly waits for what is under way, for ranks that will not come: the process does it.
    if (broken_) {
      static_cast<void>(backend_.release());
    } else if (blocks_stream_) {
      try {
        backend_->shutdown();
      } catch (const std::exception&) {  // the process ends, and the group with it
      }
    }
  }
  C10dTransport(const C10dTransport&) = delete;
  C10dTransport& operator=(const C10dTransport&) = delete;

  std::string name() const override { return backend_->getBackendName(); }
  int rank() const override { return backend_->getRank(); }
  int size() const override { return backend_->getSize(); }

  std::unique_ptr<Pending> all_reduce(const at::Tensor& tensor, Reduce reduce) override {
    c10d::AllreduceOptions options;
    options.reduceOp = op(reduce);
    std::vector<at::Tensor> list{tensor};
    return pending(backend_->allreduce(list, options), tensor, reduce);
  }
  std::unique_ptr<Pending> broadcast(const at::Tensor& tensor, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> list{tensor};
    return pending(backend_->broadcast(list, options), tensor, Reduce::sum);
  }
  std::unique_ptr<Pending> all_gather(const at::Tensor& out, const at::Tensor& in) override {
    at::Tensor whole = out;
    at::Tensor part = in;
    return pending(backend_->_allgather_base(whole, part), out, Reduce::sum);
  }
  std::unique_ptr<Pending> reduce_scatter(const at::Tensor& out, const at::Tensor& in,
                                          Reduce reduce) override {
    if (!blocks_stream_) return reduce_scatter_on_host(out, in, reduce);
    c10d::ReduceScatterOptions options;
    options.reduceOp = op(reduce);
    at::Tensor part = out;
    at::Tensor whole = in;
    return pending(backend_->_reduce_scatter_base(part, whole, options), out, reduce);
  }
  std::unique_ptr<Pending> all_to_all(const at::Tensor& out, const at::Tensor& in,
                                      const std::vector<std::int64_t>& receives,
                                      const std::vector<std::int64_t>& sends) override {
    // Bytes: every backend sends these, whatever types it adds.
    at::Tensor whole = out.view(at::kByte), mine = in.view(at::kByte);
    std::vector<std::int64_t> bytes_in = in_bytes(receives, in), bytes_out = in_bytes(sends, in);
    return pending(backend_->alltoall_base(whole, mine, bytes_in, bytes_out), out, Reduce::sum);
  }
  bool blocks_stream() const override { return blocks_stream_; }
  void abort() noexcept override {
    if (broken_.exchange(true)) return;
    try {
      backend_->abort();
    } catch (const std::exception&) {  // it was past saving before
    }
  }

 private:
  static std::vector<std::int64_t> in_bytes(std::vector<std::int64_t> counts, const at::Tensor& of) {
    for (std::int64_t& count : counts) count *= static_cast<std::int64_t>(of.itemsize());
    return counts;
  }
  static c10d::ReduceOp op(Reduce reduce) {
    return reduce == Reduce::max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  }
  /// `behind` is called first, once it is done.
  std::unique_ptr<Pending> pending(c10::intrusive_ptr<c10d::Work> work, const at::Tensor& tensor,
                                   Reduce reduce, const std::function<void()>& behind = {}) {
    const int divisor = reduce == Reduce::mean ? size() : 1;
    const auto finish = [tensor = tensor, divisor, behind]() mutable {
      if (behind) behind();
      if (divisor != 1) tensor.div_(divisor);
    };
    return std::make_unique<C10dPending>(std::move(work), finish, blocks_stream_);
  }
  /// Gloo adds up all of a copy for it, and its own form waits for that without an end.
  std::unique_ptr<Pending> reduce_scatter_on_host(const at::Tensor& out, const at::Tensor& in,
                                                  Reduce reduce) {
    c10d::AllreduceOptions options;
    options.reduceOp = op(reduce);
    std::vector<at::Tensor> list{in.clone(at::MemoryFormat::Contiguous)};
    const auto own = [out = out, sums = list.front().view({-1}), rank = rank()]() mutable {
      out.copy_(sums.narrow(0, rank * out.numel(), out.numel()).view(out.sizes()));
    };
    return pending(backend_->allreduce(list, options), out, reduce, own);
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  bool blocks_stream_;
  std::atomic<bool> broken_ = false;
};

bool loopback_is_up() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return true;  // nothing is known
  bool is_up = false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next)
    is_up = is_up || ((one->ifa_flags & IFF_LOOPBACK) != 0 && (one->ifa_flags & IFF_UP) != 0);
  freeifaddrs(all);
  return is_up;
}

}  // namespace

std::unique_ptr<Transport> make_c10d_transport(c10::intrusive_ptr<c10d::Backend> backend,
                                               bool blocks_stream) {
  return std::make_unique<C10dTransport>(std::move(backend), blocks_stream);
}

std::unique_ptr<Transport> make_gloo_transport(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                               int size, const std::string& name, double timeout_s,
                                               bool local, const std::string& interface) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  try {
    options->devices.push_back(!interface.empty()
                                   ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                               : local ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                       : c10d::ProcessGroupGloo::createDefaultDevice());
  } catch (const std::exception& error) {
    const std::string what = "gloo cannot use this network interface: " + printable_line(error.what(), 160);
    if (interface.empty() && local && !loopback_is_up())
      throw Error(what, "the loopback interface lo, which is down",
                  "ip link set lo up, as root; the ranks of one machine meet over it", Exit::failed);
    throw Error(what, interface.empty() ? "comm.interface" : "comm.interface = " + printable(interface, 40),
                "ip link lists the interfaces of a machine");
  }
  try {
    auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>(name, store), rank, size, options);
    backend->setTimeout(kTransportPatience);
    return make_c10d_transport(std::move(backend));
  } catch (const std::exception& error) {
    throw Error(
        "gloo cannot connect this rank with the others: " + printable_line(error.what(), 160),
        interface.empty() ? name : name + ", comm.interface = " + printable(interface, 40),
        "see the output of the others; comm.interface is the network that all of them reach each other by",
        Exit::failed);
  }
}

}  // namespace isobar
