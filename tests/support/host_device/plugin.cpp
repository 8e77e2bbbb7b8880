#include "support/host_device/plugin.h"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/column_sums.h"
#include "kernels/count_nonfinite.h"
#include "kernels/normalise.h"
#include "kernels/pack.h"

namespace isobar::host_device {
namespace {

struct Graph {
  std::shared_ptr<Capture> capture;
};

HostStream& of(CUstream_st* stream) { return *reinterpret_cast<HostStream*>(stream); }
HostEvent& of(CUevent_st* event) { return *reinterpret_cast<HostEvent*>(event); }
Graph* of(CudaGraph* graph) { return reinterpret_cast<Graph*>(graph); }

Use reads(const void* memory, std::int64_t values, std::size_t bytes = sizeof(float)) {
  return use_of(memory, memory == nullptr ? 0 : static_cast<std::size_t>(values) * bytes, false);
}
Use writes(const void* memory, std::int64_t values, std::size_t bytes = sizeof(float)) {
  return use_of(memory, memory == nullptr ? 0 : static_cast<std::size_t>(values) * bytes, true);
}

std::int64_t values_of(const HeadLossShape& shape) {
  return shape.batch * shape.channels * shape.height * shape.width;
}

/// One field value after the other, as the kernels of the device do.
template <typename Value>
void make_fields(const DeviceFields& batch, const Value& value) {
  for (std::int64_t use = 0; use < (1 + batch.targets) * batch.samples; ++use) {
    const bool is_input = use < batch.samples;
    auto* const to = static_cast<float*>(is_input ? batch.input : batch.target) +
                     (is_input ? use : use - batch.samples) * batch.channels * batch.plane;
    const std::int64_t from = batch.field_of[use] * batch.channels * batch.plane;
    for (std::int64_t channel = 0; channel < batch.channels; ++channel) {
      const std::int64_t offset = channel * batch.plane;
      value(from + offset, channel, to + offset);
      *batch.nonfinite += count_nonfinite(to + offset, batch.plane);
    }
  }
}

/// Of the fields the first value: how many there are says a table that is still on its way, and they come in
/// one piece.
std::vector<Use> uses_of(const DeviceFields& batch) {
  const std::int64_t all = batch.samples * batch.channels * batch.plane;
  return {reads(batch.fields, 1),
          reads(batch.field_of, (1 + batch.targets) * batch.samples, sizeof(std::int32_t)),
          reads(batch.mean, batch.channels),
          reads(batch.spread, batch.channels),
          writes(batch.input, all),
          writes(batch.target, batch.targets * all),
          writes(batch.nonfinite, 1, sizeof(std::int64_t))};
}

void only_floats(FieldOutput output) {
  if (output != FieldOutput::f32) throw std::invalid_argument("batches are float32 here");
}

}  // namespace

CUstream_st* HostPlugin::current_stream(int index) const {
  return reinterpret_cast<CUstream_st*>(&device().current(static_cast<c10::DeviceIndex>(index)));
}

CUevent_st* HostPlugin::create_event() const { return reinterpret_cast<CUevent_st*>(new HostEvent); }
void HostPlugin::destroy_event(CUevent_st* event) const noexcept { delete &of(event); }
void HostPlugin::record_event(CUevent_st* event, CUstream_st* stream) const {
  device().record(of(event), of(stream));
}
bool HostPlugin::event_passed(CUevent_st* event) const { return device().query(of(event)); }
void HostPlugin::wait_for_event(CUevent_st* event) const { device().wait(of(event)); }
void HostPlugin::make_stream_wait(CUstream_st* stream, CUevent_st* event) const {
  device().block(of(event), of(stream));
}
double HostPlugin::elapsed_us(CUevent_st* begin, CUevent_st* end) const {
  return device().elapsed_us(of(begin), of(end));
}

void* HostPlugin::allocate_pinned(std::size_t bytes) const {
  return device().allocate_pinned(bytes, /*kept=*/false);
}
void HostPlugin::free_pinned(void* memory) const noexcept { device().free_pinned(memory); }

void HostPlugin::upload(void* to, const void* from, std::size_t bytes, CUstream_st* stream) const {
  const std::vector<std::byte> asked(static_cast<const std::byte*>(from),
                                     static_cast<const std::byte*>(from) + bytes);
  device().ask(
      of(stream), "an upload", {use_of(to, bytes, true)},
      [to, from, asked] {
        if (std::memcmp(from, asked.data(), asked.size()) != 0)
          device().violated("late copy", "the host changed page-locked memory before its upload was done");
        std::memcpy(to, from, asked.size());
      },
      /*late=*/true);
}

void HostPlugin::count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter,
                                 CUstream_st* stream) const {
  device().ask(of(stream), "count_nonfinite", {reads(values, n), writes(counter, 1, sizeof(std::int64_t))},
               [=] { *counter += isobar::count_nonfinite(values, n); });
}

void HostPlugin::normalise(const DeviceFields& batch, FieldOutput output, CUstream_st* stream) const {
  only_floats(output);
  device().ask(of(stream), "normalise", uses_of(batch), [batch] {
    make_fields(batch, [&](std::int64_t from, std::int64_t channel, float* to) {
      normalise_values(static_cast<const float*>(batch.fields) + from, to, batch.plane, batch.mean[channel],
                       batch.spread[channel], Stores::cached);
    });
  });
}

