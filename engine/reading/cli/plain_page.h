#pragma once
// Pages of the lessons, which are Markdown, on a terminal.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// As lines of `columns`: paragraphs, lists, tables and code; of links and pictures the words. What is folded
/// away in the page (<details>) is left out.
std::vector<std::string> plain_lines(std::string_view markdown, std::size_t columns);

/// One line without its marks: `code`, **bold**, *italic*, [link](target).
std::string without_marks(std::string_view markdown);

}  // namespace isobar
