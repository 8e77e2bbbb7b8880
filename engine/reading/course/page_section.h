#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// A page of a lesson, text or code; a longer one is refused.
inline constexpr std::uint64_t kMostPageBytes = 1U << 20;

/// What stands below the heading "## NAME" of a page of Markdown, up to the next one of its kind or above it;
/// "" without one. What looks like a heading inside of a code block is none.
std::string page_section(std::string_view page, std::string_view name);

/// A part of a lesson's page that is read at one go.
struct PagePiece {
  std::string title;  ///< "Claim", "Picture"; of a part of the Idea the bold words that it begins with
  std::string text;   ///< Markdown
};

/// Claim, Picture, and the Idea taken apart where a paragraph begins in bold.
std::vector<PagePiece> page_pieces(std::string_view page);

}  // namespace isobar
