#pragma once
#include "core/waiting.h"

namespace isobar {

/// Returns once `what()` holds, which other processes or threads see to. For ever: what hangs ends with the
/// test (deadline.h), and no test is in a hurry.
template <class What>
void until(What what) {
  while (!what()) pause_us(2000);
}

}  // namespace isobar
