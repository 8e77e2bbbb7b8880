// Ways to average gradients in a process alone: what goes wrong, said in words, and what is left then.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include "config/with_fault.h"
#include "support/catch.h"
#include "support/errors.h"
#include "train/bucket_parts.h"
#include "train/gradient_hooks.h"
#include "train/schedule.h"
#include "train/sync_world.h"
// below all
#include "support/claim_macros.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

/// Two parameters of eight values.
struct Pair {
  Pair() {
    first = parameters.add({.name = "first", .full_shape = {8}, .init = Init::ones});
    second = parameters.add({.name = "second", .full_shape = {8}, .init = Init::ones});
    parameters.materialise(1, at::kCPU);
  }
  at::Tensor loss() const { return (first * first).sum() + (second * 3).sum(); }
  Parameters parameters;
  at::Tensor first, second;
};

struct Alone {
  explicit Alone(const std::string& name) : config(small_buckets("gloo", name)) {
    const auto make = name == "buckets"         ? make_bucket_sync
                      : name == "per_parameter" ? make_per_parameter_sync
                      : name == "reducer"       ? make_reducer_sync
                                                : make_at_end_sync;
    sync = make(pair.parameters, comm, config);
  }
  SyncFigures step(const at::Tensor& loss) {
    pair.parameters.zero_gradients();
    sync->begin();
    sync->backward(loss);
    return sync->finish();
  }
  Pair pair;
  Comm comm;
  CommConfig config;
  std::unique_ptr<GradientSync> sync;
};

}  // namespace

TEST_CASE("a rank that is alone has no hooks, which would hold a stream that nobody records") {
  for (const char* const name : {"buckets", "at_end", "per_parameter", "reducer", "none"}) {
    INFO(name);
    Pair pair;
    Comm alone;
    const auto sync = make_gradient_sync(pair.parameters, alone, small_buckets("gloo", name));
    for (const at::Tensor& leaf : {pair.first, pair.second})
      CHECK(torch::autograd::impl::grad_accumulator(leaf)->post_hooks().empty());
    sync->begin();
    sync->backward(pair.loss());
    CHECK(sync->finish().calls == 0);
    CHECK(pair.first.grad().eq(2).all().item<bool>());
  }
}

TEST_CASE("hooks hold gradients to the stream that is current when they are made") {
  using FakeGuard = c10::impl::FakeGuardImpl<c10::DeviceType::PrivateUse1>;
  static const c10::impl::DeviceGuardImplRegistrar registered(c10::DeviceType::PrivateUse1, new FakeGuard);
  const c10::Device device(c10::DeviceType::PrivateUse1, 0);
  const auto made_on = [&](std::optional<c10::Stream> stream) {
    at::Tensor leaf = at::detail::make_tensor<c10::TensorImpl>(
        c10::DispatchKeySet({c10::DispatchKey::PrivateUse1, c10::DispatchKey::AutogradPrivateUse1}),
        caffe2::TypeMeta::Make<float>(), device);
    leaf.set_requires_grad(true);
    std::optional<GradientHooks> hooks;
    {
      const c10::OptionalStreamGuard guard(stream);
      hooks.emplace(std::vector<at::Tensor>{leaf}, [](std::size_t) {});
    }
    return torch::autograd::impl::grad_accumulator(leaf)->input_metadata(0).stream();
  };
  const c10::Stream side(c10::Stream::UNSAFE, device, 7);
  CHECK(made_on(side) == side);
  CHECK(made_on({}) != side);
}

TEST_CASE("a parameter without a gradient is told by its name") {
  for (const char* const name : {"buckets", "per_parameter"}) {
    INFO(name);
    Alone alone(name);
    CHECK_THAT(failure_of([&] { alone.step((alone.pair.second * 3).sum()); }),
               says("1 of 2 gradients") && says("first"));
    CHECK_NOTHROW(alone.step(alone.pair.loss()));
    CHECK(alone.pair.first.grad().eq(2).all().item<bool>());
  }
  Alone reducer("reducer");
  reducer.step(reducer.pair.loss());
  reducer.sync->begin();
  reducer.sync->backward((reducer.pair.second * 3).sum());
  reducer.sync->finish();
  CHECK_THAT(failure_of([&] { reducer.sync->begin(); }), says("not all gradients"));
}

