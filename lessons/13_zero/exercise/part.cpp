#include "13_zero/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::padded_length, isobar::mine::share_of,
                                           isobar::mine::owner_of,      isobar::mine::owned_parts,
                                           isobar::mine::mean_shares,   isobar::mine::gradient_length,
                                           isobar::mine::sharded_step};
  return &part;
}
