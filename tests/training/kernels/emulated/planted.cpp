// planted_BUILD NAME: runs the copy of a kernel in which derive.py has made the mistake NAME, or the kernel
// NAME as it is, in either order of threads. Whatever the build finds ends it; else it says that nothing was
// found.
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/adam.h"
#include "kernels/count_nonfinite.h"
#include "kernels/emulated/device.h"
#include "kernels/emulated/watch.h"
#include "kernels/gradient_norm.h"

namespace isobar {

using GradientNormForm = void(const GradientNorm&, CUstream_st*);
using CountForm = void(const float*, std::int64_t, std::int64_t*, CUstream_st*);
using AdamForm = void(const AdamStep&, CUstream_st*);

// Each is in one of the builds: null in the other.
[[gnu::weak]] GradientNormForm gradient_norm_one_result_for_two_blocks, gradient_norm_unwritten,
    gradient_norm_ended_lane, gradient_norm_waits_in_vain;
[[gnu::weak]] CountForm count_nonfinite_misaligned, count_nonfinite_not_atomic;
[[gnu::weak]] AdamForm adam_no_barrier, adam_one_beyond;

namespace {

std::vector<std::byte*> operands;

template <typename Value>
Value* operand(std::size_t n, Value value) {
  auto* const out = reinterpret_cast<Value*>(
      emulated::take(emulated::Memory::global, "an operand", n * sizeof(Value), 256));
  operands.push_back(reinterpret_cast<std::byte*>(out));
  for (std::size_t i = 0; i < n; ++i) out[i] = value;
  return out;
}

template <typename Run>
int in_both_orders(const Run& run) {
  for (const auto order : {emulated::Order::forwards, emulated::Order::backwards}) {
    emulated::set_order(order);
    run();
  }
  for (std::byte* const memory : operands) emulated::give_back(memory);
  std::puts("nothing was found");
  return 0;
}

int run(GradientNormForm* form) {
  constexpr std::size_t kValues = 70'000;  // several groups a block
  GradientNorm job;
  job.n = kValues;
  job.gradients = operand(kValues, 0.5F);
  job.sum_of_squares = operand(1, 0.0);
  job.nonfinite = operand(1, std::int64_t{0});
  job.scratch = operand(static_cast<std::size_t>(kGradientNormScratch), 0.0);
  return in_both_orders([&] { form(job, nullptr); });
}

int run(CountForm* form) {
  constexpr std::size_t kValues = 4'000;  // several blocks
  const float* const values = operand(kValues, std::numeric_limits<float>::infinity());
  std::int64_t* const counter = operand(1, std::int64_t{0});
  return in_both_orders([&] { form(values + 1, kValues - 1, counter, nullptr); });
}

int run(AdamForm* form) {
  constexpr std::size_t kValues = 1'000;  // fewer than threads
  AdamStep job;
  job.n = kValues;
  job.weights = operand(kValues, 1.0F);
  job.gradients = operand(kValues, 1.0F);
  job.mean = operand(kValues, 0.0F);
  job.square = operand(kValues, 0.0F);
  job.control = operand(1, AdamControl{1e-3F, 1, 1, 0});
  return in_both_orders([&] { form(job, nullptr); });
}

template <typename Form>
struct Named {
  const char* name;
  Form* form;
};

constexpr Named<GradientNormForm> kGradientNorms[] = {
    {"gradient_norm", gradient_norm_cuda},
    {"one_result_for_two_blocks", gradient_norm_one_result_for_two_blocks},
    {"unwritten", gradient_norm_unwritten},
    {"ended_lane", gradient_norm_ended_lane},
    {"waits_in_vain", gradient_norm_waits_in_vain},
};
constexpr Named<CountForm> kCounts[] = {
    {"count_nonfinite", count_nonfinite_cuda},
    {"misaligned", count_nonfinite_misaligned},
    {"not_atomic", count_nonfinite_not_atomic},
};
constexpr Named<AdamForm> kAdams[] = {
    {"adam", adam_cuda}, {"no_barrier", adam_no_barrier}, {"one_beyond", adam_one_beyond}};

/// -1: there is none of this name here.
template <typename Form, std::size_t kForms>
int run_named(const Named<Form> (&forms)[kForms], std::string_view name) {
  for (const Named<Form>& one : forms) {
    if (name == one.name && one.form != nullptr) return run(one.form);
  }
  return -1;
}

}  // namespace
}  // namespace isobar

int main(int argc, char** argv) {
  const char* const name = argc == 2 ? argv[1] : "";
  for (const int code : {isobar::run_named(isobar::kGradientNorms, name),
                         isobar::run_named(isobar::kCounts, name), isobar::run_named(isobar::kAdams, name)}) {
    if (code >= 0) return code;
  }
  std::fprintf(stderr, "planted: there is no kernel and no mistake \"%s\" in this build\n", name);
  return 2;
}
