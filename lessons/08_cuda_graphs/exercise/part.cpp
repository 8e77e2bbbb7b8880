#include "08_cuda_graphs/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::make_recorded_step};
  return &part;
}
