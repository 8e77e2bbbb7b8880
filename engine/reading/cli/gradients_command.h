#pragma once
#include <cstdint>
#include <filesystem>

namespace isobar {

/// `show RUN --gradients [--step N]`: the histogram of gradients of step N or the last before it (a negative
/// step: the last of all), or all of them as JSON.
void show_gradients(const std::filesystem::path& run, std::int64_t step, bool json);

}  // namespace isobar
