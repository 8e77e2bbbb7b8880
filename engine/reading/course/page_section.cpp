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

std::vector<PagePiece> page_pieces(std::string_view page) {
  std::vector<PagePiece> out;
  for (const char* const name : {"Claim", "Picture"}) {
    if (std::string text = page_section(page, name); !text.empty()) out.push_back({name, std::move(text)});
  }
  const std::string idea = page_section(page, "Idea");
  bool begins = true;
  for (const std::string& line : split(idea, '\n')) {
    const std::size_t end = line.starts_with("**") ? line.find("**", 2) : std::string::npos;
    if (begins && end != std::string::npos) {
      std::string title = line.substr(2, end - 2);
      if (title.ends_with('.')) title.pop_back();
      out.push_back({std::move(title), ""});
    } else if (out.empty() || out.back().title == "Claim" || out.back().title == "Picture") {
      if (line.empty()) continue;
      out.push_back({"Idea", ""});
    }
    out.back().text += line + "\n";
    begins = line.empty();
  }
  return out;
}

}  // namespace isobar
