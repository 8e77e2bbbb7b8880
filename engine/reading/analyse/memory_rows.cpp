#include "analyse/memory_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace isobar {
namespace {

MemoryCategory planned_category(const std::string& name) {
  static const std::vector<std::pair<std::string, MemoryCategory>> kOthers = {
      {"Adam", MemoryCategory::moments},
      {"buffers", MemoryCategory::communication},
      {"in_flight", MemoryCategory::communication},
      {"in flight", MemoryCategory::communication},
      {"attention", MemoryCategory::activations},
      {"N x N matrices", MemoryCategory::activations}};
  const auto found = std::ranges::find(kOthers, name, &std::pair<std::string, MemoryCategory>::first);
  if (found != kOthers.end()) return found->second;
  return memory_category(name).value_or(MemoryCategory::workspace);
}

Json moment_json(const MemoryTimeline& timeline, const MemoryMoment& moment) {
  Json out = {{"at_us", moment.at_us}, {"total_bytes", moment.total()}};
  for (std::size_t i = 0; i < kHeldCategories; ++i)
    if (moment.bytes[i] > 0) out[std::string(kMemoryCategories[i]) + "_bytes"] = moment.bytes[i];
  Json blocks;
  for (std::size_t i = 0; i < moment.activations.size(); ++i)
    if (moment.activations[i] > 0) blocks[timeline.owners[i]] = moment.activations[i];
  if (!blocks.empty()) out["activations_of"] = blocks;
  return out;
}

Json categories_json(const MemoryTimeline& timeline, const PlannedBytes& planned) {
  Json out = Json::array();
  for (const MemoryRow& row : memory_rows(timeline, planned))
    out.push_back({{"category", name_of(row.category)},
                   {"measured_bytes", row.measured},
                   {"planned_bytes", Json(row.planned)},
                   {"off_percent", Json(row.off_percent())}});
  return out;
}

}  // namespace

std::optional<std::array<std::uint64_t, kMemoryCategories.size()>> planned_categories(
    const PlannedBytes& planned) {
  if (planned.empty()) return std::nullopt;
  std::array<std::uint64_t, kMemoryCategories.size()> out{};
  for (const auto& [name, bytes] : planned)
    if (name != "host") out[static_cast<std::size_t>(planned_category(name))] += bytes;
  return out;
}

std::optional<double> MemoryRow::off_percent() const {
  if (!planned || *planned == 0 || measured == 0) return std::nullopt;
  return 100 * (static_cast<double>(*planned) / static_cast<double>(measured) - 1);
}

std::vector<MemoryRow> memory_rows(const MemoryTimeline& timeline, const PlannedBytes& planned) {
  std::vector<MemoryRow> out;
  const auto plan = planned_categories(planned);
  const MemoryMoment& peak = timeline.peak();
  for (std::size_t i = 0; i < kMemoryCategories.size(); ++i) {
    MemoryRow row{static_cast<MemoryCategory>(i),
                  i < kHeldCategories ? peak.bytes[i] : timeline.program_bytes, std::nullopt};
    if (plan) row.planned = (*plan)[i];
    if (row.measured > 0 || row.planned.value_or(0) > 0) out.push_back(row);
  }
  return out;
}

std::string peak_owner_text(const MemoryTimeline& timeline) {
  const MemoryCategory owner = timeline.peak_owner();
  const MemoryMoment& peak = timeline.peak();
  std::string out = name_of(owner);
  if (owner != MemoryCategory::activations || peak.activations.empty()) return out;
  const auto most = std::ranges::max_element(peak.activations);
  if (2 * *most <= peak.of(owner)) return out;
  return out + " of " + timeline.owners[static_cast<std::size_t>(most - peak.activations.begin())];
}

std::string peak_text(const MemoryTimeline& timeline) {
  std::string out = human_bytes(timeline.peak_bytes());
  if (!timeline.peak_stage.empty()) out += " in " + timeline.peak_stage;
  if (!timeline.peak_module.empty()) out += ", in " + timeline.peak_module;
  return out;
}

Json memory_json(const MemoryTimeline& timeline, const PlannedBytes& planned) {
  Json stages = Json::array(), moments = Json::array(), tensors = Json::array();
  for (const MemoryStage& stage : timeline.stages)
    stages.push_back({{"name", stage.name}, {"begin_us", stage.begin_us}, {"end_us", stage.end_us}});
  for (const MemoryMoment& moment : timeline.moments) moments.push_back(moment_json(timeline, moment));
  for (const MemoryTensor& tensor : timeline.largest)
    tensors.push_back({{"bytes", tensor.bytes},
                       {"category", name_of(tensor.category)},
                       {"module", tensor.module},
                       {"stage", tensor.stage}});
  const std::uint64_t peak_bytes = timeline.peak_bytes();
  const std::string peak_owner = name_of(timeline.peak_owner());
  Json out = ISOBAR_NAMED(timeline.rank, timeline.attempt, timeline.step, timeline.device,
                          timeline.micro_batches, timeline.step_us, timeline.allocations, peak_bytes,
                          timeline.program_bytes, peak_owner, timeline.peak_stage, timeline.peak_module);
  out["peak_at_us"] = timeline.peak().at_us;
  out["categories"] = categories_json(timeline, planned);
  out["tensors"] = tensors;
  out["stages"] = stages;
  out["moments"] = moments;
  return out;
}

}  // namespace isobar
