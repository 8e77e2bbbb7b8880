#pragma once
// The one list of configuration keys: name, place in Config, and which values are allowed.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"

namespace isobar {

/// An enum of choices, of whatever type: a byte, which may alias it, and the names of its values.
struct ChoicePlace {
  unsigned char* value;
  Choices names;

  unsigned char operator*() const { return *value; }
  const char* name() const { return names[*value]; }
};

using KeyPlace = std::variant<std::string*, bool*, std::int64_t*, double*, std::array<std::int64_t, 2>*,
                              std::vector<std::int64_t>*, ChoicePlace>;

struct Key {
  std::string name;
  KeyPlace place;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_least = false;  ///< `least` itself is not allowed
  bool open_most = false;   ///< `most` itself is not allowed
};

/// The keys of `config`, bound to it, in the order of base.toml.
std::vector<Key> keys_of(Config& config);

/// Equal values at two places of the same type.
bool same_value(const KeyPlace& one, const KeyPlace& other);

/// The value as TOML text.
std::string toml_value(const KeyPlace& place);

/// "a string", "an integer", ... for messages.
std::string type_name(const KeyPlace& place);

/// "" when the value at `key.place` is allowed, else what would be.
std::string violation(const Key& key);

}  // namespace isobar
