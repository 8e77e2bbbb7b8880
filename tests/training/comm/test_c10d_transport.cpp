// What a transport makes of a backend of c10d that ends at an awkward moment.
#include <ATen/ops/ones.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "comm/c10d_adapter.h"
#include "comm/c10d_transport.h"
#include "core/error.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"
// below all
#include "support/claim_macros.h"

using namespace isobar;

namespace {

/// Ends just after the patience of whoever waits for it, and before that one looks.
class LateWork final : public c10d::Work {
 public:
  explicit LateWork(bool fails) : fails_(fails) {}
  bool isCompleted() override { return late_; }
  bool wait(std::chrono::milliseconds timeout) override {
    if (timeout != kNoTimeout) {
      late_ = true;
      throw std::runtime_error("Operation timed out!");
    }
    if (fails_) throw std::runtime_error("Connection closed by peer");
    return true;
  }

 private:
  bool fails_;
  bool late_ = false;
};

class LateBackend final : public c10d::Backend {
 public:
  explicit LateBackend(bool fails) : Backend(0, 2), fails_(fails) {}
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>&, const c10d::AllreduceOptions&) override {
    return c10::make_intrusive<LateWork>(fails_);
  }

 private:
  bool fails_;
};

std::unique_ptr<Pending> late_one(const std::unique_ptr<Transport>& transport) {
  return transport->all_reduce(at::ones({4}), Reduce::sum);
}

}  // namespace

TEST_CASE("a collective that ends while its waiter loses patience is done, not lost") {
  const auto transport = make_c10d_transport(c10::make_intrusive<LateBackend>(/*fails=*/false));
  CHECK(late_one(transport)->wait(1000));
}

TEST_CASE("one that fails in that moment says why, and not that time passed") {
  const auto transport = make_c10d_transport(c10::make_intrusive<LateBackend>(/*fails=*/true));
  CHECK_THROWS_WITH(late_one(transport)->wait(1000), "Connection closed by peer");
}

TEST_CASE("a reduce-scatter between hosts is a part of a sum, and waited for like one") {
  // This backend leaves what it is given as it is, and has no reduce-scatter of its own.
  const auto transport = make_c10d_transport(c10::make_intrusive<LateBackend>(/*fails=*/false));
  const at::Tensor in = at::ones({4}), out = at::zeros({2});
  CHECK(transport->reduce_scatter(out, in, Reduce::mean)->wait(1000));
  CHECK(out.equal(at::ones({2}) * 0.5));
  CHECK(in.equal(at::ones({4})));
  const auto broken = make_c10d_transport(c10::make_intrusive<LateBackend>(/*fails=*/true));
  CHECK_THROWS_WITH(broken->reduce_scatter(out, in, Reduce::sum)->wait(1000), "Connection closed by peer");
}

TEST_CASE("libtorch gets the sum of one tensor from our ranks, and is refused what is not made for it") {
  Comm comm;
  const auto group = make_process_group(comm, "bucket", /*overlap=*/true);
  const auto backend = group->getBackend(at::kCPU);
  std::vector<at::Tensor> one = {at::ones({2})};
  std::vector<at::Tensor> two = {at::ones({2}), at::ones({2})};
  CHECK(backend->allreduce(one, {})->wait());
  c10d::AllreduceOptions largest;
  largest.reduceOp = c10d::ReduceOp::MAX;
  CHECK_THAT(failure_of([&] { backend->allreduce(two, {}); }), says("not made for libtorch"));
  CHECK_THAT(failure_of([&] { backend->allreduce(one, largest); }), says("not made for libtorch"));
}

TEST_CASE("a collective among one is done at once") {
  const at::Tensor values = at::ones({2});
  const auto pending = make_solo_transport()->all_reduce(values, Reduce::sum);
  CHECK(pending->done());
  CHECK(pending->wait(0));
}

TEST_CASE("a machine whose loopback interface is down is told so") {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {  // in a network of its own, which begins like that
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0) _exit(77);
    try {
      make_gloo_transport(c10::make_intrusive<c10d::HashStore>(), 0, 2, "world", /*timeout_s=*/1,
                          /*local=*/true, "");
    } catch (const Error& error) {
      write_file_whole(folder / "said", error.text());
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    WARN("skipped: no network of its own here");
    return;
  }
  REQUIRE(status == 0);
  CHECK_THAT(read_text_file(folder / "said", 10'000), says("lo, which is down") && says("ip link set lo up"));
}
