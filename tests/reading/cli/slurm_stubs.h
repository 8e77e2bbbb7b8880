#pragma once
// Stand-ins for Slurm's programs on PATH: each notes its arguments, NUL-separated, and what the test wants to
// know of its environment.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/programs.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {

/// In a stand-in for srun: the batch shell, which is above the subshell that waits for srun.
inline const std::string kBatchShell = "$(cut -d' ' -f4 /proc/$PPID/stat)";

class SlurmStubs {
 public:
  SlurmStubs() {
    programs_.script("06_ddp", "exit 0");
    std::filesystem::create_directories(bin());
    for (const char* const name :
         {"sbatch", "srun", "scontrol", "squeue", "scancel", "salloc", "ssh", "module"})
      script(name, "exit 0");
    script("sbatch", "echo 4711");
    std::filesystem::create_directories(work());
  }
  /// `body` runs after the arguments are noted in calls/NAME.
  void script(const std::string& name, const std::string& body) {
    const std::string note = "printf '%s\\0' \"$@\" >>\"" + calls(name).string() + "\"";
    write_file_whole(bin() / name, "#!/bin/sh\n" + note + "\n" + body + "\n");
    chmod((bin() / name).c_str(), 0755);
  }
  ProcessResult submit(std::vector<std::string> words, const ProcessOptions& options = {}) const {
    words.insert(words.begin(), "submit");
    return run(words, options);
  }
  /// Any other command, where jobs are submitted.
  ProcessResult run(const std::vector<std::string>& words, ProcessOptions options = {}) const {
    options.environment.push_back("PATH=" + bin().string() + ":" + std::getenv("PATH"));
    options.folder = work().string();
    return programs_.run(words, options);
  }
  /// Arguments of all calls so far, one after the other.
  std::vector<std::string> arguments(const std::string& name) const {
    std::vector<std::string> out;
    if (!std::filesystem::exists(calls(name))) return out;
    const std::string text = read_text_file(calls(name), 10'000'000);
    for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1)
      out.emplace_back(text.c_str() + at);
    return out;
  }
  /// The same in front of a person, who types `answer`.
  ProcessResult asked(const std::vector<std::string>& words, const std::string& answer) const {
    std::string command = shell_quoted((programs_.folder() / "isobar-cli").string());
    for (const std::string& word : words) command += " " + shell_quoted(word);
    return run_process(
        {"/bin/bash", "-c", "script -qec " + shell_quoted(command) + " /dev/null <<<" + shell_quoted(answer)},
        {.environment = {"PATH=" + bin().string() + ":" + std::getenv("PATH")}, .folder = work().string()});
  }
  /// An embedded data set that is there already.
  void data_set(const std::string& name, const std::string& sheet) const {
    const auto folder = programs_.folder() / "prefix/data" / name;
    std::filesystem::create_directories(folder);
    write_file_whole(folder / "dataset.toml", sheet);
  }
  void forget(const std::string& name) const { std::filesystem::remove(calls(name)); }
  std::filesystem::path bin() const { return programs_.folder() / "slurm"; }
  std::filesystem::path work() const { return programs_.folder() / "work"; }

 private:
  std::filesystem::path calls(const std::string& name) const {
    return programs_.folder() / ("calls-" + name);
  }
  Programs programs_;
};

/// A job of two nodes.
inline const std::vector<std::string> kTwo = {"06_ddp", "--nodes", "2", "--set", "data.root=x"};

inline std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Runs a script as Slurm would, with the stand-ins.
inline ProcessResult run_script(const SlurmStubs& slurm, const std::filesystem::path& script,
                                std::vector<std::string> environment = {}) {
  for (const char* const more : {"SLURM_JOB_ID=4711", "SLURM_JOB_NODELIST=n[1-2]", "ISOBAR_NOT_SET=1"})
    if (std::none_of(environment.begin(), environment.end(), [&](const std::string& own) {
          return own.rfind(std::string(more).substr(0, std::string(more).find('=') + 1), 0) == 0;
        }))
      environment.emplace_back(more);
  environment.push_back("PATH=" + slurm.bin().string() + ":" + std::getenv("PATH"));
  return run_process({"/bin/bash", script.string()},
                     {.environment = environment, .folder = slurm.work().string()});
}

inline bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace isobar
