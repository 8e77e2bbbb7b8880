// Operators of libtorch on the device: the processor's own, in the same memory, with what they read and write
// taken from their schemas.
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/autocast_state.h"
#include "support/host_device/device.h"

namespace isobar::host_device {
namespace {

using Stack = torch::jit::Stack;

bool is_here(const at::Tensor& tensor) { return tensor.defined() && tensor.is_privateuseone(); }
HostStream& current_of(const at::Tensor& tensor) { return device().current(tensor.device().index()); }

/// The same values as a tensor of the processor, which does not keep them.
at::Tensor alias_of(const at::Tensor& tensor) {
  const c10::Storage& of = tensor.storage();
  c10::DataPtr data(const_cast<void*>(of.data()), c10::Device(c10::kCPU));
  c10::Storage storage(c10::Storage::use_byte_size_t(), of.nbytes(), std::move(data), nullptr, false);
  at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

at::Tensor on_device(c10::Storage storage, const at::Tensor& like) {
  at::Tensor out = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), like.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  return out;
}

/// Memory of the device for what the processor made, which is not copied yet.
at::Tensor place_for(const at::Tensor& made, c10::DeviceIndex index) {
  const c10::DeviceIndex before = device().current_device();
  device().set_device(index);
  c10::Allocator* const allocator = c10::GetAllocator(c10::DeviceType::PrivateUse1);
  const std::size_t bytes = made.storage().nbytes();
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, allocator->allocate(bytes), allocator, false);
  device().set_device(before);
  return on_device(std::move(storage), made);
}

/// Calls `visit` with each tensor in a value, which may put another in its place.
template <typename Visit>
void visit_tensors(c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    at::Tensor tensor = value.toTensor();
    visit(tensor);
    value = tensor;
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list = value.toTensorList().copy();
    for (std::size_t i = 0; i < list.size(); ++i) {
      at::Tensor tensor = list.get(i);
      visit(tensor);
      list.set(i, tensor);
    }
    value = list;
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list = value.toOptionalTensorList().copy();
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::optional<at::Tensor> tensor = list.get(i);
      if (tensor) visit(*tensor);
      list.set(i, tensor);
    }
    value = list;
  }
}

void call(const c10::OperatorHandle& op, Stack& stack) {
  const at::AutoDispatchBelowAutograd below;
  const at::NoGradGuard no_grad;
  op.callBoxed(&stack);
}

/// One call of an operator: its arguments, and their aliases on the processor.
class Call {
 public:
  Call(const c10::OperatorHandle& op, Stack& stack) : op_(op) {
    const auto& arguments = op.schema().arguments();
    const std::size_t first = stack.size() - arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* const alias = arguments[i].alias_info();
      add(std::move(stack[first + i]), alias != nullptr && alias->isWrite());
    }
    stack.resize(first);
  }

  /// It changes no value: what it returns lies in the memory of an argument.
  bool is_view() const {
    const auto& returns = op_.schema().returns();
    return std::any_of(returns.begin(), returns.end(), [](const c10::Argument& out) {
      return out.alias_info() != nullptr && !out.alias_info()->isWrite();
    });
  }
  bool tells_the_host() const {
    const auto& returns = op_.schema().returns();
    return std::any_of(returns.begin(), returns.end(), [](const c10::Argument& out) {
      const c10::TypePtr& type = out.type();
      return type->kind() != c10::TypeKind::TensorType && type->kind() != c10::TypeKind::ListType;
    });
  }
  std::string name() const { return op_.schema().name(); }
  const at::Tensor& first() const { return pairs_.front().here; }
  const Stack& arguments() const { return arguments_; }

  std::vector<Use> uses() const {
    std::vector<Use> out;
    for (const Pair& pair : pairs_) out.push_back(use_of(pair.here, pair.written));
    return out;
  }

  /// The arguments with copies in place of what is written.
  Stack on_copies() {
    Stack out = arguments_;
    for (c10::IValue& value : out) {
      visit_tensors(value, [this](at::Tensor& tensor) {
        for (Pair& pair : pairs_) {
          if (!pair.written || !pair.alias.is_same(tensor)) continue;
          const at::AutoDispatchBelowAutograd below;
          tensor = pair.alias = tensor.clone();
        }
      });
    }
    return out;
  }

  /// Puts tensors of the device in place of those of the processor. `made` is called with each that the
  /// operator made and with its place.
  template <typename Made>
  void take_back(Stack& results, const Made& made) const {
    for (c10::IValue& value : results) {
      visit_tensors(value, [&](at::Tensor& tensor) { tensor = taken_back(tensor, made); });
    }
  }

 private:
  struct Pair {
    at::Tensor here, alias;
    bool written;
  };

  void add(c10::IValue value, bool written) {
    if (value.isDevice()) value = c10::Device(c10::kCPU);
    visit_tensors(value, [&](at::Tensor& tensor) {
      if (!is_here(tensor)) return;
      pairs_.push_back({tensor, alias_of(tensor), written});
      tensor = pairs_.back().alias;
    });
    arguments_.push_back(std::move(value));
  }

  template <typename Made>
  at::Tensor taken_back(const at::Tensor& tensor, const Made& made) const {
    if (!tensor.defined()) return tensor;
    for (const Pair& pair : pairs_) {
      if (pair.alias.is_same(tensor)) return pair.here;
    }
    for (const Pair& pair : pairs_) {
      if (tensor.storage().is_alias_of(pair.alias.storage())) return on_device(pair.here.storage(), tensor);
    }
    const at::Tensor place = place_for(tensor, first().device().index());
    made(tensor, place);
    return place;
  }

  c10::OperatorHandle op_;
  std::vector<Pair> pairs_;
  Stack arguments_;
};

