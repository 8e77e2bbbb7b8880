#pragma once
// In a lesson's program that trains with a learner's part: where that is.

namespace isobar {

/// From the library that $ISOBAR_PART names, loaded once: what its `isobar_part` gives, an exercise::Part of
/// that lesson. std::runtime_error where there is none.
const void* own_part();

template <class Part>
const Part& own_part_as() {
  return *static_cast<const Part*>(own_part());
}

}  // namespace isobar
