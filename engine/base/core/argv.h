#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `words` as exec and posix_spawn take them: pointers into them, and a null one at the end.
inline std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace isobar
