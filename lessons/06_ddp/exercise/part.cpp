#include "06_ddp/exercise/part.h"

extern "C" const void* isobar_part() {
  static const isobar::exercise::Part part{isobar::mine::bucket_plan, isobar::mine::make_bucket_sender};
  return &part;
}
