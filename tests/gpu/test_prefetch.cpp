// Batches that reach the device ahead of the loop: the same bits, beside the kernels, and without waits.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "config/with_fault.h"
#include "core/clock.h"
#include "core/json.h"
#include "data/device_prefetch.h"
#include "device/device_clock.h"
#include "device/event_pool.h"
#include "device/load_cuda.h"
#include "gpu/gpu.h"
#include "gpu/spin.h"
#include "kernels/pack.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_fault.h"
#include "support/named.h"
#include "support/small_data.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

constexpr std::int64_t kTraced = 64;

/// A data set in memory, and what a lesson would say of its pipeline.
struct Pipeline {
  explicit Pipeline(std::int64_t batch_size, SmallData shape = {}) : data(shape) {
    data.write(folder.path());
    data.write_stats(folder.path(), 2000.0F);  // channel 0 within what an i16 holds, the others beyond
    config.data = data.config();
    config.data.source = DataSource::memory;
    config.data.workers = 6;
    config.train.global_batch = batch_size;
    open();
  }

  void open() { dataset.emplace(config.data, folder.path(), "train", 0); }
  Sampler sampler() const { return {dataset->size(), true, 333}; }
  RingLoader ring(Passes passes = Passes::endless) {
    return {*dataset, sampler(), config, kGpu, spans, passes};
  }
  InlineLoader plain() const { return {*dataset, sampler(), config.train.global_batch}; }

  TempFolder folder;
  SmallData data;
  Config config;
  std::optional<Dataset> dataset;
  SpanWriter spans{folder / "spans.jsonl", 200, StreamStart::create, 0, 0, kTraced};
};

/// What the CPU would hand over after the way through `type`.
at::Tensor packed_and_back(const at::Tensor& values, UploadType type) {
  const at::Tensor out = at::empty_like(values);
  const at::Tensor from = values.contiguous();
  const std::int64_t n = values.numel();
  std::vector<std::int16_t> packed(static_cast<std::size_t>(n));
  auto* const halves = reinterpret_cast<std::uint16_t*>(packed.data());
  if (type == UploadType::f16) {
    pack_f16(from.const_data_ptr<float>(), n, halves);
    unpack_f16(halves, n, out.mutable_data_ptr<float>());
  } else {
    pack_i16(from.const_data_ptr<float>(), n, packed.data());
    unpack_i16(packed.data(), n, out.mutable_data_ptr<float>());
  }
  return out;
}

bool same(const Batch& found, const Batch& expected) {
  return at::equal(found.input.cpu(), expected.input) && at::equal(found.target.cpu(), expected.target) &&
         found.epoch == expected.epoch && found.ends_epoch == expected.ends_epoch;
}

void check_same(Pipeline& pipeline, int steps) {
  InlineLoader plain = pipeline.plain();
  RingLoader ring = pipeline.ring();
  DevicePrefetch loader(ring, pipeline.config.loader);
  const UploadType type = pipeline.config.loader.upload_type;
  for (int step = 0; step < steps; ++step) {
    INFO("step " << step);
    if (step == 7) {
      loader.seek(31);
      plain.seek(31);
    }
    Batch expected = plain.next();
    if (type != UploadType::f32) {
      expected.input = packed_and_back(expected.input, type);
      expected.target = packed_and_back(expected.target, type);
    }
    const Batch found = loader.next();
    REQUIRE(found.input.is_cuda());
    REQUIRE(same(found, expected));
  }
}

/// Fields of 8 x 128 x 256: a batch of 16 takes about a millisecond to upload.
SmallData larger() { return {.channels = 8, .rows = 128, .columns = 256}; }

/// Each stream that an upload may be given first waits for a kernel of that length.
void delay_side_streams(double us) {
  constexpr int kStreamsOfPool = 32;  // libtorch hands them out in turn
  for (int i = 0; i < kStreamsOfPool; ++i) {
    spin(us, stream_handle(side_stream(kGpu, /*high_priority=*/true)));
  }
}

/// The spans of the track "upload" of that name, as pairs of begin and end on the host's clock.
std::vector<std::pair<double, double>> uploads(Pipeline& pipeline, const std::string& name) {
  pipeline.spans.finish();
  std::ifstream file(pipeline.folder / "spans.jsonl");
  std::vector<std::pair<double, double>> out;
  for (std::string line; std::getline(file, line);) {
    const Json span = Json::parse(line);
    if (span["kind"] != "span" || span["track"] != "upload" || span["name"] != name) continue;
    const double begin = span["begin_us"].as_number();
    out.emplace_back(begin, begin + span["duration_us"].as_number());
  }
  return out;
}

