#include "record/left_out.h"

#include "core/text.h"

namespace isobar {

void LeftOut::add(const std::string& what, const std::string& why, std::int64_t count) {
  if (count > 0) counts_[{what, why}] += count;
}

void LeftOut::add(const LeftOut& other) {
  for (const auto& [name, count] : other.counts_) counts_[name] += count;
}

std::int64_t LeftOut::count(const std::string& what) const {
  std::int64_t out = 0;
  for (const auto& [name, count] : counts_) {
    if (what.empty() || name.first == what) out += count;
  }
  return out;
}

std::vector<LeftOut::Entry> LeftOut::entries() const {
  std::vector<Entry> out;
  for (const auto& [name, count] : counts_) out.push_back({name.first, name.second, count});
  return out;
}

std::vector<std::string> LeftOut::sentences() const {
  std::vector<std::string> out;
  for (const Entry& one : entries()) out.push_back(counted(one.count, one.what) + " left out: " + one.why);
  return out;
}

}  // namespace isobar
