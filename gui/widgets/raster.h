#pragma once
// Draws what ImGui wants drawn without a graphics card: for pictures of single plots, and for tests.
#include "widgets/imgui_canvas.h"

namespace isobar {

/// The part `box` (in ImGui's coordinates) of a frame that was rendered, `zoom` times as large, over
/// `ground`. An ImGui context must be current; its font atlas is read.
Picture rasterise(const ImDrawData& frame, const Box& box, float zoom, Colour ground,
                  const TextureMaker& textures);

}  // namespace isobar
