#include "device/operator_facts.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <initializer_list>

#include "core/text.h"

namespace isobar {
namespace {

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool begins(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return name.substr(0, start.size()) == start; });
}

/// Operators that only make tensors, or change what is known of them.
bool is_bookkeeping(std::string_view name) {
  return begins(name, {"empty", "new_empty", "resize", "_resize", "_empty"}) ||
         is_one_of(name, {"set_", "set_data", "detach_", "requires_grad_", "record_stream", "as_strided_",
                          "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "rename_",
                          "retain_grad", "_version", "_unsafe_view"});
}

/// Operators that change a tensor in place and do not read it first; for `out=` arguments the schema has
/// it.
bool overwrites(std::string_view name) {
  return is_one_of(name, {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_"});
}

}  // namespace

OperatorClass class_of_operator(std::string_view name) {
  const std::string_view base =
      name.size() > 1 && name.back() == '_' ? name.substr(0, name.size() - 1) : name;
  if (contains(base, "attention")) return OperatorClass::attention;
  if (is_one_of(base, {"mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "matmul",
                       "_addmm_activation", "_scaled_mm", "einsum"}) ||
      contains(base, "conv2d") || contains(base, "convolution") || contains(base, "linear")) {
    return OperatorClass::gemm;
  }
  if (contains(base, "layer_norm") || contains(base, "batch_norm") || contains(base, "group_norm") ||
      contains(base, "rms_norm") || contains(base, "residual_norm")) {
    return OperatorClass::norm;
  }
  if (contains(base, "softmax") || contains(base, "norm") || contains(base, "loss") ||
      contains(base, "nonfinite") || contains(base, "non_finite") ||
      is_one_of(base, {"sum", "mean", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "any", "all",
                       "var", "std", "var_mean", "dot", "cumsum", "logsumexp", "count_nonzero"})) {
    return OperatorClass::reduction;
  }
  if (is_one_of(base,
                {"copy",          "clone",         "_to_copy",  "cat",          "stack", "contiguous",
                 "fill",          "zero",          "zeros",     "ones",         "full",  "index_select",
                 "gather",        "index",         "index_put", "roll",         "flip",  "constant_pad_nd",
                 "_foreach_copy", "_foreach_zero", "repeat",    "pixel_shuffle"})) {
    return OperatorClass::copy;
  }
  if (contains(base, "gelu") || contains(base, "adam") || contains(base, "sigmoid") ||
      contains(base, "tanh") || contains(base, "relu") || begins(base, {"_foreach_", "_amp_update"}) ||
      is_one_of(base, {"add",   "sub",        "mul",    "div",  "neg",  "sqrt",     "rsqrt",   "exp",
                       "log",   "pow",        "abs",    "lerp", "addc", "square",   "addcmul", "sin",
                       "cos",   "erf",        "sign",   "eq",   "ne",   "gt",       "lt",      "addcdiv",
                       "clamp", "reciprocal", "rsub",   "ge",   "le",   "isfinite", "where",   "masked_fill",
                       "ldexp", "maximum",    "minimum"})) {
    return OperatorClass::pointwise;
  }
  return OperatorClass::other;
}

OperatorFacts facts_of(const at::RecordFunction& call) {
  OperatorFacts out;
  const std::optional<c10::OperatorName> name = call.operator_name();
  out.name = name ? name->name : call.name();
  if (out.name.rfind("aten::", 0) == 0) out.name.erase(0, 6);
  out.kind = class_of_operator(out.name);
  if (!name || call.scope() != at::RecordScope::FUNCTION) return out;
  const auto handle = c10::Dispatcher::singleton().findSchema(*name);
  if (!handle) return out;
  if (out.kind == OperatorClass::other && handle->hasTag(at::Tag::pointwise))
    out.kind = OperatorClass::pointwise;
  for (const c10::Argument& argument : handle->schema().arguments()) {
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    out.writes.push_back(written);
    out.only_write.push_back(written && (argument.kwarg_only() || overwrites(out.name)));
    out.writes_any = out.writes_any || written;
  }
  const bool is_composite = handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  out.never_counts = is_composite || is_bookkeeping(out.name);
  return out;
}

std::string short_type_name(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return "f32";
    case c10::ScalarType::Double:
      return "f64";
    case c10::ScalarType::BFloat16:
      return "bf16";
    case c10::ScalarType::Half:
      return "f16";
    case c10::ScalarType::Long:
      return "i64";
    case c10::ScalarType::Int:
      return "i32";
    case c10::ScalarType::Byte:
      return "u8";
    case c10::ScalarType::Bool:
      return "bool";
    default:
      return c10::toString(type);
  }
}

}  // namespace isobar
