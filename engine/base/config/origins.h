#pragma once
// Where settings come from, for errors about several of them. For config/*.cpp.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>

#include "core/error.h"

namespace isobar {

using Origins = std::map<std::string, std::string>;

/// Where the first of `keys` that somebody set was set; base.toml when none was.
inline std::string origin_of(const Origins& origins, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto found = origins.find(key); found != origins.end()) return found->second + " (" + key + ")";
  }
  return std::string("lessons/base.toml (") + *keys.begin() + ")";
}

/// Refuses a setting that does not go with another one.
inline auto refuser(const Origins& origins) {
  return [&origins](const char* key, const char* other, const std::string& what, const std::string& hint) {
    throw Error(what, origin_of(origins, {key, other}), hint);
  };
}

inline std::int64_t nearest_multiple(std::int64_t value, std::int64_t of) {
  const std::int64_t below = value / of * of;
  return below > 0 ? below : of;
}

}  // namespace isobar
