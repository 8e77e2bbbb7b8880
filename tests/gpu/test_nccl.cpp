// NCCL through the plugin, in a group of one; and what else of the ranks needs a device.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "comm/c10d_transport.h"
#include "comm/replica_hash.h"
#include "device/load_cuda.h"
#include "gpu/gpu.h"
#include "support/catch.h"
#include "support/until.h"
// below all
#include "support/claim_macros.h"

using namespace isobar;

namespace {

std::unique_ptr<Transport> nccl_of_one() {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::Backend* const backend = cuda_plugin().make_nccl_backend(store.get(), {.timeout_s = 60});
  return make_c10d_transport(c10::intrusive_ptr<c10d::Backend>::reclaim(backend), /*blocks_stream=*/true);
}

}  // namespace

TEST_CASE("NCCL carries every collective and type in a group of one") {
  const std::unique_ptr<Transport> nccl = nccl_of_one();
  CHECK(nccl->blocks_stream());
  CHECK(nccl->size() == 1);
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong}) {
    const at::Tensor three = at::full({1024}, 3, on_gpu(type));
    const at::Tensor values = three.clone(), gathered = at::zeros({1024}, on_gpu(type)),
                     scattered = gathered.clone(), exchanged = gathered.clone();
    const Reduce reduce = at::isFloatingType(type) ? Reduce::mean : Reduce::max;
    CHECK(nccl->all_reduce(values, reduce)->wait(0));
    CHECK(nccl->broadcast(values, 0)->wait(0));
    CHECK(nccl->all_gather(gathered, values)->wait(0));
    CHECK(nccl->reduce_scatter(scattered, values, Reduce::sum)->wait(0));
    CHECK(nccl->all_to_all(exchanged, values, {1024}, {1024})->wait(0));
    CHECK(at::equal(values, three));
    CHECK(at::equal(gathered, three));
    CHECK(at::equal(scattered, three));
    CHECK(at::equal(exchanged, three));
  }
}

TEST_CASE("the end of a collective of NCCL is seen without waiting for it") {
  const std::unique_ptr<Transport> nccl = nccl_of_one();
  const at::Tensor values = at::full({1 << 20}, 1, on_gpu());
  const std::unique_ptr<Pending> pending = nccl->all_reduce(values, Reduce::sum);
  until([&] { return pending->done(); });
}

TEST_CASE("a GPU has an address of its own") {
  const std::string address = cuda_plugin().current_device_address();
  INFO(address);
  CHECK(std::count(address.begin(), address.end(), ':') == 2);
}

TEST_CASE("weights have one hash on the device and on the host, and a flipped bit changes it") {
  const at::Tensor values = at::arange((1 << 22) + 5, at::kFloat).mul(0.731).sin();
  const at::Tensor on_device = values.to(kGpu);
  CHECK(replica_hash(values) == replica_hash(on_device));
  flip_bit(on_device, 12345, 7);
  CHECK(replica_hash(values) != replica_hash(on_device));
}
