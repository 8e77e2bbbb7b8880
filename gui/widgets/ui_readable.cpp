// Words that a page lays over the frame, so that a browser can select and copy them.
#include <algorithm>

#include "core/text.h"
#include "widgets/ui.h"

namespace isobar {

void Ui::readable(std::string_view words, Face face, PlotPoint at, float height, bool goes_on) {
  constexpr std::size_t kMostRows = 1000, kMostBytes = 128 * 1024;  // far more than a screen shows
  if (!keep_readable_ || rows_.size() >= kMostRows || rows_bytes_ + words.size() > kMostBytes) return;
  const ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 least = list.GetClipRectMin();
  const ImVec2 most = list.GetClipRectMax();
  const Box box = {at.x, at.y, at.x + canvas().text_width(words, face), at.y + height};
  const Box seen = {std::max(box.x0, least.x), std::max(box.y0, least.y), std::min(box.x1, most.x),
                    std::min(box.y1, most.y)};
  const float least_width = words.empty() ? 0 : 1;
  if (seen.width() < least_width || seen.height() < 1) return;
  rows_bytes_ += words.size();
  rows_.push_back({std::string(words) + (goes_on ? "" : "\n"), box, seen});
}

void Ui::readable(std::string_view words, Face face) {
  const ImVec2 at = ImGui::GetItemRectMin();
  readable(words, face, point_of(at), ImGui::GetItemRectMax().y - at.y);
}

void Ui::wrapped_readable(std::string_view words, Face face, Colour colour) {
  const std::string lines = lines_of(words, face);
  text(lines, face, colour);
  if (!keep_readable_) return;
  PlotPoint at = point_of(ImGui::GetItemRectMin());
  const float height = canvas().line_height(face);
  std::size_t begin = 0;
  for (const std::string& row : split(lines, '\n')) {
    const std::size_t end = begin + row.size();
    const bool ends = end >= words.size() || words[end] == '\n';
    const std::size_t next =
        end + (ends || words[end] == ' ' ? 1 : 0);  // a blank at a row's end is not drawn
    readable(words.substr(begin, (ends ? end : next) - begin), face, at, height, !ends);
    at.y += height;
    begin = next;
  }
}

}  // namespace isobar
