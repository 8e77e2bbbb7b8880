// ./isobar bench normalise: the kernels that make a batch of what came over the link, beside a copy that
// moves as many bytes through the device's memory; and what the link itself brings.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "bench/bench_report.h"
#include "core/error.h"
#include "device/device.h"
#include "device/event_pool.h"
#include "device/load_cuda.h"
#include "device/memory.h"
#include "device/stream.h"

using namespace isobar;

namespace {

constexpr double kLeastShare = 0.8;  // of the speed of a copy
constexpr int kLaunches = 20;        // between two looks at the clock

struct Options {
  std::int64_t samples = 16;
  std::int64_t channels = 20;
  std::int64_t rows = 360;
  std::int64_t columns = 720;
  int pairs = 30;
};

/// A batch on the device, big enough for every form of it.
struct Bench {
  Bench(const Options& options, c10::Device on)
      : device(on),
        events(on),
        plugin(cuda_plugin()),
        values(2 * options.samples * options.channels * options.rows * options.columns) {
    const at::TensorOptions floats = at::TensorOptions(at::kFloat).device(device);
    // Ones: no value is subnormal in any form, and none is not finite.
    fields = at::ones({values}, floats);
    out = at::empty({values}, floats);
    mean = at::zeros({options.channels}, floats);
    spread = at::ones({options.channels}, floats);
    counter = at::zeros({}, at::TensorOptions(at::kLong).device(device));
    std::vector<std::int32_t> uses(static_cast<std::size_t>(2 * options.samples));
    std::iota(uses.begin(), uses.end(), 0);
    field_of = at::from_blob(uses.data(), {2 * options.samples}, at::kInt).to(device);
    batch = {.fields = fields.const_data_ptr(),
             .field_of = field_of.const_data_ptr<std::int32_t>(),
             .mean = mean.const_data_ptr<float>(),
             .spread = spread.const_data_ptr<float>(),
             .samples = options.samples,
             .channels = options.channels,
             .plane = options.rows * options.columns,
             .input = out.mutable_data_ptr(),
             .target = out.mutable_data_ptr<float>() + values / 2,
             .nonfinite = counter.mutable_data_ptr<std::int64_t>()};
  }

  CUstream_st* stream() const { return stream_handle(current_stream(device)); }

  /// Microseconds of one of `kLaunches` calls of `launch`, on the device's clock.
  double time(const std::function<void()>& launch) {
    CUevent_st* const begin = events.record();
    for (int i = 0; i < kLaunches; ++i) launch();
    CUevent_st* const end = events.record();
    events.wait_for(end);
    const double us = events.elapsed_us(begin, end) / kLaunches;
    events.give_back(begin);
    events.give_back(end);
    return us;
  }

  c10::Device device;
  EventPool events;
  const CudaPlugin& plugin;
  std::int64_t values;
  at::Tensor fields, out, mean, spread, counter, field_of;
  DeviceFields batch;
};

/// One kernel beside a copy that reads and writes `moved_bytes` in all.
void add_kernel(Bench& bench, BenchReport& report, const std::string& name, std::int64_t moved_bytes,
                int pairs, const std::function<void()>& kernel) {
  PairedRow row;
  row.name = name;
  row.unit = "us";
  row.peer_name = "cudaMemcpyAsync that moves as many bytes";
  row.least_ratio = kLeastShare;
  const std::int64_t copied = moved_bytes / 2;
  const at::Tensor from = at::empty({copied}, at::TensorOptions(at::kByte).device(bench.device));
  at::Tensor to = at::empty_like(from);
  const auto copy = [&] { to.copy_(from, /*non_blocking=*/true); };
  bench.time(kernel);  // warm-up
  bench.time(copy);
  for (int pair = 0; pair < pairs; ++pair) {
    row.ours.push_back(bench.time(kernel));
    row.peer.push_back(bench.time(copy));
  }
  report.say(fmt::format("{}: {:.0f} GB/s, the copy {:.0f} GB/s", name,
                         static_cast<double>(moved_bytes) / median(row.ours) * 1e-3,
                         static_cast<double>(moved_bytes) / median(row.peer) * 1e-3));
  report.add(row);
}

/// What the link brings from page-locked memory.
void add_upload(Bench& bench, BenchReport& report, int repeats) {
  const HostBuffer host(static_cast<std::size_t>(bench.values) * sizeof(float), bench.device);
  BenchRow row{"upload from page-locked memory", "GB/s", {}, 0};
  const auto upload = [&] {
    bench.plugin.upload(bench.out.mutable_data_ptr(), host.bytes().data(), host.bytes().size(),
                        bench.stream());
  };
  bench.time(upload);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    row.values.push_back(static_cast<double>(host.bytes().size()) / bench.time(upload) * 1e-3);
  }
  report.add(row);
}

void measure(const Options& options, BenchReport& report, c10::Device device) {
  Bench bench(options, device);
  const auto normalise = [&](FieldOutput output) {
    return [&bench, output] { bench.plugin.normalise(bench.batch, output, bench.stream()); };
  };
  const auto unpack = [&](PackedField packed) {
    return [&bench, packed] { bench.plugin.unpack(bench.batch, packed, FieldOutput::f32, bench.stream()); };
  };
  const std::int64_t n = bench.values;
  add_kernel(bench, report, "normalise", 8 * n, options.pairs, normalise(FieldOutput::f32));
  add_kernel(bench, report, "normalise to bf16", 6 * n, options.pairs, normalise(FieldOutput::bf16));
  add_kernel(bench, report, "unpack f16", 6 * n, options.pairs, unpack(PackedField::f16));
  add_kernel(bench, report, "unpack i16", 6 * n, options.pairs, unpack(PackedField::i16));
  add_upload(bench, report, std::min(options.pairs, 10));
}

int run(int argc, char** argv) {
  Options options;
  std::string device = "cuda";
  OptionParser parser("The kernels of lesson 03 beside a copy of as many bytes; needs a GPU",
                      "./isobar bench normalise");
  BenchReport report("normalise", parser);
  parser.add("--device", device, "cuda, cuda:1, ...");
  parser.add("--samples", options.samples, "of a batch of 20 x 360 x 720").in_range(1, 256);
  const OptionParser::Option pairs =
      parser.add("--pairs", options.pairs, "blocks of each side").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 5;
  const c10::Device chosen = choose_device(device);
  if (!chosen.is_cuda())
    throw Error("these kernels are those of a CUDA device", "--device " + device, "--device cuda");
  report.begin();
  measure(options, report, chosen);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench normalise", [&] { return run(argc, argv); });
}
