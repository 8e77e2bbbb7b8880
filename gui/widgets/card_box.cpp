#include "widgets/card_box.h"

#include <cmath>

namespace isobar {

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
