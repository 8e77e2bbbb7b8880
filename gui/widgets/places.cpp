#include "widgets/places.h"

#include <algorithm>
#include <cmath>

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

CardBox::CardBox(Ui& ui, std::string_view name, Colour ground)
    : ui_(ui), id_(ImGui::GetID(name.data(), name.data() + name.size())), storage_(ImGui::GetStateStorage()) {
  const float height = storage_->GetFloat(id_, ui.px(160));
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ground);
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, ui.px(8));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ui.px(12), ui.px(12)});
  ImGui::PushStyleVar(ImGuiStyleVar_ChildBorderSize, 0);
  ImGui::BeginChild(id_, {0, height}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse |
                        ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ui.theme().panel);  // else a field is not to be seen on the card
}

CardBox::~CardBox() {
  // The last item put its spacing below itself.
  const float height = ImGui::GetCursorPosY() - ImGui::GetStyle().ItemSpacing.y + ui_.px(12);
  ImGui::PopStyleColor();
  ImGui::EndChild();
  if (std::abs(storage_->GetFloat(id_, 0) - height) < 0.5F) return;
  storage_->SetFloat(id_, height);
  ui_.ask_frame();
}

}  // namespace isobar
