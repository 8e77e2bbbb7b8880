#include "05_fusion/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::bias_gelu_forward, isobar::mine::bias_gelu_backward};
  return &part;
}
