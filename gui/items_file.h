#pragma once
// Where each widget is, in a file: so tests find what they click.
#include <cstdint>
#include <filesystem>

#include "widgets/ui.h"

namespace isobar {

/// One object: the name of each widget, its box in pixels of the frame, and its words; and by the name "",
/// how many inputs the window was told of whose frames are all drawn.
void write_items(const Ui& ui, std::int64_t shown, const std::filesystem::path& file);

}  // namespace isobar
