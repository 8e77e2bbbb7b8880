#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <string>

#include "data/loader.h"
#include "device/load_cuda.h"
#include "device/memory.h"
#include "device/torch_error.h"
#include "gpu/gpu.h"
#include "gpu/spin.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("the peak of a device counts what tensors held at once, until it is reset") {
  constexpr std::int64_t kBytes = 256 << 20;
  reset_peak_bytes(kGpu);
  const std::int64_t before = peak_bytes(kGpu);
  {
    const at::Tensor one = at::zeros({kBytes / 4}, on_gpu());
    const at::Tensor two = at::zeros({kBytes / 4}, on_gpu());
  }
  CHECK(peak_bytes(kGpu) >= before + 2 * kBytes);
  CHECK(peak_bytes(kGpu) < before + 3 * kBytes);
  const at::Tensor again = at::zeros({kBytes / 4}, on_gpu());
  CHECK(peak_bytes(kGpu) >= before + 2 * kBytes);
  reset_peak_bytes(kGpu);
  CHECK(peak_bytes(kGpu) < before + 2 * kBytes);
  const FreeAndTotal memory = memory_now(kGpu);
  CHECK(memory.free_bytes > 0);
  CHECK(memory.free_bytes + kBytes <= memory.total_bytes);
}

TEST_CASE("a copy from page-locked memory on a side stream runs beside the main one, ordered by an event") {
  constexpr std::int64_t kValues = 1 << 20;
  HostBuffer buffer(kValues * sizeof(float), kGpu);
  const at::Tensor expected = at::arange(kValues, at::kFloat);
  std::memcpy(buffer.bytes().data(), expected.const_data_ptr<float>(), buffer.bytes().size());
  const Batch batch{.input = at::from_blob(buffer.bytes().data(), {kValues}, at::kFloat),
                    .target = at::from_blob(buffer.bytes().data(), {kValues}, at::kFloat)};
  REQUIRE(batch.input.is_pinned());
  const c10::Stream main = current_stream(kGpu);
  const c10::Stream side = side_stream(kGpu, /*high_priority=*/true);
  CHECK(main != side);
  {
    const c10::StreamGuard guard(side);
    batch.to(kGpu);  // takes memory from the driver once, which may wait
  }
  side.synchronize();
  c10::Event copied(c10::kCUDA);
  Batch there;
  spin(2'000'000, stream_handle(main));
  {
    const c10::StreamGuard guard(side);
    there = batch.to(kGpu);
    copied.record(side);
  }
  copied.synchronize();
  CHECK_FALSE(main.query());  // the copy is done, and the main stream is still busy
  copied.block(main);
  keep_for(there.input, main);
  keep_for(there.target, main);
  CHECK(at::equal(there.input.cpu(), expected));
}

TEST_CASE("a batch in page-locked memory does not wait behind the stream, one in plain memory does") {
  const at::Tensor plain = at::arange(1 << 20, at::kFloat);
  const at::Tensor pinned =
      at::empty({1 << 20}, at::TensorOptions(at::kFloat).pinned_memory(true)).copy_(plain);
  Batch{.input = pinned, .target = pinned}.to(kGpu);  // takes memory from the driver once, which may wait
  current_stream(kGpu).synchronize();
  spin(1'000'000, gpu_stream());
  const Batch batch = Batch{.input = pinned, .target = pinned}.to(kGpu);
  CHECK_FALSE(current_stream(kGpu).query());
  const Batch slow = Batch{.input = plain, .target = plain}.to(kGpu);
  CHECK(current_stream(kGpu).query());
  CHECK(at::equal(batch.target.cpu(), plain));
  CHECK(at::equal(slow.target.cpu(), plain));
}

TEST_CASE("a device that is full is an Error with what was asked for and what is free") {
  const std::string text = error_of(
      [] {
        try {
          at::empty({std::int64_t{1} << 42}, on_gpu(at::kByte));
        } catch (const c10::Error& error) {
          throw as_error(error);
        }
      },
      Exit::failed);
  CHECK_THAT(text, says("out of memory") && says("4096.00 GiB more were asked for") && says("are free") &&
                       says("cuda:0"));
}
