#include "device/operator_recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace isobar {
namespace {

constexpr std::size_t kMostTypes = 6;  // the rest of a longer list is left out

/// Values that lie in memory once: a dimension of stride 0 repeats them.
std::int64_t bytes_of(const at::Tensor& tensor) {
  const auto value_bytes = static_cast<std::int64_t>(tensor.element_size());
  if (!tensor.has_storage()) return tensor.numel() * value_bytes;
  std::int64_t values = 1;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
    values *= tensor.stride(dim) == 0 && tensor.size(dim) > 0 ? 1 : tensor.size(dim);
  return std::min(values * value_bytes, static_cast<std::int64_t>(tensor.storage().nbytes()));
}

Operand operand_of(const at::Tensor& tensor) {
  return {.tensor = tensor.unsafeGetTensorImpl(),
          .storage = tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr,
          .bytes = bytes_of(tensor),
          .type = tensor.scalar_type(),
          .host_scalar = tensor.numel() == 1 && tensor.is_cpu()};
}

/// Calls `visit` with each defined tensor of `value`, which may be one, a list of them, or neither.
template <class Visit>
void visit_tensors(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (value.isList() && !value.toListRef().empty() && value.toListRef().front().isTensor()) {
    for (const c10::IValue& one : value.toListRef()) visit_tensors(one, visit);  // a list of optional tensors
  }
}

bool is_heavy(OperatorClass kind) {
  return kind == OperatorClass::gemm || kind == OperatorClass::attention || kind == OperatorClass::norm;
}

/// Whether an operator that this one called did its work; `written` is what this one gave or changed.
bool was_done_below(const OperatorFrame& frame, const std::vector<Operand>& written) {
  const OperatorClass kind = frame.facts->kind;
  if (is_heavy(kind)) return frame.counted_below[static_cast<std::size_t>(kind)];
  return std::any_of(written.begin(), written.end(), [&](const Operand& operand) {
    return frame.written_below.contains({operand.storage, operand.bytes});
  });
}

bool handles_host_scalars(const std::vector<Operand>& inputs, const std::vector<Operand>& written) {
  const auto is_scalar = [](const Operand& operand) { return operand.host_scalar; };
  return std::all_of(inputs.begin(), inputs.end(), is_scalar) &&
         std::all_of(written.begin(), written.end(), is_scalar);
}

std::string types_text(const std::vector<Operand>& inputs) {
  std::string out;
  std::size_t told = 0;
  for (const Operand& input : inputs) {
    if (!input.read) continue;
    if (told++ == kMostTypes) return out + ", ...";
    out += (out.empty() ? "" : ", ") + short_type_name(input.type);
  }
  return out;
}

}  // namespace

OperatorRecorder::OperatorRecorder(std::unique_ptr<EventPool> events) : events_(std::move(events)) {}

OperatorRecorder::~OperatorRecorder() {
  for (const Entry& entry : entries_) {
    if (entry.begin.event != nullptr) events_->give_back(entry.begin.event);
    if (entry.end.event != nullptr) events_->give_back(entry.end.event);
  }
}

OperatorRecorder::Mark OperatorRecorder::mark() {
  if (events_) return {0, events_->record()};
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), nullptr};
}

double OperatorRecorder::between_us(const Mark& begin, const Mark& end) {
  if (!events_) return static_cast<double>(end.at_ns - begin.at_ns) * 1e-3;
  events_->wait_for(end.event);
  return events_->elapsed_us(begin.event, end.event);
}

std::shared_ptr<const OperatorFacts> OperatorRecorder::known_facts(const at::RecordFunction& call) {
  std::string key = call.name();
  if (const auto name = call.operator_name()) key += "." + name->overload_name;
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const OperatorFacts>& known = facts_[key];
  if (!known) known = std::make_shared<const OperatorFacts>(facts_of(call));
  return known;
}

void OperatorRecorder::open(OperatorFrame& frame, std::shared_ptr<const OperatorFacts> facts,
                            OperatorFrame* outer) {
  frame.facts = std::move(facts);
  frame.outer = outer;
  frame.in_attention =
      frame.facts->kind == OperatorClass::attention || (outer != nullptr && outer->in_attention);
}

void OperatorRecorder::begin_entry(OperatorFrame& frame) {
  // A frame of an earlier watch has its entry elsewhere.
  const bool nested = frame.outer != nullptr && frame.outer->recorder.get() == this;
  frame.entry = entries_.size();
  entries_.push_back({.begin = {}, .end = {}, .outer = nested ? frame.outer->entry : kNone});
  entries_.back().begin = mark();
}

