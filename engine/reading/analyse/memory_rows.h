#pragma once
// What a rank held at the peak of its recorded step, beside what was planned for it.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "record/memory_timeline.h"

namespace isobar {

/// Predicted bytes of a rank by the names of formula/memory_plan.h, as RunView::memory has them.
using PlannedBytes = std::vector<std::pair<std::string, std::uint64_t>>;

/// The plan by the categories that are measured: N x N matrices are activations; buffers, and states that are
/// whole for a while, communication; states in host memory are none of them, and other names workspace.
/// Nothing where nothing was planned.
std::optional<std::array<std::uint64_t, kMemoryCategories.size()>> planned_categories(
    const PlannedBytes& planned);

/// One category at the peak.
struct MemoryRow {
  MemoryCategory category = MemoryCategory::weights;
  std::uint64_t measured = 0;
  std::optional<std::uint64_t> planned;

  /// (planned - measured) / measured in percent; nothing where one of them is not known or 0.
  std::optional<double> off_percent() const;
};

/// Categories of which something is held or planned, in their order.
std::vector<MemoryRow> memory_rows(const MemoryTimeline& timeline, const PlannedBytes& planned);

/// "activations", of the block that holds more than half of them "activations of blocks.3".
std::string peak_owner_text(const MemoryTimeline& timeline);

/// "46.1 MB in backward, in blocks.3.mlp".
std::string peak_text(const MemoryTimeline& timeline);

/// One object: step, peak, categories {measured, planned}, tensors, stages and moments.
Json memory_json(const MemoryTimeline& timeline, const PlannedBytes& planned);

}  // namespace isobar
