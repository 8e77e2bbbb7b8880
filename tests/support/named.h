#pragma once
// A value by its name, for tests and workers that are told it in words; a name that there is not throws.
#include "core/choice.h"

namespace isobar::testing {

template <Choice Enum>
Enum named(std::string_view name) {
  return choice_named<Enum>(name).value();
}

}  // namespace isobar::testing
