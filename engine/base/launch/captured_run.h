#pragma once
// A program that is run without the terminal, with its output captured.
#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

struct CapturedRun {
  int code = 0;  ///< its exit code, 128 + signal for one that was killed
  std::string out;
  std::string errors;
  bool was_late = false;  ///< it took longer than `longest_us`, and was killed
  int asked = 0;          ///< SIGINT or SIGTERM that came here meanwhile, for which it was killed; 0 = none
};

/// The file of a program that is named without one, as $PATH finds it; "" where it does not.
std::string find_program(const std::string& name);

/// `words` begins with the path of the program. At most the last `most_bytes` of each are kept. Error when it
/// cannot be started.
CapturedRun run_quietly(const std::vector<std::string>& words, std::int64_t longest_us,
                        std::int64_t most_bytes);

}  // namespace isobar
