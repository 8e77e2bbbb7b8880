#include "core/pattern.h"

#include <regex.h>

#include <memory>
#include <stdexcept>

namespace isobar {

std::vector<std::vector<std::string>> matches_of(const std::string& text, const std::string& pattern) {
  regex_t compiled;
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED) != 0)
    throw std::invalid_argument("no regular expression: " + pattern);
  const std::unique_ptr<regex_t, decltype(&regfree)> freed(&compiled, &regfree);
  std::vector<regmatch_t> places(compiled.re_nsub + 1);
  std::vector<std::vector<std::string>> out;
  for (auto at = 0, end = static_cast<regoff_t>(text.size()); at <= end;) {
    places.front() = {at, end};
    if (regexec(&compiled, text.c_str(), places.size(), places.data(), REG_STARTEND) != 0) break;
    std::vector<std::string>& match = out.emplace_back();
    for (const auto& [begin, stop] : places)
      match.push_back(begin < 0 ? "" : std::string(text.data() + begin, text.data() + stop));
    at = places.front().rm_eo + (places.front().rm_eo == places.front().rm_so ? 1 : 0);
  }
  return out;
}

}  // namespace isobar
