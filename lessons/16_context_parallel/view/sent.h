#pragma once
// What rank 0 of a run whose ranks share tokens sends in a step.
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "formula/context_parallel.h"
#include "plot/lesson_view.h"

namespace isobar::lesson_16 {

/// By formula. Nothing where its ranks share no tokens, or its settings are not of this version.
std::optional<ContextStep> context_of(const std::filesystem::path& run, const RunView& view);

/// One bar: attention, cut and union, the sum of gradients; a line where its count is.
OwnPicture own_sent(const OwnRun& run);
/// Bars of several runs below each other, or their memory (rule "ratio").
Drawing runs_together(std::string_view rule, const std::vector<ShownRun>& runs);

}  // namespace isobar::lesson_16
