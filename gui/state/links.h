#pragma once
// Where a link of a lesson's page leads in the window.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct LinkTarget {
  enum class Kind {
    web,      ///< an address of the web
    lesson,   ///< another lesson
    reveal,   ///< the page that a lesson keeps back until its questions are answered
    file,     ///< a text file of the project, to be read
    folder,   ///< a folder of it
    section,  ///< a heading of the same page
    nowhere   ///< it is not followed; `text` has the reason
  };
  Kind kind = Kind::nowhere;
  std::string text = {};     ///< address, lesson, or path below the project
  std::int64_t line = 0;     ///< line of a file; 0 = none in particular
  std::string section = {};  ///< a heading of a file or of this page, as links name it
};

/// A heading's name in links: "What to look at" -> "what-to-look-at".
std::string section_name(std::string_view heading);

/// `link` as it stands in a page below `folder`. Only addresses of http and https, and what lies within the
/// project (symbolic links followed) and is there, lead anywhere.
LinkTarget link_target(const std::filesystem::path& home, const std::filesystem::path& folder,
                       const std::vector<std::string>& lessons, const std::string& link);

}  // namespace isobar
