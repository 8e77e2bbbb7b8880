#include "07_tensor_parallel/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::cut_mlp, isobar::mine::enter, isobar::mine::leave,
                                           isobar::mine::parallel_mlp};
  return &part;
}
