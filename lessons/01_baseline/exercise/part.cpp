#include "01_baseline/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::zero_gradients, isobar::mine::relative_l2,
                                           isobar::mine::adam_step};
  return &part;
}
