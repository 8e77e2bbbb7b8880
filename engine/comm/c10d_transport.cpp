#include "comm/c10d_transport.h"

#include <atomic>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "core/clock.h"

namespace isobar {
namespace {

class C10dPending final : public Pending {
 public:
  /// `divisor` != 1 divides `tensor` in `wait`.
  C10dPending(c10::intrusive_ptr<c10d::Work> work, at::Tensor tensor, int divisor)
      : work_(std::move(work)),
        tensor_(std::move(tensor)),
        divisor_(divisor),
        end_us_(std::make_shared<std::atomic<std::int64_t>>(0)) {
    work_->getFuture()->addCallback([end = end_us_](c10::ivalue::Future&) { *end = steady_us(); });
  }
  bool done() override { return work_->isCompleted(); }
  bool wait(std::int64_t timeout_us) override {
    const std::int64_t deadline_us = steady_us() + timeout_us;
    try {
      work_->wait(std::chrono::milliseconds(std::max<std::int64_t>(1, timeout_us / 1000)));
    } catch (const std::exception&) {
      if (steady_us() >= deadline_us - 1000 && !work_->isCompleted()) return false;
      throw;
    }
    if (std::exchange(divisor_, 1) != 1) tensor_.div_(static_cast<double>(std::exchange(size_, 1)));
    return true;
  }
  std::int64_t end_us() const override { return *end_us_; }
  void divide_by(int size) { size_ = size; }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  at::Tensor tensor_;
  int divisor_ = 1;
  int size_ = 1;
  std::shared_ptr<std::atomic<std::int64_t>> end_us_;
};

class C10dTransport final : public Transport {
 public:
  explicit C10dTransport(c10::intrusive_ptr<c10d::Backend> backend) : backend_(std::move(backend)) {}
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
    c10d::ReduceScatterOptions options;
    options.reduceOp = op(reduce);
    at::Tensor part = out;
    at::Tensor whole = in;
    return pending(backend_->_reduce_scatter_base(part, whole, options), out, reduce);
  }
  void abort() noexcept override {}

 private:
  static c10d::ReduceOp op(Reduce reduce) {
    return reduce == Reduce::max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  }
  std::unique_ptr<Pending> pending(c10::intrusive_ptr<c10d::Work> work, const at::Tensor& tensor,
                                   Reduce reduce) {
    auto out = std::make_unique<C10dPending>(std::move(work), tensor, reduce == Reduce::mean ? size() : 1);
    out->divide_by(size());
    return out;
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
};

}  // namespace

std::unique_ptr<Transport> make_c10d_transport(c10::intrusive_ptr<c10d::Backend> backend) {
  return std::make_unique<C10dTransport>(std::move(backend));
}

std::unique_ptr<Transport> make_gloo_transport(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                               int size, const std::string& name, double timeout_s,
                                               bool local, const std::string& interface) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(!interface.empty() ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                             : local            ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                                : c10d::ProcessGroupGloo::createDefaultDevice());
  return make_c10d_transport(c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>(name, store), rank, size, options));
}

}  // namespace isobar
