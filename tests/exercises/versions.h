#pragma once
// All versions of an exercise in one program, and what each is to be told.
#include <string>
#include <vector>

namespace isobar {

struct Version {
  std::string name;    ///< "skeleton", "solution", or that of a mistake
  const void* part;    ///< an exercise::Part; null = another program looks at it
  std::string check;   ///< the first that does not hold; "" = all hold
  std::string says;    ///< a piece of the sentence that no other version is told
  std::string source;  ///< end of the path by which its lines are known
  std::string finds;   ///< the [[mistake]] of exercise.toml whose hints it gets; "" = those of its check
};

/// What each [[mistake]] of exercise.toml is recognised by, in order.
std::vector<std::string> finds_of_mistakes();

std::vector<Version> versions();

}  // namespace isobar
