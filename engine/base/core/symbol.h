#pragma once
// Names of functions as a person reads them.
#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace isobar {

/// "isobar::now_us()" of "_ZN6isobar6now_usEv"; what is no such name comes back as it is.
inline std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                     std::free);
  return status == 0 ? plain.get() : symbol;
}

}  // namespace isobar
