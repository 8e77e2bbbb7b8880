#include "config/assign.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/anemoi_keys.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace isobar {
namespace {

constexpr const char* kSeeBase = "every key is explained in lessons/base.toml";

std::vector<std::string> names_of(const std::vector<Key>& keys) {
  std::vector<std::string> names;
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

[[noreturn]] void not_allowed(const Key& key, const std::string& value, const TomlEntry& entry,
                              const std::string& allowed) {
  throw Error(fmt::format("{} = {} is not allowed", key.name, printable(value, 80)), entry.origin,
              "it must be " + allowed);
}

struct Assign {
  const TomlValue& value;

  bool operator()(const ChoicePlace& place) const {
    const auto* const name = std::get_if<std::string>(&value);
    const std::optional<unsigned char> index = name == nullptr ? std::nullopt : index_of(place.names, *name);
    if (index) *place.value = *index;
    return index.has_value();
  }
  bool operator()(std::string* place) const { return copy(place); }
  bool operator()(bool* place) const { return copy(place); }
  bool operator()(std::int64_t* place) const { return copy(place); }
  bool operator()(double* place) const {
    if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
      *place = static_cast<double>(*integer);
      return true;
    }
    return copy(place);
  }
  bool operator()(std::array<std::int64_t, 2>* place) const {
    const auto* const list = std::get_if<std::vector<std::int64_t>>(&value);
    if (list == nullptr || list->size() != 2) return false;
    *place = {(*list)[0], (*list)[1]};
    return true;
  }
  bool operator()(std::vector<std::int64_t>* place) const {
    const auto* const texts = std::get_if<std::vector<std::string>>(&value);
    if (texts == nullptr || !texts->empty()) return copy(place);
    place->clear();  // "[]" has no type
    return true;
  }
  template <class Value>
  bool copy(Value* place) const {
    const auto* const same = std::get_if<Value>(&value);
    if (same != nullptr) *place = *same;
    return same != nullptr;
  }
};

/// A string that run.toml can hold and give back; the only ones that cannot are no UTF-8.
void check_text(const std::string& text, const std::string& origin) {
  try {
    parse_toml("value = " + toml_string(text), origin);
    if (clean_utf8(text) == text) return;
  } catch (const Error&) {  // too long
  }
  throw Error("the value is no UTF-8 text, or too long", origin, "run.toml could not hold it");
}

}  // namespace

const Key& find_key(const std::vector<Key>& keys, const TomlEntry& entry) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == entry.key; });
  if (found != keys.end()) return *found;
  const std::string anemoi = key_of_anemoi(entry.key);
  const bool means_lr = is_one_of(entry.key, {"optim.rate", "optim.learning_rate"});
  throw Error("there is no key \"" + printable(entry.key, 80) + "\"", entry.origin,
              anemoi.empty() ? did_you_mean(means_lr ? "optim.lr" : entry.key, names_of(keys), kSeeBase)
                             : "it is " + anemoi + " here");
}

bool put(const KeyPlace& place, const TomlValue& value) { return std::visit(Assign{value}, place); }

void assign(const Key& key, const TomlEntry& entry) {
  if (!put(key.place, entry.value)) {
    const auto* const choice = std::get_if<ChoicePlace>(&key.place);
    const auto* const name = std::get_if<std::string>(&entry.value);
    if (choice != nullptr && name != nullptr) {
      not_allowed(key, toml_string(*name), entry, "one of: " + joined(choice->names));
    }
    const auto* const real = std::get_if<double>(&entry.value);
    const bool whole = real != nullptr && std::holds_alternative<std::int64_t*>(key.place);
    throw Error(key.name + " wants " + type_name(key.place) + ", got " + describe(entry.value), entry.origin,
                whole ? "write it without a point or exponent" : kSeeBase);
  }
  if (const std::string allowed = violation(key); !allowed.empty())
    not_allowed(key, toml_value(key.place), entry, allowed);
}

TomlEntry entry_of_set(const std::string& text, const std::vector<Key>& keys) {
  const std::string origin = "--set " + printable(text, 100);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--set wants key=value", origin, "for example  --set optim.lr=1e-3");
  }
  TomlEntry entry{text.substr(0, equals), text.substr(equals + 1), origin};
  entry.key.erase(entry.key.find_last_not_of(' ') + 1);
  const Key& key = find_key(keys, entry);
  const std::string& written = std::get<std::string>(entry.value);
  const bool wants_string =
      std::holds_alternative<std::string*>(key.place) || std::holds_alternative<ChoicePlace>(key.place);
  const bool quoted = !written.empty() && (written.front() == '"' || written.front() == '\'');
  if (wants_string && !quoted) {
    check_text(written, origin);
    return entry;
  }
  if (written.find('\n') != std::string::npos)
    throw Error("a value of --set is one line", origin, "several keys are several --set");
  try {
    const std::vector<TomlEntry> parsed = parse_toml("value = " + written, origin);
    // An inline table is more than one value, whatever it holds.
    entry.value = parsed.size() == 1 && parsed.front().key == "value" ? parsed.front().value
                                                                      : TomlValue{OtherValue{"a table"}};
  } catch (const Error&) {
    throw Error(
        fmt::format("{} wants {}, got \"{}\"", key.name, type_name(key.place), printable(written, 60)),
        origin, kSeeBase);
  }
  return entry;
}

}  // namespace isobar
