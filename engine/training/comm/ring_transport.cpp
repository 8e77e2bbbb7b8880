#include "comm/ring_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "device/memory_ledger.h"
#include "ring/ring_engine.h"

namespace isobar {
namespace {

CombineType type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return CombineType::f32;
    case at::kDouble:
      return CombineType::f64;
    case at::kHalf:
      return CombineType::f16;
    case at::kBFloat16:
      return CombineType::bf16;
    case at::kInt:
      return CombineType::i32;
    case at::kLong:
      return CombineType::i64;
    case at::kByte:
      return CombineType::u8;
    default:
      throw Error(fmt::format("the ring cannot add values of type {}", c10::toString(tensor.scalar_type())),
                  "comm.backend", "comm.backend=gloo can", Exit::failed);
  }
}

void check_place(const at::Tensor& tensor) {
  if (tensor.is_cpu() && tensor.is_contiguous()) return;
  throw Error("the ring moves contiguous tensors on the CPU only", "comm.backend",
              "comm.backend=nccl is for tensors on a GPU", Exit::failed);
}

class RingPending final : public Pending {
 public:
  RingPending(std::shared_ptr<RingEngine> engine, std::shared_ptr<RingJob> job)
      : engine_(std::move(engine)), job_(std::move(job)) {}
  bool done() override { return job_->is_done(); }
  bool wait(std::int64_t timeout_us) override { return engine_->wait(*job_, timeout_us); }
  std::int64_t end_us() const override { return job_->end_us(); }
  std::vector<CollectiveStep> steps() const override {
    return job_->is_done() ? job_->steps() : std::vector<CollectiveStep>();
  }

 private:
  std::shared_ptr<RingEngine> engine_;
  std::shared_ptr<RingJob> job_;
};

class RingTransport final : public Transport {
 public:
  RingTransport(SharedMemory memory, const GroupMeeting& group, const std::string& name)
      : group_(group),
        name_(name),
        held_(MemoryCategory::communication, memory.bytes()),
        engine_(std::make_shared<RingEngine>(std::move(memory), group.rank, group.size())) {}
  std::string name() const override { return "ring"; }
  int rank() const override { return engine_->rank(); }
  int size() const override { return engine_->size(); }

  std::unique_ptr<Pending> all_reduce(const at::Tensor& tensor, Reduce reduce) override {
    return start(reducing(RingKind::all_reduce, tensor, tensor, reduce), tensor, tensor);
  }
  std::unique_ptr<Pending> broadcast(const at::Tensor& tensor, int root) override {
    RingRequest request = bytes_only(RingKind::broadcast, tensor, tensor);
    request.root = root;
    return start(std::move(request), tensor, tensor);
  }
  std::unique_ptr<Pending> all_gather(const at::Tensor& out, const at::Tensor& in) override {
    return start(bytes_only(RingKind::all_gather, out, in), out, in);
  }
  std::unique_ptr<Pending> reduce_scatter(const at::Tensor& out, const at::Tensor& in,
                                          Reduce reduce) override {
    return start(reducing(RingKind::reduce_scatter, out, in, reduce), out, in);
  }
  std::unique_ptr<Pending> all_to_all(const at::Tensor& out, const at::Tensor& in,
                                      const std::vector<std::int64_t>& receives,
                                      const std::vector<std::int64_t>& sends) override {
    connect_pairs();
    RingRequest request = bytes_only(RingKind::all_to_all, out, in);
    request.elements = static_cast<std::int64_t>(std::max(out.nbytes(), in.nbytes()));
    const auto each = static_cast<std::int64_t>(in.itemsize());
    for (const std::int64_t count : sends) request.sends.push_back(count * each);
    for (const std::int64_t count : receives) request.receives.push_back(count * each);
    return start(std::move(request), out, in);
  }
  void abort() noexcept override { engine_->abort(); }

 private:
  /// The first all-to-all of a group gets the memory that only this one needs.
  void connect_pairs() {
    if (engine_->has_pairs()) return;
    SharedMemory memory = meet_in_memory(group_, name_ + "/pairs", PairLinks::bytes(size()));
    held_pairs_.emplace(MemoryCategory::communication, memory.bytes());
    engine_->connect_pairs(std::move(memory));
  }

  static RingRequest bytes_only(RingKind kind, const at::Tensor& out, const at::Tensor& in) {
    return {.kind = kind,
            .type = CombineType::u8,
            .elements = static_cast<std::int64_t>(out.nbytes()),
            .in = static_cast<const std::byte*>(in.const_data_ptr()),
            .out = static_cast<std::byte*>(out.mutable_data_ptr())};
  }

  static RingRequest reducing(RingKind kind, const at::Tensor& out, const at::Tensor& in, Reduce reduce) {
    RingRequest request = bytes_only(kind, out, in);
    request.type = type_of(in);
    request.elements = in.numel();
    request.takes_larger = reduce == Reduce::max;
    request.divides = reduce == Reduce::mean;
    if (request.divides && !in.is_floating_point()) {
      throw Error(fmt::format("a mean of {} has no exact value", c10::toString(in.scalar_type())),
                  "all_reduce", "take the sum", Exit::failed);
    }
    return request;
  }

  std::unique_ptr<Pending> start(RingRequest request, const at::Tensor& out, const at::Tensor& in) {
    check_place(out);
    check_place(in);
    request.keep = std::make_shared<const std::pair<at::Tensor, at::Tensor>>(out, in);
    return std::make_unique<RingPending>(engine_, engine_->start(std::move(request)));
  }

  GroupMeeting group_;
  std::string name_;
  HeldMemory held_;  ///< what all ranks have in common counts for each
  std::optional<HeldMemory> held_pairs_;
  std::shared_ptr<RingEngine> engine_;
};

}  // namespace

std::unique_ptr<Transport> make_ring_transport(const GroupMeeting& group, const std::string& name) {
  return std::make_unique<RingTransport>(meet_in_memory(group, name, RingEngine::bytes(group.size())), group,
                                         name);
}

}  // namespace isobar
