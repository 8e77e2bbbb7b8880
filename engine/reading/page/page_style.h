#pragma once
#include <string>

namespace isobar {

/// Light, dark by the reader's wish, and light on paper.
std::string page_style();

}  // namespace isobar
