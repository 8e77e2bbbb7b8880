#include "00_sgd/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::take_step, isobar::mine::share_start,
                                           isobar::mine::average, isobar::mine::train_rank};
  return &part;
}