void copy_bytes(const at::Tensor& from, void* to) {
  if (from.storage().nbytes() > 0) std::memcpy(to, from.storage().data(), from.storage().nbytes());
}

/// While a graph is recorded nothing is done: copies of the arguments tell what shapes results have.
Stack recorded(const c10::OperatorHandle& op, Call& asked, HostStream& stream) {
  Stack results = asked.on_copies();
  call(op, results);
  std::vector<std::pair<std::size_t, void*>> places;  // of what is made, among all results
  std::vector<Use> uses = asked.uses();
  std::size_t seen = 0;
  std::map<const void*, std::size_t> index_of;
  for (c10::IValue& value : results)
    visit_tensors(value, [&](at::Tensor& tensor) { index_of[tensor.unsafeGetTensorImpl()] = seen++; });
  asked.take_back(results, [&](const at::Tensor& tensor, const at::Tensor& place) {
    places.emplace_back(index_of.at(tensor.unsafeGetTensorImpl()), place.mutable_data_ptr());
    uses.push_back(use_of(place, true));
  });
  device().ask(stream, asked.name(), uses, [op, arguments = asked.arguments(), places] {
    Stack again = arguments;
    call(op, again);
    std::vector<at::Tensor> all;
    for (c10::IValue& value : again) visit_tensors(value, [&](at::Tensor& tensor) { all.push_back(tensor); });
    for (const auto& [index, to] : places) copy_bytes(all.at(index), to);
  });
  return results;
}

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  const std::scoped_lock lock(device().mutex());
  Call asked(op, *stack);
  HostStream& stream = current_of(asked.first());
  Stack results = asked.arguments();
  if (asked.is_view()) {
    call(op, results);
    asked.take_back(results, [](const at::Tensor& tensor, const at::Tensor& place) {
      copy_bytes(tensor, place.mutable_data_ptr());
    });
  } else if (asked.tells_the_host()) {
    for (const Use& use : asked.uses()) device().read(stream, asked.name(), use);
    call(op, results);
  } else if (stream.capture) {
    results = recorded(op, asked, stream);
  } else {
    device().ask(stream, asked.name(), asked.uses(), [&] { call(op, results); });
    asked.take_back(results, [&](const at::Tensor& tensor, const at::Tensor& place) {
      copy_bytes(tensor, place.mutable_data_ptr());
      device().also(stream, asked.name(), {use_of(place, true)});
    });
  }
  for (c10::IValue& value : results) stack->push_back(std::move(value));
}

