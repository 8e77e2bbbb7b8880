#include "model/elastic_tensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StorageImpl.h>

#include <utility>

#include "device/memory_ledger.h"

namespace isobar {
namespace {

c10::StorageImpl& storage_of(const at::Tensor& tensor) {
  return *tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

}  // namespace

ElasticTensor::ElasticTensor(std::int64_t count, const at::TensorOptions& options)
    : tensor_(at::empty({0}, options)) {
  tensor_.unsafeGetTensorImpl()->set_sizes_contiguous({count});
  // The size stays when the memory goes: views are made by sizes.
  storage_of(tensor_).set_nbytes(static_cast<std::size_t>(count) * tensor_.itemsize());
}

bool ElasticTensor::has_memory() const {
  return tensor_.defined() && storage_of(tensor_).data_ptr().get() != nullptr;
}

void ElasticTensor::take() {
  if (has_memory()) return;
  const c10::DeviceGuard guard(tensor_.device());
  const MemoryScope scope(MemoryCategory::communication);
  c10::StorageImpl& storage = storage_of(tensor_);
  storage.set_data_ptr_noswap(storage.allocator()->allocate(storage.nbytes()));
}

void ElasticTensor::release() {
  if (!has_memory()) return;
  storage_of(tensor_).set_data_ptr_noswap(at::DataPtr(nullptr, tensor_.device()));
}

at::Tensor held_zeros(MemoryCategory category, std::int64_t count, const at::TensorOptions& options) {
  const MemoryScope scope(category);
  return at::zeros({count}, options);
}

}  // namespace isobar
