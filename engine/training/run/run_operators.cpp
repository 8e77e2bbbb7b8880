// The part of Run that looks at one step closely: which operators it is made of.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/run.h"

namespace isobar {

bool Run::honours(const std::string& key) const { return isobar::honours(lesson_, key); }

std::shared_ptr<OperatorWatch> Run::watch_operators(std::int64_t index) const {
  constexpr std::int64_t kWarm = 2;  // libraries have chosen their kernels, and memory is there
  if (loaded_.config.run.measure == "io") return nullptr;
  std::int64_t last = std::max<std::int64_t>(1, summary_.warm_up_steps) - 1;
  // A step that is recorded as a graph is none to time, and of one that is replayed nothing is seen.
  const bool records = loaded_.config.graph.enabled && honours("graph.enabled");
  if (records) last = std::min(last, loaded_.config.graph.warmup - 1);
  if (index - first_step_ != std::min(kWarm, last)) return nullptr;
  return std::make_shared<OperatorWatch>(device_);
}

void Run::write_operators(std::int64_t index, JsonLine& step, const OperatorRecord& record) {
  step.add("launches", record.launches).add("moved_bytes", record.moved_bytes);
  WatchedSummary watched{.step = index,
                         .launches = record.launches,
                         .moved_bytes = record.moved_bytes,
                         .class_us = {},
                         .attention = {}};
  for (std::size_t i = 0; i < kOperatorClasses.size(); ++i) {
    const std::int64_t class_us = std::llround(record.class_us[i]);
    step.add(fmt::format("{}_op_us", kOperatorClasses[i]), class_us);
    watched.class_us.emplace_back(kOperatorClasses[i], static_cast<double>(class_us));
  }
  for (const WatchedOperator& row : record.rows) {
    if (row.kind == OperatorClass::attention && row.module != "backward") watched.add_attention(row.name);
    stream_->write(JsonLine("note")
                       .add("text", "operator")
                       .add("module", row.module)
                       .add("operator", row.name)
                       .add("class", kOperatorClasses[static_cast<std::size_t>(row.kind)])
                       .add("input_types", row.inputs)
                       .add("output_type", row.output)
                       .add("calls", row.calls)
                       .add("moved_bytes", row.moved_bytes)
                       .add("op_us", std::round(row.op_us * 10) / 10));
  }
  summary_.watched = std::move(watched);
}

}  // namespace isobar
