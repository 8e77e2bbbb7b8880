#pragma once
// The units of numbers that questions ask for, and what may be typed for them.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct Unit {
  const char* name;      ///< "ms"
  const char* measures;  ///< "a time": only what measures the same is converted
  double scale;          ///< in the smallest unit: 1000 for ms beside us
  bool is_asked;         ///< questions may ask for it; others may only be typed
  bool is_whole;         ///< it is counted in whole numbers
  const char* also;      ///< other spellings, separated by |
};

/// Names that a question may ask for.
std::vector<std::string> asked_units();

/// By its name or another spelling of it; null: there is none.
const Unit* unit_named(std::string_view typed);

/// "24.5 ms", "1,024 samples", "1.8 times", "35 %".
std::string with_unit(double number, const std::string& unit);

/// Four digits at most, without trailing zeros; whole numbers as they are: "0.0123", "24.5", "23,832,960".
std::string short_number(double number);

/// The number in `unit` that a text says: "1,024", "1.5e3", "3/4", "24 ms", "12 %". Error (exit code 2,
/// `where` as its place) for anything else, a unit that measures something else, what no such quantity can
/// be (negative, half a GPU, a share above 100 %), and a fraction that may be a share or a percentage.
double parse_quantity(const std::string& text, const std::string& unit, const std::string& where);

}  // namespace isobar
