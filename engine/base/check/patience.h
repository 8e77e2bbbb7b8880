#pragma once
// Waiting in a check without a clock: until something happens, or until nothing moves any more.
#include <functional>

namespace isobar {

/// Waits until `happens`. False where it does not and cannot any more: every other thread of this process has
/// been asleep each time in a row of looks. A thread that wants a processor and gets none is not asleep.
bool comes(const std::function<bool()>& happens);

/// Waits until every other thread of this process is asleep.
inline void until_quiet() {
  comes([] { return false; });
}

}  // namespace isobar
