#pragma once
// Where the plots of a view stand: in rows, as many beside each other as can be read.
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

}  // namespace isobar
