#pragma once
// One entry of a file or of --set into the place of its key. Errors (exit code 2) name the entry's origin.
#include <string>
#include <vector>

#include "config/keys.h"
#include "config/toml_text.h"

namespace isobar {

/// The key of this name; an unknown one is an Error with the nearest that there is.
const Key& find_key(const std::vector<Key>& keys, const TomlEntry& entry);

/// Puts the value there; false, and nothing done, where it is of another type or no choice.
bool put(const KeyPlace& place, const TomlValue& value);

/// The value into its place; another type or a value out of range is an Error with what is wanted.
void assign(const Key& key, const TomlEntry& entry);

/// One "key=value" of the command line. A value that is no TOML is taken as a string where the key wants one.
TomlEntry entry_of_set(const std::string& text, const std::vector<Key>& keys);

}  // namespace isobar