TEST_CASE("two backward passes where one was announced are told") {
  for (const char* const name : {"buckets", "per_parameter"}) {
    Alone alone(name);
    alone.sync->begin();
    alone.sync->backward(alone.pair.loss());
    CHECK_THAT(failure_of([&] { alone.pair.loss().backward(); }),
               says("came twice") && says("last_micro_batch"));
  }
  Alone alone("at_end");
  CHECK_THAT(failure_of([&] { alone.sync->finish(); }), says("no such pass was announced"));
  alone.sync->begin(/*last_micro_batch=*/false);
  alone.sync->backward(alone.pair.loss());
  CHECK_THAT(failure_of([&] { alone.sync->finish(); }), says("no such pass was announced"));
}

TEST_CASE("after a backward pass that threw the next step is right") {
  for (const char* const name : {"buckets", "at_end", "per_parameter"}) {
    INFO(name);
    Alone alone(name);
    for (const bool cut : {false, true}) {  // with the one bucket of the first step, and with those after it
      const at::Tensor loss = alone.pair.loss();
      {
        const at::NoGradGuard no_grad;
        alone.pair.first.mul_(1);  // its backward needs the value as it was
      }
      alone.sync->begin();
      CHECK_THROWS(alone.sync->backward(loss));
      alone.step(alone.pair.loss());
      CHECK(alone.pair.first.grad().eq(2).all().item<bool>());
      CHECK(alone.pair.second.grad().eq(3).all().item<bool>());
      CHECK((cut || name == std::string("buckets") || alone.pair.parameters.layout_version() == 0));
    }
  }
}

TEST_CASE("buckets are cut in the order in which gradients came, once") {
  Alone alone("buckets");
  CHECK(alone.sync->planned_calls() == 1);
  alone.config.bucket_mb = 1e-5;
  alone.config.first_bucket_mb = 1;  // the smaller cap counts
  const auto sync = make_bucket_sync(alone.pair.parameters, alone.comm, alone.config);
  for (int step = 0; step < 3; ++step) {
    sync->begin();
    CHECK(sync->planned_calls() == (step == 0 ? 1 : 2));
    sync->backward((alone.pair.first * alone.pair.first.detach()).sum() +
                   (alone.pair.second.exp().log().exp().log() * 3).sum());
    sync->finish();
  }
  CHECK(alone.pair.parameters.layout_version() == 1);
}

TEST_CASE("an order that is given is cut before the first step") {
  for (const BucketOrder order : {BucketOrder::reverse, BucketOrder::forward}) {
    INFO(name_of(order));
    Pair pair;
    Comm comm;
    CommConfig config = small_buckets("gloo", "buckets");
    config.bucket_mb = 1e-5;
    config.bucket_order = order;
    const auto sync = make_bucket_sync(pair.parameters, comm, config);
    CHECK(sync->planned_calls() == 2);
    for (int step = 0; step < 2; ++step) {
      pair.parameters.zero_gradients();
      sync->begin();
      sync->backward(pair.loss());
      sync->finish();
      CHECK(pair.first.grad().eq(2).all().item<bool>());
      CHECK(pair.second.grad().eq(3).all().item<bool>());
    }
    CHECK(sync->planned_calls() == 2);
    const std::vector<ParameterLeaf> leaves = pair.parameters.leaves();
    CHECK((leaves[1].flat_begin < leaves[0].flat_begin) == (order == BucketOrder::reverse));
    CHECK(pair.parameters.layout_version() == 1);
  }
}

TEST_CASE("buckets that are handed in are the ones that travel, and each gradient has to be in one") {
  Alone alone("buckets");
  GradientSync& sync = *alone.sync;
  CHECK_FALSE(sync.plan_is_due());  // nobody knows yet in which order gradients come
  CHECK(sync.order(BucketOrder::ready).leaves.empty());
  CHECK(sync.order(BucketOrder::reverse).leaves == std::vector<std::size_t>{1, 0});
  alone.step(alone.pair.loss());
  REQUIRE(sync.plan_is_due());
  const GradientOrder order = sync.order(BucketOrder::ready);
  CHECK(order.sizes_bytes == std::vector<std::int64_t>{32, 32});
  REQUIRE(order.ready_us.size() == 2);
  CHECK(order.ready_us[0] <= order.ready_us[1]);
  CHECK(order.ready_us[1] <= order.backward_us);
  CHECK_THAT(failure_of([&] { sync.plan(order, {{.first = 0, .count = 1}}); }),
             says("so that each is in one"));
  CHECK_THAT(failure_of([&] {
               sync.plan(order, {{.first = 0, .count = 1}, {.first = 0, .count = 2}});
             }),
             says("0, 0-1"));
  sync.plan(order, {{.first = 0, .count = 1}, {.first = 1, .count = 1}});
  CHECK_FALSE(sync.plan_is_due());
  CHECK(alone.step(alone.pair.loss()).calls == 2);
  CHECK(sync.planned_calls() == 2);
  CHECK(alone.pair.first.grad().eq(2).all().item<bool>());
}

