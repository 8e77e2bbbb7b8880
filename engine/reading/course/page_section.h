#pragma once
#include <string>
#include <string_view>

namespace isobar {

/// What stands below the heading "## NAME" of a page of Markdown, up to the next one of its kind or above it;
/// "" without one. What looks like a heading inside of a code block is none.
std::string page_section(std::string_view page, std::string_view name);

}  // namespace isobar
