#include "fused/operations.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "device/load_cuda.h"
#include "device/operator_watch.h"
#include "device/stream.h"
#include "kernels/column_sums.h"
#include "kernels/gradient_norm.h"
#include "kernels/head_loss.h"
#include "kernels/residual_norm.h"

namespace isobar {
namespace {

// One name for the CPU forms, as the plugin has for the CUDA forms.
void compute_cpu(const BiasGeluForward& job) { seams::bias_gelu_forward(job); }
void compute_cpu(const BiasGeluBackward& job) { seams::bias_gelu_backward(job); }
void compute_cpu(const ResidualNormForward& job) { residual_norm_cpu(job); }
void compute_cpu(const ResidualNormBackward& job) { residual_norm_cpu(job); }
void compute_cpu(const HeadLossForward& job) { head_loss_cpu(job); }
void compute_cpu(const HeadLossBackward& job) { head_loss_cpu(job); }
void compute_cpu(const AdamStep& job) { adam_cpu(job); }
void compute_cpu(const GradientNorm& job) { gradient_norm_cpu(job); }

// What a watch calls them (device/operator_watch.h).
const char* name_of(const BiasGeluForward&) { return "bias_gelu"; }
const char* name_of(const BiasGeluBackward&) { return "bias_gelu_backward"; }
const char* name_of(const ResidualNormForward&) { return "residual_norm"; }
const char* name_of(const ResidualNormBackward&) { return "residual_norm_backward"; }
const char* name_of(const HeadLossForward&) { return "head_loss"; }
const char* name_of(const HeadLossBackward&) { return "head_loss_backward"; }
const char* name_of(const AdamStep&) { return "adam"; }
const char* name_of(const GradientNorm&) { return "gradient_norm"; }

template <class Job>
c10::ScalarType type_of(const Job& job) {
  if constexpr (requires { job.type; }) {
    if (job.type == ElementType::f16) return at::kHalf;
    if (job.type == ElementType::bf16) return at::kBFloat16;
  }
  return at::kFloat;
}

template <class Job>
void compute(const Job& job, c10::Device device) {
  const KernelScope scope(name_of(job), moved_bytes(job), type_of(job));
  if (has_streams(device)) {
    const CudaPlugin& plugin = cuda_plugin();
    plugin.compute(job, plugin.current_stream(device.index()));
  } else {
    compute_cpu(job);
  }
}

[[noreturn]] void refuse(const char* operation, const char* name, const std::string& what) {
  throw Error(what, fmt::format("{}, {}", operation, name), "", Exit::failed);
}

/// The checks of one operation's tensors: all are on the device of the first.
class Checks {
 public:
  Checks(const char* operation, const at::Tensor& first) : operation_(operation), device_(first.device()) {
    if (device_.is_meta())
      refuse(operation_, "device", "there are forms for a CPU and for CUDA, not for meta");
  }

  const at::Tensor& operator()(const char* name, const at::Tensor& tensor, at::ScalarType type,
                               at::IntArrayRef shape) const {
    if (!tensor.defined()) refuse(operation_, name, "the tensor is missing");
    if (tensor.scalar_type() != type) {
      refuse(operation_, name,
             fmt::format("the type is {}, {} is wanted", toString(tensor.scalar_type()), toString(type)));
    }
    if (tensor.sizes() != shape) {
      refuse(operation_, name,
             fmt::format("the shape is [{}], [{}] is wanted", joined(tensor.sizes()), joined(shape)));
    }
    if (!tensor.is_contiguous()) refuse(operation_, name, "the values do not lie one behind the other");
    if (tensor.device() != device_) {
      refuse(operation_, name,
             fmt::format("the tensor is on {}, not on {}", tensor.device().str(), device_.str()));
    }
    return tensor;
  }

 private:
  const char* operation_;
  c10::Device device_;
};

void check_matrix(const char* operation, const char* name, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.dim() != 2 || tensor.numel() == 0)
    refuse(operation, name, "a matrix of rows and columns is wanted, and not an empty one");
}

const float* floats(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

at::Tensor floats_like(const at::Tensor& tensor, at::IntArrayRef shape) {
  return at::empty(shape, tensor.options().dtype(at::kFloat));
}

HeadLossShape head_shape(const char* operation, const at::Tensor& tokens, const at::Tensor& target,
                         std::int64_t patch) {
  if (!target.defined() || target.dim() != 4 || target.numel() == 0)
    refuse(operation, "target", "[samples, channels, height, width] is wanted, and not an empty one");
  const HeadLossShape shape{target.size(0), target.size(1), target.size(2), target.size(3), patch};
  if (patch < 1 || shape.height % patch != 0 || shape.width % patch != 0) {
    refuse(operation, "target",
           fmt::format("{} x {} values cannot be cut into patches of {} x {}", shape.height, shape.width,
                       patch, patch));
  }
  const Checks check(operation, target);
  check("target", target, at::kFloat, target.sizes());
  const std::int64_t outputs = patch * patch * shape.channels;
  const std::int64_t rows = shape.height / patch * (shape.width / patch);
  const std::vector<std::int64_t> flat = {shape.batch * rows, outputs};
  const std::vector<std::int64_t> by_sample = {shape.batch, rows, outputs};
  element_type(tokens);
  check("tokens", tokens, tokens.scalar_type(), tokens.dim() == 3 ? by_sample : flat);
  return shape;
}

}  // namespace

ElementType element_type(const at::Tensor& tensor) {
  if (!tensor.defined()) throw Error("the tensor is missing", "fused operation", "", Exit::failed);
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return ElementType::f32;
    case at::kHalf:
      return ElementType::f16;
    case at::kBFloat16:
      return ElementType::bf16;
    default:
      throw Error(fmt::format("fused operations take float32, float16 and bfloat16, not {}",
                              toString(tensor.scalar_type())),
                  "fused operation", "", Exit::failed);
  }
}

