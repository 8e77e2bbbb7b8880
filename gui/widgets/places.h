#pragma once
// Where things stand: plots in rows, as many beside each other as can be read, and cards that are as high as
// what they hold.
#include "widgets/ui.h"

namespace isobar {

inline constexpr float kCellGap = 8;

/// How many plots a row of this width has.
int cell_columns(const Ui& ui, float width);

/// One cell after the other, from the cursor on. Those of the last row share its width.
class Cells {
 public:
  /// `below` pixels of the room are kept for what follows.
  Cells(Ui& ui, int count, float below);
  /// Brings the cursor to the next one: its size.
  ImVec2 next();

 private:
  Ui& ui_;
  int count_;
  ImVec2 room_;
  int columns_ = 1;
  int index_ = 0;
  float height_ = 0;
};

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
