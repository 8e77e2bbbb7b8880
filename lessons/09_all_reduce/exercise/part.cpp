#include "09_all_reduce/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::chunk_of, isobar::mine::owned_chunk,
                                           isobar::mine::reduce_scatter, isobar::mine::all_gather};
  return &part;
}
