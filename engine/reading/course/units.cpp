#include "course/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr std::array kUnits = {
    Unit{"us", "a time", 1, true, false, "µs|μs|microsecond|microseconds"},
    Unit{"ms", "a time", 1e3, true, false, "millisecond|milliseconds|msec"},
    Unit{"s", "a time", 1e6, true, false, "sec|second|seconds"},
    Unit{"min", "a time", 6e7, false, false, "minute|minutes"},
    Unit{"%", "a share", 1, true, false, "percent|per cent"},
    Unit{"x", "a factor", 1, true, false, "times|×|fold"},
    Unit{"lr", "a learning rate", 1, true, false, "learning rate"},
    Unit{"samples/s", "a throughput", 1, true, false, "sample/s|samples per second|samples a second"},
    Unit{"MB/s", "a data rate", 1, true, false, "mb/s"},
    Unit{"GB/s", "a data rate", 1e3, true, false, "gb/s"},
    Unit{"Gb/s", "a data rate", 125, true, false, "Gbit/s|gbit/s"},
    Unit{"B", "a size", 1, false, false, "byte|bytes"},
    Unit{"kB", "a size", 1e3, false, false, "kb|KB"},
    Unit{"KiB", "a size", 1024.0, false, false, "kib|kiB"},
    Unit{"MB", "a size", 1e6, true, false, "mb"},
    Unit{"MiB", "a size", 1024.0 * 1024, false, false, "mib"},
    Unit{"GB", "a size", 1e9, true, false, "gb"},
    Unit{"GiB", "a size", kGiB, true, false, "gib"},
    Unit{"TB", "a size", 1e12, false, false, "tb"},
    Unit{"steps", "a number of steps", 1, true, true, "step"},
    Unit{"epochs", "a number of epochs", 1, true, false, "epoch"},
    Unit{"workers", "a number of workers", 1, true, true, "worker"},
    Unit{"samples", "a number of samples", 1, true, true, "sample"},
    Unit{"GPUs", "a number of GPUs", 1, true, true, "GPU|gpu|gpus"},
    Unit{"devices", "a number of devices", 1, true, true, "device"},
    Unit{"ranks", "a number of ranks", 1, true, true, "rank"},
    Unit{"tokens", "a number of tokens", 1, true, true, "token"},
    Unit{"members", "a number of members", 1, true, true, "member"},
    Unit{"messages", "a number of messages", 1, true, true, "message"},
    Unit{"calls", "a number of calls", 1, true, true, "call"},
    Unit{"micro-batches", "a number of micro-batches", 1, true, true, "micro-batch|microbatches|microbatch"},
    Unit{"K", "a temperature", 1, true, false, "kelvin"},
    Unit{"GFLOP", "an amount of arithmetic", 1, true, false, "gflop|GFLOPs"},
    Unit{"TFLOP", "an amount of arithmetic", 1e3, false, false, "tflop|TFLOPs"},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "1,024,000.5" without its separators; a comma that separates no thousands is refused.
std::string without_separators(const std::string& number, const std::string& where) {
  const std::size_t end = std::min(number.find_first_of(".eE"), number.size());
  const std::vector<std::string> groups = split(number.substr(0, end), ',');
  bool separates = number.find(',', end) == std::string::npos;
  if (groups.size() > 1) separates = separates && groups[0].size() <= 3 && !groups[0].starts_with('0');
  for (std::size_t i = 0; groups.size() > 1 && i < groups.size(); ++i)
    separates = separates && (i == 0 ? !groups[0].empty() : groups[i].size() == 3);
  if (separates) return joined(groups, "") + number.substr(end);
  throw Error("the comma in " + printable(number, 40) + " is not a thousands separator", where,
              "use a decimal point: 1.5; thousands may be written 1,024");
}

struct Written {
  double number = 0;
  std::string unit;
  bool is_fraction = false;  ///< "3/4"
};

[[noreturn]] void no_number(std::string_view text, const std::string& unit, const std::string& where) {
  throw Error("\"" + printable(text, 60) + "\" is not a number", where,
              fmt::format("a number in {} is asked for, such as 12 or 1.5e3", unit));
}

double finite_number(const std::string& digits, std::string_view text, const std::string& unit,
                     const std::string& where) {
  const std::string plain = without_separators(digits, where);
  const bool begins = !plain.empty() && (is_digit(plain[0]) || (plain[0] == '.' && plain.size() > 1));
  const std::optional<double> number = begins ? number_of<double>(plain) : std::nullopt;
  if (!number && begins && plain.find_first_not_of("0123456789.eE+-") == std::string::npos &&
      plain.find_first_of("eE") != std::string::npos) {
    throw Error("the number " + printable(text, 60) + " is too large", where,
                "is the exponent right? a number in " + unit + " is asked for");
  }
  if (!number || !std::isfinite(*number)) no_number(text, unit, where);
  return *number;
}

/// Bytes of the digits, separators, point and exponent that begin a text.
std::size_t number_length(std::string_view text) {
  std::size_t at = text.find_first_not_of("0123456789.,");
  if (at == std::string_view::npos) return text.size();
  if (at == 0 || (text[at] != 'e' && text[at] != 'E')) return at;
  std::size_t exponent = at + 1;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
  if (exponent == text.size() || !is_digit(text[exponent])) return at;
  at = text.find_first_not_of("0123456789", exponent);
  return at == std::string_view::npos ? text.size() : at;
}

