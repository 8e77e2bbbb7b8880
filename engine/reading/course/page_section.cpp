#include "course/page_section.h"

#include "core/text.h"

namespace isobar {

std::string page_section(std::string_view page, std::string_view name) {
  const std::string title = "## " + std::string(name);
  std::string out;
  bool is_inside = false;
  bool is_code = false;
  for (std::string& line : split(page, '\n')) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.starts_with("```")) is_code = !is_code;
    if (!is_code && (line.starts_with("## ") || line.starts_with("# "))) {
      if (is_inside) break;
      is_inside = line == title;
    } else if (is_inside) {
      out += line + "\n";
    }
  }
  const std::size_t first = out.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return out.substr(first, out.find_last_not_of('\n') + 1 - first);
}

}  // namespace isobar
