// What isobar-rates measures: that operations and bytes are those of the formulas, and the program as a
// whole. No test says how fast anything is.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "comm/link_probe.h"
#include "core/files.h"
#include "core/waiting.h"
#include "formula/step_time.h"
#include "run/measure_elements.h"
#include "run/measure_link.h"
#include "run/measure_rates.h"
#include "run/measure_reading.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const TokenSize kSize{.batch = 2, .tokens = 6, .embed = 8, .heads = 2};
const VitShape kShape{
    .height = 8, .width = 16, .channels = 3, .patch = 4, .embed = 8, .depth = 1, .heads = 2};
constexpr Repeats kOnce{.least = 1, .most = 1, .budget_us = 0};

/// Goes on by a millisecond whenever it is read: each stage of a repeat takes one.
class TickingClock final : public Clock {
 public:
  TickingClock() { set_clock(this); }
  ~TickingClock() { set_clock(nullptr); }
  std::int64_t now_us() const override { return now_us_ += 1000; }
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition, std::int64_t) override {
    condition.wait(lock);
  }

 private:
  mutable std::int64_t now_us_ = 0;
};

constexpr double kTick_s = 1e-3;

/// This process, and what it starts, on one of the processors that it may use.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    std::size_t first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

bool is_rate(double value) { return std::isfinite(value) && value > 0; }

void check_rates(const std::vector<RateAt>& rates, std::size_t count) {
  REQUIRE(rates.size() == count);
  for (const RateAt& rate : rates) CHECK((is_rate(rate.size) && is_rate(rate.per_s)));
}

void check_type(const TypeRates& rates, bool is_measured) {
  const std::size_t count = is_measured ? 1 : 0;
  CHECK(rates.known() == is_measured);
  CHECK(is_rate(rates.peak_flops_per_s) == is_measured);
  CHECK(is_rate(rates.patch_flops_per_s) == is_measured);
  for (const auto& each :
       {rates.gemm, rates.attention_forward, rates.attention_backward, rates.element, rates.element_fused})
    check_rates(each, count);
}

}  // namespace

TEST_CASE("products and attention are counted in the operations of the model") {
  const TickingClock clock;
  const RateAt gemm = measure_gemm(kSize, /*depth=*/2, AmpMode::none, kOnce);
  CHECK(gemm.size == 2 * 6 * 8);
  CHECK(gemm.per_s == Approx(2 * 3 * 24 * 2 * 6 * 8 * 8 / (2 * kTick_s)));
  const double patch = count_forward_flops(kShape).patch;
  CHECK(measure_patch(kShape, /*batch=*/2, AmpMode::none, kOnce) == Approx(2 * 2 * patch / (2 * kTick_s)));
  const AttentionRateAt attention = measure_attention(kSize, AmpMode::none, kOnce);
  CHECK(attention.forward.size == 6);
  CHECK(attention.forward.per_s == Approx(4 * 2 * 6 * 6 * 8 / kTick_s));
  CHECK(attention.backward.per_s == Approx(2.5 * 4 * 2 * 6 * 6 * 8 / kTick_s));
}

TEST_CASE("element-wise work, updates and copies are counted in the bytes of the prediction") {
  const TickingClock clock;
  StepForm form;
  for (const bool fused : {false, true}) {
    form.fused_bias_gelu = form.fused_residual_norm = form.fused_qkv = fused;
    const RateAt rate = measure_elements(kSize, /*depth=*/2, AmpMode::none, fused, kOnce);
    CHECK(rate.size == 2 * 6 * 8);
    CHECK(rate.per_s == Approx(2 * 2 * 6 * 8 * element_bytes_per_place(form) / (2 * kTick_s)));
    CHECK(measure_ends(kShape, /*batch=*/2, fused, kOnce) == Approx(2000.0 / (2 * 3 * 8 * 16)));
    const auto parameters = static_cast<double>(count_parameters(kShape).total());
    const RateAt update = measure_adam(kShape, fused, kOnce);
    CHECK(update.size == parameters);
    CHECK(update.per_s == Approx(parameters * (fused ? kFusedAdamBytes : kPlainAdamBytes) / kTick_s));
  }
  CHECK(measure_copy(8000, kOnce) == Approx(8000 / kTick_s));
}

TEST_CASE("in 16 bits the same work runs, whether this processor has instructions for it or not") {
  for (const AmpMode mode : {AmpMode::bf16, AmpMode::fp16}) {
    CHECK(is_rate(measure_gemm(kSize, 1, mode, kOnce).per_s));
    CHECK(is_rate(measure_attention(kSize, mode, kOnce).backward.per_s));
    CHECK(is_rate(measure_elements(kSize, 1, mode, /*fused=*/false, kOnce).per_s));
    CHECK(is_rate(measure_elements(kSize, 1, mode, /*fused=*/true, kOnce).per_s));
  }
}

