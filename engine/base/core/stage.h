#pragma once
// The stages of a training step: what a page enters, the stream names, and readers look for.
#include <array>
#include <cstddef>

namespace isobar {

/// replay: a captured graph, in which forward, backward and optimise are one.
enum class Stage : std::size_t { load, copy, forward, backward, comm, optimize, replay };
inline constexpr std::array<const char*, 7> kStageNames = {"load", "copy",     "forward", "backward",
                                                           "comm", "optimize", "replay"};

constexpr const char* name_of(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

}  // namespace isobar
