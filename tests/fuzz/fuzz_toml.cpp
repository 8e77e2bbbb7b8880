// A TOML text of any bytes: as a configuration, as a lesson's sheet, and each line of it as a --set.
#include <algorithm>

#include "config/assign.h"
#include "config/config.h"
#include "config/lesson.h"
#include "core/error.h"
#include "foreign/toml_limits.h"
#include "fuzz/checks.h"

using namespace isobar;

namespace {

constexpr std::size_t kMostSets = 8;

void check_error(const Error& error) {
  require(error.code() == Exit::bad_input && !error.where().empty() && !error.hint().empty());
  require(error.text().size() < 4096);
  check_text(error.what());
  check_text(error.where());
}

/// The place is one of the text.
void check_origin(const std::string& origin, std::string_view text) {
  const std::size_t colon = origin.find(':', 5);
  require(origin.rfind("fuzz:", 0) == 0 && colon != std::string::npos);
  const long line = std::stol(origin.substr(5));
  require(line >= 1 && line <= 1 + std::count(text.begin(), text.end(), '\n'));
  require(std::stol(origin.substr(colon + 1)) >= 1);
}

/// A string that was read is written as one that reads the same.
void check_string(const std::string& value) {
  const std::string text = "a = " + toml_string(value);
  if (text.size() > kMostTomlBytes) return;
  const std::vector<TomlEntry> again = parse_toml(text, "again");
  require(again.size() == 1 && std::get<std::string>(again[0].value) == value);
}

void check_entries(const std::vector<TomlEntry>& entries, std::string_view text) {
  require(entries.size() <= kMostTomlKeys);
  for (const TomlEntry& entry : entries) {
    require(entry.key.size() <= kMostTomlKeyBytes);
    check_origin(entry.origin, text);
    check_text(describe(entry.value));
    plain_text(entry.value);
    if (const auto* const value = std::get_if<std::string>(&entry.value)) check_string(*value);
  }
}

/// Takes what can be taken; the configuration then is one that is written and read the same.
void check_config(const std::vector<TomlEntry>& entries) {
  Config config;
  const std::vector<Key> keys = keys_of(config);
  for (const TomlEntry& entry : entries) {
    try {
      assign(find_key(keys, entry), entry);
    } catch (const Error& error) {
      check_error(error);
      return;
    }
  }
  const std::string written = to_toml(config);
  if (written.size() > kMostTomlBytes) return;
  Config again;
  const std::vector<Key> places = keys_of(again);
  for (const TomlEntry& entry : parse_toml(written, "again")) assign(find_key(places, entry), entry);
  for (std::size_t i = 0; i < keys.size(); ++i) require(same_value(keys[i].place, places[i].place));
  try {
    validate(config, {});
  } catch (const Error& error) {
    check_error(error);
  }
}

void check_set(const std::string& line, const std::vector<Key>& keys) {
  try {
    const TomlEntry entry = entry_of_set(line, keys);
    const Key& key = find_key(keys, entry);
    assign(key, entry);
    require(violation(key).empty());
  } catch (const Error& error) {
    check_error(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const std::vector<TomlEntry> entries = parse_toml(text, "fuzz");
    check_entries(entries, text);
    check_config(entries);
    parse_lesson(text, "01_fuzz", "fuzz");
  } catch (const Error& error) {
    check_error(error);
  }
  Config config;
  const std::vector<Key> keys = keys_of(config);
  std::size_t begin = 0;
  for (std::size_t n = 0; n < kMostSets && begin < text.size(); ++n) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    check_set(text.substr(begin, end - begin), keys);
    begin = end + 1;
  }
  return 0;
}
