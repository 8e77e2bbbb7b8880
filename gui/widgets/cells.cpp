#include "widgets/cells.h"

#include <algorithm>

namespace isobar {

int cell_columns(const Ui& ui, float width) { return width > ui.px(1500) ? 3 : width > ui.px(600) ? 2 : 1; }

Cells::Cells(Ui& ui, int count, float below)
    : ui_(ui),
      count_(count),
      room_(ImGui::GetContentRegionAvail()),
      columns_(cell_columns(ui, ImGui::GetContentRegionAvail().x)) {
  const int rows = (count + columns_ - 1) / columns_;
  const float gaps = ui.px(kCellGap) * static_cast<float>(rows - 1);
  height_ = std::max(ui.px(190), (room_.y - below - gaps) / static_cast<float>(rows));
}

ImVec2 Cells::next() {
  const int before = index_ - index_ % columns_;
  const auto beside = static_cast<float>(std::min(columns_, count_ - before));
  if (index_ != before) ImGui::SameLine(0, ui_.px(kCellGap));
  ++index_;
  return {(room_.x - ui_.px(kCellGap) * (beside - 1)) / beside, height_};
}

}  // namespace isobar