void HostPlugin::unpack(const DeviceFields& batch, PackedField packed, FieldOutput output,
                        CUstream_st* stream) const {
  only_floats(output);
  device().ask(of(stream), "unpack", uses_of(batch), [batch, packed] {
    make_fields(batch, [&](std::int64_t from, std::int64_t, float* to) {
      if (packed == PackedField::f16)
        unpack_f16(static_cast<const std::uint16_t*>(batch.fields) + from, batch.plane, to);
      else
        unpack_i16(static_cast<const std::int16_t*>(batch.fields) + from, batch.plane, to);
    });
  });
}

void HostPlugin::compute(const BiasGeluForward& job, CUstream_st* stream) const {
  const std::int64_t n = job.rows * job.columns;
  const std::size_t bytes = bytes_of(job.type);
  device().ask(of(stream), "bias_gelu",
               {reads(job.x, n, bytes), reads(job.bias, job.columns), writes(job.y, n, bytes)},
               [job] { bias_gelu_cpu(job); });
}

void HostPlugin::compute(const BiasGeluBackward& job, CUstream_st* stream) const {
  const std::int64_t n = job.rows * job.columns;
  const std::size_t bytes = bytes_of(job.type);
  device().ask(of(stream), "bias_gelu_backward",
               {reads(job.x, n, bytes), reads(job.bias, job.columns), reads(job.dy, n, bytes),
                writes(job.dx, n, bytes), writes(job.dbias, job.columns),
                writes(job.scratch, column_sum_scratch(job.rows, job.columns, 1))},
               [job] { bias_gelu_cpu(job); });
}

void HostPlugin::compute(const ResidualNormForward& job, CUstream_st* stream) const {
  const std::int64_t n = job.rows * job.columns;
  const std::size_t bytes = bytes_of(job.type);
  device().ask(of(stream), "residual_norm",
               {reads(job.x, n), reads(job.a, n, bytes), reads(job.branch_bias, job.columns),
                reads(job.weight, job.columns), reads(job.bias, job.columns), writes(job.sum, n),
                writes(job.y, n, bytes), writes(job.mean, job.rows), writes(job.rstd, job.rows)},
               [job] { residual_norm_cpu(job); });
}

void HostPlugin::compute(const ResidualNormBackward& job, CUstream_st* stream) const {
  const std::int64_t n = job.rows * job.columns;
  const std::size_t bytes = bytes_of(job.type);
  device().ask(of(stream), "residual_norm_backward",
               {reads(job.sum, n), reads(job.mean, job.rows), reads(job.rstd, job.rows),
                reads(job.weight, job.columns), reads(job.dy, n, bytes), reads(job.dsum, n),
                writes(job.dx, n), writes(job.da, n, bytes), writes(job.dweight, job.columns),
                writes(job.dbias, job.columns), writes(job.dbranch_bias, job.columns),
                writes(job.scratch, column_sum_scratch(job.rows, job.columns, 3))},
               [job] { residual_norm_cpu(job); });
}

void HostPlugin::compute(const HeadLossForward& job, CUstream_st* stream) const {
  const std::int64_t n = values_of(job.shape);
  device().ask(of(stream), "head_loss",
               {reads(job.tokens, n, bytes_of(job.type)), reads(job.target, n),
                writes(job.sums, 2 * job.shape.batch, sizeof(double)), writes(job.loss, 1),
                writes(job.scratch, head_loss_scratch(job.shape), sizeof(double))},
               [job] { head_loss_cpu(job); });
}

void HostPlugin::compute(const HeadLossBackward& job, CUstream_st* stream) const {
  const std::int64_t n = values_of(job.shape);
  const std::size_t bytes = bytes_of(job.type);
  device().ask(of(stream), "head_loss_backward",
               {reads(job.tokens, n, bytes), reads(job.target, n),
                reads(job.sums, 2 * job.shape.batch, sizeof(double)), reads(job.dloss, 1),
                writes(job.dtokens, n, bytes)},
               [job] { head_loss_cpu(job); });
}

void HostPlugin::compute(const AdamStep& job, CUstream_st* stream) const {
  device().ask(of(stream), "adam",
               {writes(job.weights, job.n), reads(job.gradients, job.n), writes(job.mean, job.n),
                writes(job.square, job.n), reads(job.control, 1, sizeof(AdamControl))},
               [job] { adam_cpu(job); });
}

void HostPlugin::compute(const GradientNorm& job, CUstream_st* stream) const {
  device().ask(of(stream), "gradient_norm",
               {reads(job.gradients, job.n), writes(job.sum_of_squares, 1, sizeof(double)),
                writes(job.nonfinite, 1, sizeof(std::int64_t)),
                writes(job.scratch, kGradientNormScratch, sizeof(double))},
               [job] { gradient_norm_cpu(job); });
}

CudaGraph* HostPlugin::begin_graph() const {
  return reinterpret_cast<CudaGraph*>(new Graph{device().begin_capture()});
}
void HostPlugin::end_graph(CudaGraph* graph) const { device().end_capture(*of(graph)->capture); }
void HostPlugin::abandon_graph(CudaGraph* graph) const noexcept {
  device().abandon_capture(*of(graph)->capture);
  destroy_graph(graph);
}
GraphNodes HostPlugin::graph_nodes(CudaGraph* graph) const {
  return {.kernels = static_cast<std::int64_t>(of(graph)->capture->nodes.size())};
}
void HostPlugin::launch_graph(CudaGraph* graph) const { device().launch(of(graph)->capture); }
void HostPlugin::destroy_graph(CudaGraph* graph) const noexcept {
  device().forget(*of(graph)->capture);
  delete of(graph);
}

}  // namespace isobar::host_device
