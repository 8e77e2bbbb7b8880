#include "config/toml_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

template <class Value>
const Value& value_of(const TomlEntry& entry, const char* wanted) {
  const auto* const value = std::get_if<Value>(&entry.value);
  if (value == nullptr) refuse_value(entry, wanted);
  return *value;
}

}  // namespace

std::string see_another(const std::string& origin) {
  const std::string file = std::filesystem::path(origin.substr(0, origin.find(".toml") + 5)).filename();
  return "the " + file + " of another lesson shows how it is written";
}

void refuse_value(const TomlEntry& entry, const std::string& wanted) {
  throw Error(printable(entry.key, 80) + " wants " + wanted + ", got " + describe(entry.value), entry.origin,
              see_another(entry.origin));
}

void refuse_key(const TomlEntry& entry, const std::string& of_what, const std::vector<std::string>& known) {
  throw Error(of_what + " has no key \"" + printable(entry.key, 80) + "\"", entry.origin,
              did_you_mean(entry.key, known, "known: " + joined(known)));
}

std::string text_in(const TomlEntry& entry, bool may_be_empty) {
  std::string text = value_of<std::string>(entry, "a string that is not empty");
  if (text.empty() && !may_be_empty) refuse_value(entry, "a string that is not empty");
  return text;
}

std::vector<std::string> texts_in(const TomlEntry& entry) {
  return value_of<std::vector<std::string>>(entry, "a list of strings");
}

std::int64_t integer_in(const TomlEntry& entry, std::int64_t least, std::int64_t most) {
  const auto* const value = std::get_if<std::int64_t>(&entry.value);
  if (value == nullptr || *value < least || *value > most)
    refuse_value(entry, fmt::format("an integer from {} to {}", least, most));
  return *value;
}

double positive_in(const TomlEntry& entry) {
  const auto* const whole = std::get_if<std::int64_t>(&entry.value);
  const auto* const broken = std::get_if<double>(&entry.value);
  const double value = whole != nullptr ? static_cast<double>(*whole) : broken != nullptr ? *broken : 0;
  if (!(value > 0) || !std::isfinite(value)) refuse_value(entry, "a number above 0");
  return value;
}

bool flag_in(const TomlEntry& entry) { return value_of<bool>(entry, "true or false"); }

std::string one_of_in(const TomlEntry& entry, const std::vector<std::string>& names) {
  std::string text = text_in(entry);
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  throw Error(printable(entry.key, 80) + " cannot be \"" + printable(text, 80) + "\"", entry.origin,
              did_you_mean(text, names, "it is one of: " + joined(names)));
}

std::string path_below(const TomlEntry& entry, const std::string& wanted) {
  std::string text = text_in(entry);
  const std::filesystem::path path = text;
  if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    refuse_value(entry, wanted);
  return text;
}

std::vector<TomlTable> tables_in(const TomlEntry& entry) {
  const auto* const none = std::get_if<std::vector<std::string>>(&entry.value);
  if (none != nullptr && none->empty()) return {};
  return value_of<std::vector<TomlTable>>(entry, "tables");
}

}  // namespace isobar
