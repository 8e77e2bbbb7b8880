#pragma once
// A folder of programs with the real launcher and stand-ins that say how they were called.
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace isobar {

class Programs {
 public:
  explicit Programs(int lesson_code = 0) {
    std::filesystem::copy(ISOBAR_CLI, folder_ / "isobar-cli");
    script("01_baseline", "printf 'lesson'; printf ' <%s>' \"$@\"; exit " + std::to_string(lesson_code));
    script("make_fields", "printf 'make_fields'; printf ' <%s>' \"$@\"; exit 0");
  }
  void script(const std::string& name, const std::string& body) {
    write_file_whole(folder_ / name, "#!/bin/sh\n" + body + "\n");
    chmod((folder_ / name).c_str(), 0755);
  }
  ProcessResult run(std::vector<std::string> words, ProcessOptions options = {}) const {
    words.insert(words.begin(), (folder_ / "isobar-cli").string());
    options.environment.push_back("ISOBAR_PREFIX=" + (folder_ / "prefix").string());
    return run_process(words, options);
  }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

}  // namespace isobar
