#pragma once
// What an Error said, for tests that read it as its reader would.
#include <functional>
#include <string>

#include "core/error.h"
#include "support/says.h"

namespace isobar {

/// The text of the Error that `body` throws; fails the test when it throws none or has another exit code.
inline std::string error_of(const std::function<void()>& body, Exit code = Exit::bad_input) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.text();
  }
  FAIL("no Error was thrown");
  return "";
}

/// The same of an Error that is no fault of input or configuration (exit code 1).
inline std::string failure_of(const std::function<void()>& body) { return error_of(body, Exit::failed); }

}  // namespace isobar
