#include "core/parse_bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"", 1},
                                                                         {"B", 1},
                                                                         {"kB", 1e3},
                                                                         {"MB", 1e6},
                                                                         {"GB", 1e9},
                                                                         {"TB", 1e12},
                                                                         {"KiB", 0x1p10},
                                                                         {"MiB", 0x1p20},
                                                                         {"GiB", 0x1p30},
                                                                         {"TiB", 0x1p40}}};

}  // namespace

std::uint64_t parse_bytes(std::string_view text, const std::string& where) {
  double number = 0;
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [name, factor] : kUnits) {
    const double bytes = number * factor;
    if (failure == std::errc() && unit == name && bytes >= 1 && bytes < 0x1p63)
      return static_cast<std::uint64_t>(std::llround(bytes));
  }
  throw Error("\"" + printable(text, 40) + "\" is no amount of memory", where,
              "such as 40GiB, 1.5GB or 800MiB");
}

}  // namespace isobar
