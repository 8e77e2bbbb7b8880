// Alone, since each file that includes <regex> is compiled for two seconds more.
#include "support/matches.h"

#include <regex>

namespace isobar {

std::vector<std::vector<std::string>> matches_of(const std::string& text, const std::string& pattern) {
  const std::regex compiled(pattern);
  std::vector<std::vector<std::string>> out;
  for (std::sregex_iterator at(text.begin(), text.end(), compiled), end; at != end; ++at)
    out.emplace_back(at->begin(), at->end());
  return out;
}

}  // namespace isobar
