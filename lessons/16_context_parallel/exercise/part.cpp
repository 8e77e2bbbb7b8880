#include "16_context_parallel/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{
      isobar::mine::shares, isobar::mine::longest,     isobar::mine::own_tokens, isobar::mine::padded,
      isobar::mine::gather, isobar::mine::gather_back, isobar::mine::attend,     isobar::mine::is_partial};
  return &part;
}
