// What an operator watch counts: exactly, on graphs small enough to count by hand.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/add.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <thread>

#include "device/event_pool.h"
#include "device/fake_plugin.h"
#include "device/operator_watch.h"
#include "support/catch.h"
#include "support/errors.h"
// below all
#include "support/claim_macros.h"

// As ATen/record_function.h has it, which takes 2 s more to compile.
namespace at {
TORCH_API bool hasGlobalCallbacks();
}

using namespace isobar;

namespace {

template <class Work>
OperatorRecord watch(const Work& work) {
  OperatorWatch operators{c10::Device(c10::kCPU)};
  operators.enter("forward");
  work();
  operators.stop();
  return operators.take();
}

std::string names(const OperatorRecord& record) {
  std::string out;
  for (const WatchedOperator& row : record.rows) {
    out += (out.empty() ? "" : " ") + row.name;
    if (row.calls > 1) out += "*" + std::to_string(row.calls);
  }
  return out;
}

const WatchedOperator& row(const OperatorRecord& record, const std::string& name) {
  for (const WatchedOperator& one : record.rows) {
    if (one.name == name) return one;
  }
  FAIL("no operator " << name << " in: " << names(record));
  throw 0;
}

OperatorClass kind_of(const std::string& name) { return class_of_operator(name); }

constexpr std::int64_t kFloat = 4;

}  // namespace

TEST_CASE("views, allocations and questions are no launches") {
  const at::Tensor x = at::rand({6, 4});
  const OperatorRecord record = watch([&] {
    const at::Tensor viewed = x.view({4, 6}).t().narrow(0, 0, 2).unsqueeze(0).expand({3, 2, 4}).detach();
    const at::Tensor made = at::empty({100});
    const at::Tensor alike = at::empty_like(x);
    (void)x.to(at::kFloat);  // it is that already
    (void)x.contiguous();
    (void)x.reshape({24});
    (void)x[0][0].item<float>();
    (void)at::zeros({}).item<float>();  // one value in host memory
    (void)viewed;
    (void)made;
    (void)alike;
  });
  CHECK(names(record).empty());
  CHECK(record.launches == 0);
  CHECK(record.moved_bytes == 0);
}

TEST_CASE("each tensor is read once and written once, and a broadcast one has the bytes that it has") {
  const at::Tensor a = at::rand({10, 8});
  const at::Tensor b = at::rand({10, 8});
  at::Tensor c = at::rand({10, 8});
  const at::Tensor line = at::rand({8});
  const std::int64_t all = 80 * kFloat;
  CHECK(watch([&] { (void)(a + b); }).moved_bytes == 3 * all);
  CHECK(watch([&] { (void)(a * a); }).moved_bytes == 2 * all);
  CHECK(watch([&] { c.add_(a); }).moved_bytes == 3 * all);
  CHECK(watch([&] { c.copy_(a); }).moved_bytes == 2 * all);  // what was there is not read
  CHECK(watch([&] { c.zero_(); }).moved_bytes == all);
  CHECK(watch([&] { at::add_out(c, a, b); }).moved_bytes == 3 * all);
  CHECK(watch([&] { (void)(a + line.expand({10, 8})); }).moved_bytes == 2 * all + 8 * kFloat);
  CHECK(watch([&] { (void)a.narrow(0, 0, 5).sin(); }).moved_bytes == all);
  CHECK(watch([&] { (void)a.to(at::kBFloat16); }).moved_bytes == all + all / 2);
  CHECK(watch([&] { (void)at::zeros({10, 8}); }).moved_bytes == all);
}

TEST_CASE(
    "lists of tensors count with all of them, and an operator that gives nothing with what it changes") {
  const std::vector<at::Tensor> to = {at::rand({4}), at::rand({6})};
  const std::vector<at::Tensor> from = {at::rand({4}), at::rand({6})};
  const OperatorRecord added = watch([&] { at::_foreach_add_(to, from); });
  // On a CPU the list is worked off one by one, and those are seen.
  CHECK(added.moved_bytes == 3 * 10 * kFloat);
  CHECK(watch([&] { (void)at::concat(to); }).moved_bytes == 2 * 10 * kFloat);
}

