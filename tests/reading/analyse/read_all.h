#pragma once
#include <chrono>

#include "analyse/run_store.h"
#include "support/catch.h"

namespace isobar {

/// Lets the store look until it has read all that there is.
inline void read_all(RunStore& store) {
  for (int i = 0; i < 400; ++i) {
    store.update(std::chrono::milliseconds(50));
    if (store.is_idle()) return;
  }
  FAIL("the store does not come to rest");
}

}  // namespace isobar