TEST_CASE("a planner that is plugged in is asked until it has a plan, and a bucket that never left is told") {
  static std::vector<std::size_t> times_given;
  struct Idle final : BucketDispatcher {
    void begin() override {}
    void ready(std::size_t) override {}
    void finish() override {}
  };
  seams::bucket_parts.plug([](const CommConfig&, int ranks) {
    CHECK(ranks == 1);
    const auto planner = [](const GradientOrder& order) -> std::optional<std::vector<PlannedBucket>> {
      times_given.push_back(order.ready_us.size());
      if (times_given.size() < 3) return {};
      return std::vector<PlannedBucket>{{.first = 0, .count = 2}};
    };
    return BucketParts{.planner = planner,
                       .make_dispatcher = [](const BucketsToSend& buckets, BucketMessenger& messenger) {
                         return buckets.plan.front().bytes == 0 && times_given.size() < 3
                                    ? own_bucket_dispatcher(false)(buckets, messenger)
                                    : std::make_unique<Idle>();
                       }};
  });
  Pair pair;
  Comm comm;
  CommConfig config = small_buckets("gloo", "buckets");
  config.bucket_order = BucketOrder::reverse;
  const auto sync = make_bucket_sync(pair.parameters, comm, config);
  seams::bucket_parts.plug(own_bucket_parts);
  const auto step = [&] {
    CHECK_FALSE(sync->plan_is_due());  // the planner's
    sync->begin();
    sync->backward(pair.loss());
    sync->finish();
  };
  step();
  step();
  CHECK_THAT(failure_of(step), says("bucket 0 was not sent"));
  CHECK(times_given == std::vector<std::size_t>{0, 2, 2});
}

TEST_CASE("gradients that are copied into buckets come back as they are, and stay views of the flat ones") {
  Pair pair;
  Comm comm;
  CommConfig config = small_buckets("gloo", "buckets");
  config.bucket_view = false;
  config.bucket_mb = 1e-5;
  const auto sync = make_bucket_sync(pair.parameters, comm, config);
  for (int step = 0; step < 3; ++step) {
    pair.parameters.zero_gradients();
    sync->begin(/*last_micro_batch=*/false);
    sync->backward(pair.loss());
    sync->begin();
    sync->backward(pair.loss());
    pair.parameters.gradients().fill_(-1);  // what was copied travels, whatever becomes of this
    sync->finish();
    CHECK(pair.first.grad().eq(4).all().item<bool>());
    CHECK(pair.second.grad().eq(6).all().item<bool>());
  }
  const std::vector<ParameterLeaf> leaves = pair.parameters.leaves();
  CHECK(pair.parameters.gradients().const_data_ptr<float>() + leaves[0].flat_begin ==
        pair.first.grad().const_data_ptr<float>());
}

TEST_CASE("the learning rate grows with the batch as its rule says") {
  Config config;
  config.optim.lr = 1e-3;
  config.train.global_batch = 64;
  config.schedule.base_batch = 16;
  CHECK(peak_learning_rate(config) == 1e-3);
  CHECK(peak_text(config, 1e-3).empty());
  config.schedule.lr_rule = LrRule::linear;
  CHECK(peak_text(config, peak_learning_rate(config)) ==
        "optim.lr 0.001 x 4 = 0.004: linear in 64 samples a step over 16");
  CHECK(peak_learning_rate(config) == Approx(4e-3));
  config.schedule.warmup_steps = 8;
  CHECK(learning_rate(config.schedule, peak_learning_rate(config), 1, 1000) == Approx(1e-3));
  config.schedule.lr_rule = LrRule::sqrt;
  CHECK(peak_learning_rate(config) == Approx(2e-3));
  const Config unscaled = with_fault(config, {.fault = Fault::lr_unscaled});
  CHECK(peak_learning_rate(unscaled) == 1e-3);
  CHECK(peak_text(config, 1e-3) == "optim.lr 0.001 x 1 = 0.001: sqrt in 64 samples a step over 16");
}