TEST_CASE("what is made of other operators is seen as those, and what is done below is not counted again") {
  const at::Tensor x = at::rand({2, 5, 8});
  const at::Tensor w = at::rand({3, 8});
  const OperatorRecord linear = watch([&] { (void)at::linear(x, w); });
  CHECK(names(linear) == "mm");
  CHECK(row(linear, "mm").kind == OperatorClass::gemm);
  CHECK(linear.moved_bytes == (2 * 5 * 8 + 3 * 8 + 2 * 5 * 3) * kFloat);
  CHECK(names(watch([&] { (void)x.transpose(1, 2).reshape({80}); })) == "copy_");  // reshape, clone, copy_
  CHECK(names(watch([&] { (void)x.mean(); })) == "sum");    // and a division of one value in host memory
  CHECK(names(watch([&] { (void)x.mul(2.5); })) == "mul");  // its scalar is converted by a copy_ of 4 bytes
  const at::Tensor image = at::rand({1, 2, 8, 8});
  const OperatorRecord convolved = watch([&] { (void)at::conv2d(image, at::rand({4, 2, 4, 4}), {}, 4); });
  std::int64_t convolutions = 0;
  for (const WatchedOperator& one : convolved.rows) convolutions += one.kind == OperatorClass::gemm;
  CHECK(convolutions == 1);
}

TEST_CASE("the operators of backward are seen, each once") {
  const at::Tensor w = at::rand({4, 4}).set_requires_grad(true);
  const at::Tensor x = at::rand({3, 4});
  OperatorWatch operators{c10::Device(c10::kCPU)};
  operators.enter("forward");
  const at::Tensor loss = at::mm(x, w).sum();
  operators.enter("backward");
  loss.backward();
  operators.stop();
  const OperatorRecord record = operators.take();
  REQUIRE(names(record) ==
          "mm sum copy_ mm");  // the gradient of a sum, one value, is laid out for the product
  CHECK(record.rows[0].module == "forward");
  CHECK(record.rows[2].module == "backward");
  CHECK(record.rows[3].module == "backward");
  CHECK(record.rows[3].moved_bytes == (3 * 4 + 1 + 4 * 4) * kFloat);
  CHECK(record.launches == 4);
  double class_us = 0;
  for (const double time_us : record.class_us) class_us += time_us;
  double row_us = 0;
  for (const WatchedOperator& one : record.rows) row_us += one.op_us;
  CHECK(class_us == Approx(row_us));
  CHECK(record.class_us[0] > 0);
}

TEST_CASE("attention is one class, forward and backward, whether fused or plain") {
  at::Tensor q = at::rand({1, 2, 16, 8}).set_requires_grad(true);
  const auto classes = [&] {
    const OperatorRecord record =
        watch([&] { at::scaled_dot_product_attention(q, q, q).pow(2).sum().backward(); });
    std::int64_t gemm = 0;
    std::int64_t attention = 0;
    for (const WatchedOperator& one : record.rows) {
      gemm += one.kind == OperatorClass::gemm ? one.calls : 0;
      attention += one.kind == OperatorClass::attention ? one.calls : 0;
    }
    return std::pair(gemm, attention);
  };
  const auto [fused_gemm, fused_attention] = classes();
  CHECK(fused_gemm == 0);
  CHECK(fused_attention >= 2);
  at::globalContext().setSDPUseFlash(false);
  const auto [plain_gemm, plain_attention] = classes();
  at::globalContext().setSDPUseFlash(true);
  CHECK(plain_gemm == 0);      // two products forward and four backward
  CHECK(plain_attention > 8);  // them, scaling, softmax
}

TEST_CASE("operators belong to the innermost module of their thread, else to the stage") {
  const std::string outer = "blocks.0";
  const std::string inner = "blocks.0.norm1";
  const at::Tensor x = at::rand({8});
  const OperatorRecord record = watch([&] {
    (void)x.sin();
    const ModuleScope block(outer);
    (void)x.sin();
    {
      const ModuleScope norm(inner);
      (void)x.sin();
    }
    (void)x.cos();
    std::thread([&] { (void)x.cos(); }).join();  // another thread is in no module
  });
  REQUIRE(record.rows.size() == 5);
  CHECK(record.rows[0].module == "forward");
  CHECK(record.rows[1].module == "blocks.0");
  CHECK(record.rows[2].module == "blocks.0.norm1");
  CHECK(record.rows[3].module == "blocks.0");
  CHECK(record.rows[4].module == "forward");
}