constexpr double kKernel_us = 8000;

/// What a loop did whose steps are one kernel each; its first steps, for which nothing can be ready, left
/// out.
struct Timeline {
  double uploads_us = 0;  ///< all uploads together
  double beside_us = 0;   ///< of that while a kernel was running
  double idle_us = 0;     ///< from first to last kernel, without the kernels
};

Timeline timeline(Pipeline& pipeline) {
  EventPool events(kGpu);
  const DeviceClock clock(events);
  std::vector<CUevent_st*> marks;  // before and behind each kernel
  {
    RingLoader ring = pipeline.ring();
    DevicePrefetch loader(ring, pipeline.config.loader);
    for (int step = 0; step < 24; ++step) {
      const Batch batch = loader.next();
      marks.push_back(events.record());
      spin(kKernel_us, gpu_stream());
      marks.push_back(events.record());
      if (step % 2 == 1) events.wait_for(marks.back());  // as a training loop, two steps ahead at most
    }
    current_stream(kGpu).synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // what is still on its way tells its spans
  }
  std::vector<double> at_us;
  for (CUevent_st* const mark : marks) {
    at_us.push_back(static_cast<double>(clock.host_us(mark)));
    events.give_back(mark);
  }
  at_us.erase(at_us.begin(), at_us.begin() + 8);
  Timeline out;
  out.idle_us = at_us.back() - at_us.front() - kKernel_us * static_cast<double>(at_us.size() / 2);
  for (const auto& [begin, end] : uploads(pipeline, "upload")) {
    if (begin < at_us.front() || end > at_us.back()) continue;
    out.uploads_us += end - begin;
    for (std::size_t i = 0; i < at_us.size(); i += 2) {
      out.beside_us += std::max(0.0, std::min(end, at_us[i + 1]) - std::max(begin, at_us[i]));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("batches on the device are those of the plain loader, bit for bit, whatever way they took") {
  for (const SmallData& shape :
       {SmallData{}, SmallData{.rows = 7, .columns = 15}}) {  // whole float4s, and not
    Pipeline pipeline(5, shape);
    for (const bool copy_stream : {true, false}) {
      for (const NormalisedOn normalise : {NormalisedOn::device, NormalisedOn::host}) {
        for (const bool share : {true, false}) {
          for (const UploadType type : {UploadType::f32, UploadType::f16, UploadType::i16}) {
            for (const std::int64_t slots : {1, 3}) {
              INFO("copy_stream " << copy_stream << " normalise " << name_of(normalise) << " share " << share
                                  << " type " << name_of(type) << " slots " << slots);
              pipeline.config.loader = {.kind = LoaderKind::gpu,
                                        .slots = slots,
                                        .copy_stream = copy_stream,
                                        .normalise = normalise,
                                        .share_fields = share,
                                        .upload_type = type};
              check_same(pipeline, 15);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("faults that change the way change no bit") {
  for (const char* name : {"default_stream_copy", "one_slot", "host_normalise", "pageable"}) {
    INFO(name);
    Pipeline pipeline(5);
    const FaultSetting fault{.fault = testing::named<Fault>(name)};
    const MadeFault made(fault);
    pipeline.config = with_fault(pipeline.config, fault);
    check_same(pipeline, 15);
  }
}

TEST_CASE("batches keep their values while kernels are still to read them and others come") {
  Pipeline pipeline(16, larger());
  InlineLoader plain = pipeline.plain();
  RingLoader ring = pipeline.ring();
  DevicePrefetch loader(ring, pipeline.config.loader);
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> expected;
  for (int step = 0; step < 20; ++step) {
    {
      const Batch batch = loader.next();
      spin(2000, gpu_stream());  // the batch is given back long before it is read
      sums.push_back(batch.input.mul(batch.target).sum());
    }
    const Batch batch = plain.next();
    expected.push_back(batch.input.to(kGpu).mul(batch.target.to(kGpu)).sum());
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    INFO("step " << i);
    CHECK(at::equal(sums[i].cpu(), expected[i].cpu()));
  }
}

TEST_CASE("next waits for no kernel, and batches arrive while one runs") {
  Pipeline pipeline(16, larger());
  RingLoader ring = pipeline.ring();
  DevicePrefetch loader(ring, pipeline.config.loader);
  std::vector<Batch> held;  // memory is taken from the driver now, which may wait, and kept for later
  for (int step = 0; step < 8; ++step) held.push_back(loader.next());
  held.clear();
  current_stream(kGpu).synchronize();
  spin(2'000'000, gpu_stream());
  for (int step = 0; step < 3; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    loader.next();
    CHECK(loader.counts().ready >= 1);
  }
  CHECK_FALSE(current_stream(kGpu).query());
  current_stream(kGpu).synchronize();
}

TEST_CASE("uploads run beside kernels on a stream of their own, and in line with them without") {
  {
    Pipeline pipeline(16, larger());
    const Timeline own = timeline(pipeline);
    INFO("uploads " << own.uploads_us << " us, beside " << own.beside_us << ", idle " << own.idle_us);
    CHECK(own.uploads_us > 1000);
    CHECK(own.beside_us > 0.8 * own.uploads_us);
  }
  {
    Pipeline pipeline(16, larger());
    pipeline.config.loader.copy_stream = false;
    const Timeline line = timeline(pipeline);
    CHECK(line.uploads_us > 1000);
    CHECK(line.beside_us < 0.1 * line.uploads_us);
    CHECK(line.idle_us > 0.9 * line.uploads_us);
  }
  // The upload may come between a kernel and its mark, but the kernels wait for it all the same.
  Pipeline pipeline(16, larger());
  const MadeFault made({.fault = Fault::default_stream_copy});
  const Timeline line = timeline(pipeline);
  CHECK(line.uploads_us > 1000);
  CHECK(line.idle_us > 0.9 * line.uploads_us);
}

TEST_CASE("fault no_event: batches are used before they have arrived, and their values show it") {
  Pipeline pipeline(16, larger());
  const bool planted = GENERATE(false, true);
  const MadeFault made({.fault = planted ? Fault::no_event : Fault::none});
  InlineLoader plain = pipeline.plain();
  RingLoader ring = pipeline.ring();
  DevicePrefetch loader(ring, pipeline.config.loader);
  int wrong = 0;
  for (int step = 0; step < 5; ++step) {
    const Batch expected = plain.next();
    delay_side_streams(100'000);  // an upload that is asked for now arrives after it
    if (!same(loader.next(), expected)) ++wrong;
    loader.seek(step + 1);  // nothing is ready early
  }
  INFO("planted " << planted << ", wrong " << wrong << " of 5");
  CHECK((wrong > 0) == planted);
}

TEST_CASE("a value that is not finite is found on the device and told with its place") {
  const bool copy_stream = GENERATE(true, false);
  Pipeline pipeline(4);
  std::fstream file(pipeline.folder / "train/2002.h5", std::ios::in | std::ios::out | std::ios::binary);
  const float bad = std::numeric_limits<float>::quiet_NaN();
  file.seekp(-static_cast<std::streamoff>(sizeof(float)) * 300, std::ios::end);
  file.write(reinterpret_cast<const char*>(&bad), sizeof bad);
  file.close();
  pipeline.open();
  pipeline.config.loader.copy_stream = copy_stream;
  RingLoader ring = pipeline.ring();
  DevicePrefetch loader(ring, pipeline.config.loader);
  const std::string told = error_of(
      [&] {
        for (int step = 0; step < 8; ++step) {
          loader.next();
          current_stream(kGpu).synchronize();
        }
      },
      Exit::failed);
  CHECK_THAT(told, says("not a finite number") && says("2002.h5") && says("sample"));
}

TEST_CASE("the end comes within a second, with full queues and kernels under way") {
  Pipeline pipeline(16, larger());
  RingLoader ring = pipeline.ring();
  std::optional<DevicePrefetch> loader;
  loader.emplace(ring, pipeline.config.loader);
  loader->next();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  spin(3'000'000, gpu_stream());
  const std::int64_t begin_us = steady_us();
  loader.reset();
  CHECK(steady_us() - begin_us < 1'000'000);
  current_stream(kGpu).synchronize();
}

TEST_CASE("an upload that does not fit the device is told by next") {
  Pipeline pipeline(16, larger());
  RingLoader ring = pipeline.ring();
  DevicePrefetch loader(ring, pipeline.config.loader);
  loader.next();
  c10::getDeviceAllocator(c10::kCUDA)->emptyCache();
  const FreeAndTotal memory = cuda_plugin().memory_now(0);
  const at::Tensor most = at::empty({memory.free_bytes - (64 << 20)}, on_gpu(at::kByte));
  std::vector<Batch> held;
  CHECK_THROWS_AS(
      [&] {
        for (int step = 0; step < 200; ++step) held.push_back(loader.next());
      }(),
      c10::OutOfMemoryError);
}
