#pragma once
// A ground of its own for what belongs together, as high as what it holds.
#include "widgets/ui.h"

namespace isobar {

/// From its construction to its end all is drawn onto the card. Its height is that of the frame before.
class CardBox {
 public:
  CardBox(Ui& ui, std::string_view name, Colour ground);
  ~CardBox();
  CardBox(const CardBox&) = delete;
  CardBox& operator=(const CardBox&) = delete;

 private:
  Ui& ui_;
  ImGuiID id_;
  ImGuiStorage* storage_;
};

}  // namespace isobar