at::Tensor bias_gelu(const at::Tensor& x, const at::Tensor& bias, bool tanh_form) {
  constexpr const char* kName = "bias_gelu";
  check_matrix(kName, "x", x);
  const Checks check(kName, x);
  BiasGeluForward job{
      .type = element_type(x), .rows = x.size(0), .columns = x.size(1), .tanh_form = tanh_form};
  job.x = check("x", x, x.scalar_type(), x.sizes()).const_data_ptr();
  job.bias = floats(check("bias", bias, at::kFloat, {job.columns}));
  at::Tensor y = at::empty_like(x);
  job.y = y.mutable_data_ptr();
  compute(job, x.device());
  return y;
}

BiasGeluGradients bias_gelu_backward(const at::Tensor& x, const at::Tensor& bias, const at::Tensor& dy,
                                     bool tanh_form) {
  constexpr const char* kName = "bias_gelu_backward";
  check_matrix(kName, "x", x);
  const Checks check(kName, x);
  BiasGeluBackward job{
      .type = element_type(x), .rows = x.size(0), .columns = x.size(1), .tanh_form = tanh_form};
  job.x = check("x", x, x.scalar_type(), x.sizes()).const_data_ptr();
  job.bias = floats(check("bias", bias, at::kFloat, {job.columns}));
  job.dy = check("dy", dy, x.scalar_type(), x.sizes()).const_data_ptr();
  BiasGeluGradients out{at::empty_like(x), floats_like(x, {job.columns})};
  const at::Tensor scratch = floats_like(x, {column_sum_scratch(job.rows, job.columns, 1)});
  job.dx = out.x.mutable_data_ptr();
  job.dbias = out.bias.mutable_data_ptr<float>();
  job.scratch = scratch.mutable_data_ptr<float>();
  compute(job, x.device());
  return out;
}

ResidualNorm residual_norm(const at::Tensor& x, const at::Tensor& a, const at::Tensor& branch_bias,
                           const NormParameters& norm, at::ScalarType type) {
  constexpr const char* kName = "residual_norm";
  check_matrix(kName, "x", x);
  const Checks check(kName, x);
  const bool adds = a.defined();
  ResidualNorm out{adds ? at::empty_like(x) : x, at::empty(x.sizes(), x.options().dtype(type)),
                   floats_like(x, {x.size(0)}), floats_like(x, {x.size(0)})};
  ResidualNormForward job{.type = element_type(out.y), .rows = x.size(0), .columns = x.size(1)};
  job.x = floats(check("x", x, at::kFloat, x.sizes()));
  if (adds) {
    job.a = check("a", a, type, x.sizes()).const_data_ptr();
    if (branch_bias.defined())
      job.branch_bias = floats(check("branch_bias", branch_bias, at::kFloat, {job.columns}));
    job.sum = out.sum.mutable_data_ptr<float>();
  } else if (branch_bias.defined()) {
    refuse(kName, "branch_bias", "there is no branch to add it to");
  }
  job.weight = floats(check("weight", norm.weight, at::kFloat, {job.columns}));
  job.bias = floats(check("bias", norm.bias, at::kFloat, {job.columns}));
  job.eps = static_cast<float>(norm.eps);
  job.y = out.y.mutable_data_ptr();
  job.mean = out.mean.mutable_data_ptr<float>();
  job.rstd = out.rstd.mutable_data_ptr<float>();
  compute(job, x.device());
  return out;
}

