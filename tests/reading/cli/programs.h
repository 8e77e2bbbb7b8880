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

/// A stand-in for a lesson that leaves a run, as shell.
struct LeavesRun {
  std::string arguments = "";  ///< cases beside --run-dir: "run.repeat=*) repeat=${1#*=} ;;"
  std::string then = "";       ///< what follows from them: $t is the time of a step in us
  std::string config = "";     ///< of run.toml, for printf; "" = there is none
  std::string run;             ///< members of the line "run" behind its schema
  int steps = 7;
  int steps_per_epoch = 8;
  std::string each = "";  ///< before step $n
  std::string step;       ///< members of it behind its number
  std::string last = "";  ///< before the last line
  std::string rank = "0";

  std::string script() const {
    return "while [ $# -gt 0 ]; do case $1 in --run-dir) run=$2 ;; " + arguments + " esac; shift; done\n" +
           then + "\nmkdir -p \"$run\"\n" +
           (config.empty() ? "" : "printf '" + config + "' >\"$run/run.toml\"\n") +
           "{\necho '{\"kind\":\"run\",\"schema\":1," + run +
           "}'\necho '{\"kind\":\"note\",\"steps_per_epoch\":" + std::to_string(steps_per_epoch) +
           "}'\nn=0\nwhile [ $n -lt " + std::to_string(steps) + " ]; do\n" + each +
           "\necho '{\"kind\":\"step\",\"step\":'$n'," + step + "}'\nn=$((n + 1))\ndone\n" + last +
           "\necho '{\"kind\":\"end\",\"status\":\"done\",\"reason\":\"\"}'\n} >\"$run/rank-000" + rank +
           ".jsonl\"";
  }
};

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
