#include "analyse/run_keys.h"

#include <algorithm>
#include <map>
#include <set>

namespace isobar {
namespace {

constexpr std::string_view kEnvironment = "environment.";

bool is_of_the_moment(std::string_view key) {
  return key == "environment.started" || key == "environment.command";
}

}  // namespace

bool KeyRow::is_environment() const { return key.rfind(kEnvironment, 0) == 0; }

bool KeyRow::is_label() const { return key == "run.group" || key == "run.point" || key == "run.repeat"; }

std::vector<KeyRow> key_rows(const std::vector<const ConfigText*>& runs) {
  std::map<std::string, std::vector<std::string>> table;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [key, value] : *runs[i]) {
      if (is_of_the_moment(key)) continue;
      auto& values = table[key];
      values.resize(runs.size());
      values[i] = value;
    }
  }
  std::vector<KeyRow> out;
  for (auto& [key, values] : table) {
    KeyRow row{key, values, false, false};
    std::set<std::string> known, given;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]->empty()) known.insert(values[i]);
      if (!values[i].empty()) given.insert(values[i]);
    }
    row.differs = known.size() > 1;
    row.two_values = given.size() > 1;
    out.push_back(std::move(row));
  }
  const auto rank = [](const KeyRow& row) { return (row.differs ? 0 : 2) + (row.is_environment() ? 1 : 0); };
  std::stable_sort(out.begin(), out.end(),
                   [&](const KeyRow& a, const KeyRow& b) { return rank(a) < rank(b); });
  return out;
}

bool is_repeat(const ConfigText& one, const ConfigText& other) {
  if (one.empty() || other.empty()) return false;
  const std::vector<KeyRow> rows = key_rows({&one, &other});
  return std::none_of(rows.begin(), rows.end(),
                      [](const KeyRow& row) { return row.differs && !row.is_label(); });
}

}  // namespace isobar