/// Of all bytes of a tensor of the processor.
std::uint64_t sum_of(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  const auto* const begin = static_cast<const unsigned char*>(whole.const_data_ptr());
  std::uint64_t out = 14695981039346656037U;
  for (std::size_t i = 0; i < whole.nbytes(); ++i) out = (out ^ begin[i]) * 1099511628211U;
  return out;
}

/// Libtorch's own page-locked memory is kept until the copy is done; other memory is whoever's it is.
at::Tensor host_side(const at::Tensor& tensor) {
  return device().is_kept(tensor.const_data_ptr()) ? tensor : alias_of(tensor);
}

void upload(const at::Tensor& from, const at::Tensor& to, HostStream& stream, bool late) {
  const std::vector<Use> uses = {use_of(to, true)};
  const at::Tensor source = late ? host_side(from) : from.clone();
  const std::uint64_t sum = sum_of(source);
  device().ask(
      stream, "an upload", uses,
      [source, sum, to = alias_of(to)] {
        if (sum_of(source) != sum)
          device().violated("late copy", "the host changed page-locked memory before its upload was done");
        to.copy_(source);
      },
      late);
}

void download(const at::Tensor& from, const at::Tensor& to, HostStream& stream) {
  std::memset(to.mutable_data_ptr(), 0xff, to.nbytes());  // nothing can be known of it before it is there
  device().ask(
      stream, "a download", {use_of(from, false)},
      [from = alias_of(from), to = host_side(to)] { to.copy_(from); }, /*late=*/true);
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const std::scoped_lock lock(device().mutex());
  const at::AutoDispatchBelowAutograd below;
  const at::NoGradGuard no_grad;
  HostStream& stream = current_of(is_here(to) ? to : from);
  const at::Tensor& of_host = is_here(to) ? from : to;
  const bool late = non_blocking && device().is_pinned(of_host.const_data_ptr()) && of_host.is_contiguous();
  if (is_here(from) && is_here(to)) {
    device().ask(stream, "aten::copy_", {use_of(from, false), use_of(to, true)},
                 [from = alias_of(from), to = alias_of(to)] { to.copy_(from); });
  } else if (!late && stream.capture) {
    device().refused("synchronise", "a copy between host and device while " + stream.name() + " is recorded");
  } else if (is_here(to)) {
    upload(from, to, stream, late);
    if (!non_blocking) device().wait(stream);
  } else if (late) {
    download(from, to, stream);
  } else {
    device().read(stream, "a copy to the host", use_of(from, false));
    to.copy_(alias_of(from));
  }
  return to;
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device> where, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(where);
  return at::detail::empty_generic(size, c10::GetAllocator(c10::DeviceType::PrivateUse1),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   type.value_or(at::kFloat), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device> where, std::optional<bool>) {
  const c10::OptionalDeviceGuard guard(where);
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(c10::DeviceType::PrivateUse1),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           type.value_or(at::kFloat));
}

at::Scalar item(const at::Tensor& tensor) {
  const std::scoped_lock lock(device().mutex());
  device().read(current_of(tensor), "aten::item", use_of(tensor, false));
  return at::_local_scalar_dense(alias_of(tensor));
}

void record_stream(at::Tensor& tensor, c10::Stream stream) {
  device().keep(tensor.const_data_ptr(), device().stream(stream.device(), stream.id()));
}

bool has_compatible_type(const at::Tensor&, const at::Tensor&) { return true; }

}  // namespace

void register_operators() {
  using torch::Library;
  constexpr auto kKey = c10::DispatchKey::PrivateUse1;
  static Library all(Library::IMPL, "_", kKey, __FILE__, __LINE__);
  all.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
  static Library aten(Library::IMPL, "aten", kKey, __FILE__, __LINE__);
  aten.impl("empty.memory_format", TORCH_FN(empty));
  aten.impl("empty_strided", TORCH_FN(empty_strided));
  aten.impl("_copy_from", TORCH_FN(copy_from));
  aten.impl("_local_scalar_dense", TORCH_FN(item));
  aten.impl("record_stream", TORCH_FN(record_stream));
  aten.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_type));
}

}  // namespace isobar::host_device
