#pragma once
// Where each widget is, in a file: so tests find what they click.
#include <filesystem>

#include "widgets/ui.h"

namespace isobar {

/// One object: the name of each widget, its box in pixels of the frame, and its words.
void write_items(const Ui& ui, const std::filesystem::path& file);

}  // namespace isobar
