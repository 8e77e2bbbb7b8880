// What a transport makes of a backend of c10d that ends at an awkward moment.
#include <ATen/ops/ones.h>

#include <stdexcept>

#include "comm/c10d_transport.h"
#include "support/catch.h"

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
