#include "data/index_rule.h"

namespace isobar {

SamplePlace place_sample(std::int64_t i, std::int64_t records, std::int64_t dt, std::int64_t leads) {
  std::int64_t input = i % records % (records - leads * dt);
  if (input < dt) input += dt;
  return {i / records, input};
}

}  // namespace isobar
