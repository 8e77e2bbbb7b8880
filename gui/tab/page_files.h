#pragma once
// The page, as it lies in the program (cmake/embed.cmake makes page_files.cpp from gui/tab/page).
#include <string_view>

#include "tab/door.h"

namespace isobar {

struct PageFile {
  std::string_view text;
  std::string_view type;  ///< Content-Type
};

/// Of the page and its parts; `alive` and others are empty text.
PageFile page_file(Room room);

}  // namespace isobar