ResidualNormGradients residual_norm_backward(const ResidualNorm& forward, const at::Tensor& weight,
                                             const at::Tensor& dy, const at::Tensor& dsum, bool wants_a,
                                             bool wants_branch_bias) {
  constexpr const char* kName = "residual_norm_backward";
  check_matrix(kName, "sum", forward.sum);
  const Checks check(kName, forward.sum);
  const at::IntArrayRef shape = forward.sum.sizes();
  ResidualNormBackward job{.type = element_type(dy), .rows = shape[0], .columns = shape[1]};
  job.sum = floats(check("sum", forward.sum, at::kFloat, shape));
  job.mean = floats(check("mean", forward.mean, at::kFloat, {job.rows}));
  job.rstd = floats(check("rstd", forward.rstd, at::kFloat, {job.rows}));
  job.weight = floats(check("weight", weight, at::kFloat, {job.columns}));
  job.dy = check("dy", dy, dy.scalar_type(), shape).const_data_ptr();
  if (dsum.defined()) job.dsum = floats(check("dsum", dsum, at::kFloat, shape));
  const auto columns = [&] { return floats_like(weight, {job.columns}); };
  ResidualNormGradients out{floats_like(forward.sum, shape), {}, columns(), columns(), {}};
  job.dx = out.x.mutable_data_ptr<float>();
  if (wants_a && job.type != ElementType::f32) {
    out.a = at::empty_like(dy);
    job.da = out.a.mutable_data_ptr();
  } else if (wants_a) {
    out.a = out.x;
  }
  job.dweight = out.weight.mutable_data_ptr<float>();
  job.dbias = out.bias.mutable_data_ptr<float>();
  if (wants_branch_bias) {
    out.branch_bias = columns();
    job.dbranch_bias = out.branch_bias.mutable_data_ptr<float>();
  }
  const at::Tensor scratch = floats_like(weight, {column_sum_scratch(job.rows, job.columns, 3)});
  job.scratch = scratch.mutable_data_ptr<float>();
  compute(job, forward.sum.device());
  return out;
}

HeadLoss head_loss(const at::Tensor& tokens, const at::Tensor& target, std::int64_t patch) {
  HeadLossForward job{.type = element_type(tokens), .shape = head_shape("head_loss", tokens, target, patch)};
  const auto doubles = [&](at::IntArrayRef shape) {
    return at::empty(shape, target.options().dtype(at::kDouble));
  };
  HeadLoss out{floats_like(target, {}), doubles({job.shape.batch, 2})};
  const at::Tensor scratch = doubles({head_loss_scratch(job.shape)});
  job.tokens = tokens.const_data_ptr();
  job.target = floats(target);
  job.sums = out.sums.mutable_data_ptr<double>();
  job.loss = out.loss.mutable_data_ptr<float>();
  job.scratch = scratch.mutable_data_ptr<double>();
  compute(job, target.device());
  return out;
}

at::Tensor head_loss_backward(const at::Tensor& tokens, const at::Tensor& target, const at::Tensor& sums,
                              const at::Tensor& dloss, std::int64_t patch) {
  constexpr const char* kName = "head_loss_backward";
  HeadLossBackward job{.type = element_type(tokens), .shape = head_shape(kName, tokens, target, patch)};
  const Checks check(kName, target);
  job.tokens = tokens.const_data_ptr();
  job.target = floats(target);
  job.sums = check("sums", sums, at::kDouble, {job.shape.batch, 2}).const_data_ptr<double>();
  job.dloss = floats(check("dloss", dloss, at::kFloat, {}));
  at::Tensor out = at::empty_like(tokens);
  job.dtokens = out.mutable_data_ptr();
  compute(job, target.device());
  return out;
}

GradientNormPlace::GradientNormPlace(c10::Device device)
    : sum_of_squares(at::empty({}, at::TensorOptions(at::kDouble).device(device))),
      nonfinite(at::empty({}, at::TensorOptions(at::kLong).device(device))),
      scratch(at::empty({kGradientNormScratch}, at::TensorOptions(at::kDouble).device(device))) {}

void gradient_norm(const at::Tensor& gradients, GradientNormPlace& place) {
  const Checks check("gradient_norm", gradients);
  GradientNorm job{.n = gradients.numel()};
  job.gradients = floats(check("gradients", gradients, at::kFloat, gradients.sizes()));
  job.sum_of_squares =
      check("sum_of_squares", place.sum_of_squares, at::kDouble, {}).mutable_data_ptr<double>();
  job.nonfinite = check("nonfinite", place.nonfinite, at::kLong, {}).mutable_data_ptr<std::int64_t>();
  job.scratch =
      check("scratch", place.scratch, at::kDouble, {kGradientNormScratch}).mutable_data_ptr<double>();
  compute(job, gradients.device());
}

void adam(const AdamTensors& tensors, double beta1, double beta2, double eps) {
  const Checks check("adam", tensors.weights);
  AdamStep job{.n = tensors.weights.numel(), .beta1 = beta1, .beta2 = beta2, .eps = eps};
  const auto values = [&](const char* name, const at::Tensor& tensor) {
    return check(name, tensor, at::kFloat, {job.n}).mutable_data_ptr<float>();
  };
  static_assert(sizeof(AdamControl) == 4 * sizeof(float));
  job.weights = values("weights", tensors.weights);
  job.gradients = values("gradients", tensors.gradients);
  job.mean = values("mean", tensors.mean);
  job.square = values("square", tensors.square);
  job.control = reinterpret_cast<const AdamControl*>(
      check("control", tensors.control, at::kFloat, {4}).const_data_ptr<float>());
  compute(job, tensors.weights.device());
}

}  // namespace isobar