TEST_CASE("a machine has every rate, for each number of threads and each type that it multiplies") {
  RateSizes sizes;
  sizes.repeats = kOnce;
  sizes.gemm = sizes.attention = sizes.element = {kSize};
  sizes.model = sizes.large_model = kShape;
  sizes.batch = 2;
  sizes.copy_bytes = 8000;
  std::vector<std::string> told;
  const MachineRates rates =
      measure_rates(sizes, {1, 2}, [&](const std::string& what) { told.push_back(what); });
  CHECK(told.front() == "products, fp32, 1 thread");
  CHECK(told.back() == "reading");
  CHECK(rates.machine == machine_name());
  CHECK(is_rate(rates.read_bytes_per_s));
  REQUIRE(rates.threads.size() == 2);
  const std::vector<AmpMode> types = measured_types();
  for (std::size_t i = 0; i < 2; ++i) {
    const ThreadRates& threads = rates.threads[i];
    CHECK(threads.threads == static_cast<int>(i) + 1);
    check_type(threads.fp32, true);
    check_type(threads.bf16, std::count(types.begin(), types.end(), AmpMode::bf16) == 1);
    check_type(threads.fp16, std::count(types.begin(), types.end(), AmpMode::fp16) == 1);
    for (const double rate :
         {threads.memory_bytes_per_s, threads.ends_us_per_value, threads.fused_ends_us_per_value})
      CHECK(is_rate(rate));
    check_rates(threads.adam, 2);
    check_rates(threads.fused_adam, 2);
  }
}

TEST_CASE("the data that reading is measured with is gone afterwards") {
  const TempFolder folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", folder.path().c_str(), 1);
  CHECK(is_rate(measure_reading(kShape, /*batch=*/2, kOnce)));
  CHECK(std::filesystem::is_empty(folder.path()));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

TEST_CASE("of a probe the link is what the formulas make its times of again") {
  const LinkProbe probe{.latency_us = 40, .bytes = 4'000'000, .algbw_gb_per_s = 4'000'000 / 2040.0 * 1e-3};
  const Link link = link_of(probe, /*ranks=*/2);
  CHECK(link.latency_us == Approx(20));
  CHECK(link.bytes_per_us == Approx(2000));
  CHECK(ring_all_reduce_us(link, 2, 4e6) == Approx(2040));
  const LinkProbe slow{.latency_us = 500, .bytes = 1000, .algbw_gb_per_s = 1e-3 * 1000 / 400.0};
  CHECK(is_rate(link_of(slow, 4).bytes_per_us));  // a message that took less than the latency of others
}

TEST_CASE("the program keeps rates in a whole file, and nothing beside it") {
  const TempFolder folder;
  const std::filesystem::path file = folder / "new/rates.toml";
  const OneProcessor alone;  // it measures each number of threads
  const ProcessResult result = run_process({ISOBAR_RATES, "--quick", "--out", file.string()});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.find("measuring this machine, once: products, fp32") != std::string::npos);
  CHECK(result.err.find(file.string()) != std::string::npos);
  const MachineRates rates = read_machine_rates(file);
  CHECK(rates.machine == machine_name());
  CHECK(rates.threads.size() == 1);
  CHECK((is_rate(rates.link.latency_us) && is_rate(rates.link.bytes_per_us)));
  CHECK(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}) == 1);
}

TEST_CASE("a program that is stopped keeps nothing") {
  const TempFolder folder;
  ProcessOptions options;
  options.environment = {"TMPDIR=" + folder.path().string()};
  options.interrupt_when = after_ms(800);
  const ProcessResult result =
      run_process({ISOBAR_RATES, "--out", (folder / "rates.toml").string()}, options);
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the program refuses what it cannot use before it measures") {
  const TempFolder folder;
  const auto run = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = {ISOBAR_RATES};
    all.insert(all.end(), words.begin(), words.end());
    return run_process(all);
  };
  const ProcessResult unknown = run({"--slowly"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("--slowly") != std::string::npos);
  const ProcessResult on_a_folder = run({"--out", folder.path().string()});
  CHECK(on_a_folder.code == 2);
  CHECK(on_a_folder.err.find("is not a file") != std::string::npos);
  write_file_whole(folder / "mine.toml", std::string_view("[tool.poetry]"));
  const ProcessResult over = run({"--out", folder / "mine.toml"});
  CHECK(over.code == 2);
  CHECK(over.err.find("is no file of rates of ours") != std::string::npos);
  CHECK(over.err.find("measuring") == std::string::npos);
  const ProcessResult nowhere = run({"--out", "/proc/none/rates.toml"});
  CHECK(nowhere.code != 0);
  CHECK(nowhere.err.find("/proc/none") != std::string::npos);
  CHECK(nowhere.err.find("measuring") == std::string::npos);
  const ProcessResult alone = run({"--link"});
  CHECK(alone.code == 2);
  CHECK(alone.err.find("--link") != std::string::npos);
}