std::unique_ptr<OperatorFrame> OperatorRecorder::begin(const at::RecordFunction& call, OperatorFrame* outer) {
  auto frame = std::make_unique<OperatorFrame>();
  open(*frame, known_facts(call), outer);
  const OperatorFacts& facts = *frame->facts;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    const bool is_known = i < facts.writes.size();
    visit_tensors(call.inputs()[i], [&](const at::Tensor& tensor) {
      Operand& input = frame->inputs.emplace_back(operand_of(tensor));
      input.written = is_known && facts.writes[i];
      input.read = !is_known || !facts.only_write[i];
    });
  }
  const std::scoped_lock lock(mutex_);
  if (call.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    frame->in_attention = frame->in_attention || attention_nodes_.contains(call.seqNr());
  } else if (frame->in_attention && call.seqNr() >= 0) {
    attention_nodes_.insert(call.seqNr());
  }
  begin_entry(*frame);
  return frame;
}

std::unique_ptr<OperatorFrame> OperatorRecorder::begin_kernel(const char* name, std::int64_t bytes,
                                                              c10::ScalarType type, OperatorFrame* outer) {
  auto frame = std::make_unique<OperatorFrame>();
  auto facts = std::make_shared<OperatorFacts>();
  facts->name = name;
  facts->kind = class_of_operator(name);
  open(*frame, std::move(facts), outer);
  frame->inputs.push_back({.bytes = bytes, .type = type});
  const std::scoped_lock lock(mutex_);
  begin_entry(*frame);
  return frame;
}

void OperatorRecorder::end_kernel(OperatorFrame& frame, std::string_view module) {
  const std::scoped_lock lock(mutex_);
  entries_[frame.entry].end = mark();
  count(frame, frame.inputs.front().bytes, frame.inputs, module);
}

void OperatorRecorder::end(OperatorFrame& frame, const std::vector<c10::IValue>& outputs,
                           std::string_view module) {
  const std::scoped_lock lock(mutex_);
  entries_[frame.entry].end = mark();
  if (frame.facts->never_counts) return;
  std::vector<Operand> written;
  for (const c10::IValue& value : outputs)
    visit_tensors(value, [&](const at::Tensor& tensor) { written.push_back(operand_of(tensor)); });
  const auto lies_in_input = [&](const Operand& output) {
    return output.storage != nullptr &&
           std::any_of(frame.inputs.begin(), frame.inputs.end(),
                       [&](const Operand& input) { return input.storage == output.storage; });
  };
  const bool is_view = std::all_of(written.begin(), written.end(), lies_in_input);  // or it gives nothing
  if (is_view && !frame.facts->writes_any) return;
  for (const Operand& input : frame.inputs) {
    if (input.written) written.push_back(input);  // behind what is returned, which may be nothing
  }
  if (was_done_below(frame, written) || handles_host_scalars(frame.inputs, written)) return;
  std::unordered_set<const void*> seen_reads;
  std::unordered_set<const void*> seen_writes;
  std::int64_t bytes = 0;
  for (const Operand& input : frame.inputs) {
    if (input.read && seen_reads.insert(input.tensor).second) bytes += input.bytes;
  }
  for (const Operand& output : written) {
    if (seen_writes.insert(output.tensor).second) bytes += output.bytes;
  }
  if (bytes > 0) count(frame, bytes, written, module);
}

void OperatorRecorder::count(const OperatorFrame& frame, std::int64_t bytes,
                             const std::vector<Operand>& written, std::string_view module) {
  const OperatorClass kind = frame.in_attention ? OperatorClass::attention : frame.facts->kind;
  for (OperatorFrame* outer = frame.outer; outer != nullptr; outer = outer->outer) {
    outer->counted_below[static_cast<std::size_t>(frame.facts->kind)] = true;
    for (const Operand& output : written) outer->written_below.emplace(output.storage, output.bytes);
  }
  WatchedOperator seen{.module = module.empty() ? stage_.load() : std::string(module),
                       .name = frame.facts->name,
                       .kind = kind,
                       .inputs = types_text(frame.inputs),
                       .output = short_type_name(written.front().type)};
  const auto [place, is_new] =
      places_.try_emplace({seen.module, seen.name, seen.inputs, seen.output, kind}, record_.rows.size());
  if (is_new) record_.rows.push_back(std::move(seen));
  WatchedOperator& row = record_.rows[place->second];
  ++row.calls;
  row.moved_bytes += bytes;
  ++record_.launches;
  record_.moved_bytes += bytes;
  entries_[frame.entry].row = place->second;
}

OperatorRecord OperatorRecorder::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<double> own_us(entries_.size(), 0.0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].row == kNone) continue;
    const double all_us = between_us(entries_[i].begin, entries_[i].end);
    own_us[i] += all_us;
    std::size_t outer = entries_[i].outer;
    while (outer != kNone && entries_[outer].row == kNone) outer = entries_[outer].outer;
    if (outer != kNone) own_us[outer] -= all_us;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].row == kNone) continue;
    WatchedOperator& row = record_.rows[entries_[i].row];
    row.op_us += std::max(0.0, own_us[i]);
    record_.class_us[static_cast<std::size_t>(row.kind)] += std::max(0.0, own_us[i]);
  }
  return std::move(record_);
}

}  // namespace isobar