TEST_CASE("kernels of our own count as they say") {
  { const KernelScope nobody_watches("bias_gelu", 1000, at::kFloat); }
  const OperatorRecord record = watch([&] {
    { const KernelScope kernel("bias_gelu", 1000, at::kBFloat16); }
    { const KernelScope kernel("bias_gelu", 1000, at::kBFloat16); }
    const KernelScope kernel("adam", 500, at::kFloat);
  });
  CHECK(names(record) == "bias_gelu*2 adam");
  CHECK(record.moved_bytes == 2500);
  CHECK(row(record, "bias_gelu").output == "bf16");
  CHECK(row(record, "bias_gelu").kind == OperatorClass::pointwise);
  CHECK(row(record, "adam").inputs == "f32");
}

TEST_CASE("types are those of the tensors that are read, and of what comes out") {
  const at::Tensor x = at::rand({4, 4}).to(at::kBFloat16);
  const at::Tensor y = at::rand({4, 4});
  const OperatorRecord record = watch([&] {
    (void)at::mm(x, x);
    (void)(x + y);
  });
  CHECK(row(record, "mm").inputs == "bf16, bf16");
  CHECK(row(record, "mm").output == "bf16");
  CHECK(row(record, "add").inputs == "bf16, f32");
  CHECK(row(record, "add").output == "f32");
}

TEST_CASE("on a device the time is that between events, without the operators below") {
  const FakePlugin plugin;
  auto events = std::make_unique<EventPool>(plugin, 0);
  OperatorWatch operators(std::move(events));
  {
    const KernelScope outer("bias_gelu", 1000, at::kFloat);
    plugin.launch(30);
    {
      const KernelScope inner("adam", 500, at::kFloat);
      plugin.launch(100);
    }
    plugin.launch(5);
  }
  operators.stop();
  CHECK(plugin.waits() == 0);  // watching waits for nothing
  const OperatorRecord record = operators.take();
  CHECK(plugin.waits() > 0);
  CHECK(row(record, "bias_gelu").op_us == 35);
  CHECK(row(record, "adam").op_us == 100);
}

TEST_CASE("two watches at once are refused, and an end that was not asked for takes the callback back") {
  {
    OperatorWatch first{c10::Device(c10::kCPU)};
    CHECK_THAT(error_of([] { OperatorWatch second{c10::Device(c10::kCPU)}; }, Exit::failed),
               says("watched already"));
  }
  CHECK_FALSE(at::hasGlobalCallbacks());
  CHECK(watch([] { (void)at::rand({3}); }).launches > 0);
  CHECK_FALSE(at::hasGlobalCallbacks());
}

TEST_CASE("classes by name") {
  CHECK(kind_of("addmm") == OperatorClass::gemm);
  CHECK(kind_of("mkldnn_convolution") == OperatorClass::gemm);
  CHECK(kind_of("convolution_backward") == OperatorClass::gemm);
  CHECK(kind_of("_scaled_dot_product_cudnn_attention") == OperatorClass::attention);
  CHECK(kind_of("native_layer_norm_backward") == OperatorClass::norm);
  CHECK(kind_of("residual_norm") == OperatorClass::norm);
  CHECK(kind_of("linalg_vector_norm") == OperatorClass::reduction);
  CHECK(kind_of("gradient_norm") == OperatorClass::reduction);
  CHECK(kind_of("_softmax") == OperatorClass::reduction);
  CHECK(kind_of("head_loss") == OperatorClass::reduction);
  CHECK(kind_of("copy_") == OperatorClass::copy);
  CHECK(kind_of("_to_copy") == OperatorClass::copy);
  CHECK(kind_of("gelu_backward") == OperatorClass::pointwise);
  CHECK(kind_of("_fused_adam_") == OperatorClass::pointwise);
  CHECK(kind_of("add_") == OperatorClass::pointwise);
  CHECK(kind_of("something_new") == OperatorClass::other);
}