Written written_in(std::string_view text, const std::string& unit, const std::string& where) {
  const std::string_view whole = text;
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text = trimmed(text.substr(1));
  Written out;
  const auto take = [&] {
    const std::size_t length = number_length(text);
    if (length == 0) no_number(whole, unit, where);
    const double number = finite_number(std::string(text.substr(0, length)), whole, unit, where);
    text = trimmed(text.substr(length));
    return number;
  };
  out.number = take();
  if (text.starts_with('/') && text.size() > 1 && is_digit(text[1])) {
    text.remove_prefix(1);
    const double below = take();
    if (below == 0)
      throw Error("nothing can be divided by 0", where, "a number in " + unit + " is asked for");
    out.number /= below;
    out.is_fraction = true;
  }
  if (is_negative) out.number = -out.number;
  out.unit = text;
  return out;
}

/// "size" of "a size".
std::string without_article(const std::string& measures) { return measures.substr(measures.find(' ') + 1); }

const Unit& typed_unit(const Written& written, const Unit& asked, const std::string& where) {
  if (written.unit.empty()) return asked;
  const Unit* const typed = unit_named(written.unit);
  if (typed == nullptr) {
    std::vector<std::string> names;
    for (const Unit& unit : kUnits) {
      if (std::string_view(unit.measures) == asked.measures) names.emplace_back(unit.name);
    }
    const bool is_bits = written.unit.ends_with("b/s") || written.unit.ends_with("bit/s");
    throw Error("\"" + printable(written.unit, 40) + "\" is not a unit that fits here", where,
                (is_bits ? "eight bits are a byte; " : "") + std::string("known here: ") + joined(names));
  }
  if (std::string_view(typed->measures) != asked.measures) {
    throw Error(fmt::format("{} is a unit of {}; {} is asked for", typed->name,
                            without_article(typed->measures), asked.measures),
                where, fmt::format("give it in {}", asked.name));
  }
  return *typed;
}

void check_possible(double number, const Unit& unit, const std::string& where) {
  const std::string said = with_unit(number, unit.name);
  if (!std::isfinite(number))
    throw Error("the number is too large", where, fmt::format("give it in {}", unit.name));
  const std::string kind = unit.measures;
  if (number < 0) throw Error(said + ": " + kind + " cannot be negative", where, "0 or more");
  if (unit.is_whole && number != std::floor(number))
    throw Error(said + ": " + kind + " is a whole number", where, "give the nearest whole one");
  if (kind == "a share" && number > 100)
    throw Error(said + ": a share cannot be above 100 %", where, "from 0 to 100");
  if (kind == "a factor" && number == 0)
    throw Error("a factor cannot be 0", where, "1 means the same, 2 twice as much, 0.5 half");
}

}  // namespace

std::vector<std::string> asked_units() {
  std::vector<std::string> out;
  for (const Unit& unit : kUnits) {
    if (unit.is_asked) out.emplace_back(unit.name);
  }
  return out;
}

const Unit* unit_named(std::string_view typed) {
  for (const Unit& unit : kUnits) {
    if (typed == unit.name) return &unit;
    for (const std::string& other : split(unit.also, '|')) {
      if (typed == other) return &unit;
    }
  }
  return nullptr;
}

std::string short_number(double number) {
  if (!std::isfinite(number)) return "?";
  if (std::abs(number) >= 1000 && std::abs(number) < 1e15) return human_count(std::llround(number));
  if (number == std::floor(number) && std::abs(number) < 1000) return fmt::format("{:.0f}", number);
  return fmt::format("{:.4g}", number);
}

std::string with_unit(double number, const std::string& unit) {
  if (unit == "x") return short_number(number) + " times";
  if (unit == "lr") return short_number(number);
  const Unit* const known = unit_named(unit);
  const bool is_one = number == 1 && known != nullptr && unit.ends_with('s') &&
                      std::string_view(known->measures).starts_with("a number");
  return short_number(number) + " " + (is_one ? unit.substr(0, unit.size() - 1) : unit);
}

double parse_quantity(const std::string& text, const std::string& unit, const std::string& where) {
  const Unit* const asked = unit_named(unit);
  if (asked == nullptr) throw Error("no unit " + unit, where, "units: " + joined(asked_units()));
  const Written written = written_in(trimmed(text), unit, where);
  const Unit& typed = typed_unit(written, *asked, where);
  double number = written.number * typed.scale / asked->scale;
  if (unit == "%" && written.unit.empty() && written.is_fraction) {
    number *= 100;
  } else if (unit == "%" && written.unit.empty() && number > 0 && number < 1) {
    const std::string small = short_number(number);
    const std::string large = short_number(number * 100);
    throw Error(fmt::format("do you mean {} % or {} %?", small, large), where,
                fmt::format("type {} % or {} %", small, large));
  }
  check_possible(number, *asked, where);
  return number;
}

}  // namespace isobar
