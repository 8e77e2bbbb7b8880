#pragma once
// Programs with a stand-in for one lesson that notes how it was called, for the commands that measure.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/programs.h"

namespace isobar {

/// Programs whose lessons note each call as a line "<process> <program> <arguments>", and do `then`.
class Noting {
 public:
  Noting() = default;
  explicit Noting(const std::string& then, const std::string& lesson = "01_baseline") {
    script(lesson, then);
  }
  void script(const std::string& lesson, const std::string& then) {
    programs_.script(lesson, "echo \"$$ ${0##*/} $*\" >>\"" + calls_file().string() + "\"; " + then);
  }
  ProcessResult run(const std::vector<std::string>& words, ProcessOptions options = {}) const {
    std::filesystem::create_directories(work());
    options.folder = work().string();
    return programs_.run(words, options);
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> out;
    if (!std::filesystem::exists(calls_file())) return out;
    std::istringstream text(read_text_file(calls_file(), 1 << 20));
    for (std::string line; std::getline(text, line);) out.push_back(line);
    return out;
  }
  std::filesystem::path work() const { return programs_.folder() / "work"; }
  std::size_t runs() const {
    if (!std::filesystem::exists(work() / "runs")) return 0;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(work() / "runs"), {}));
  }
  Programs& programs() { return programs_; }

 private:
  std::filesystem::path calls_file() const { return programs_.folder() / "calls"; }
  Programs programs_;
};

inline const std::vector<std::string> kData = {"--set", "data.root=x"};  // no embedded data is made for it

inline std::vector<std::string> with_data(std::vector<std::string> words) {
  words.insert(words.end(), kData.begin(), kData.end());
  return words;
}

}  // namespace isobar
