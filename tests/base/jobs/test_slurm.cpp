// Slurm's programs that hang: each is waited for so long and no longer, and what may have happened is said.
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "core/files.h"
#include "jobs/job_script.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// Programs that note their process and never end, in front of PATH.
class HangingPrograms {
 public:
  HangingPrograms() {
    for (const char* const name : {"sbatch", "squeue", "scancel", "scontrol"}) {
      const std::string pid = (folder_ / (std::string(name) + ".pid")).string();
      write_file_whole(folder_ / name, "#!/bin/sh\necho $$ >'" + pid + "'\nexec sleep 600\n");
      chmod((folder_ / name).c_str(), 0755);
    }
    setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~HangingPrograms() { setenv("PATH", path_.c_str(), 1); }

  const TempFolder& folder() const { return folder_; }
  /// A program that was stopped before its first line never lived.
  bool lives(const std::string& name) const {
    const auto file = folder_ / (name + ".pid");
    if (!std::filesystem::exists(file)) return false;
    const int pid = std::atoi(read_text_file(file, 100).c_str());
    return pid > 0 && kill(pid, 0) == 0;
  }

 private:
  std::string path_ = std::getenv("PATH");
  TempFolder folder_;
};

}  // namespace

TEST_CASE("a program of Slurm that does not answer is stopped after its time, and said") {
  const HangingPrograms programs;
  const Slurm slurm({.answer_us = 300'000, .submit_us = 300'000});
  CHECK_THROWS_WITH(slurm.state(4711), says("Slurm does not answer"));
  CHECK_FALSE(programs.lives("squeue"));
  CHECK_THROWS_WITH(slurm.cancel(4711), says("Slurm does not answer"));
  CHECK_FALSE(programs.lives("scancel"));
}

TEST_CASE("a submission without an answer may have made a job: it is not told as a refusal") {
  const HangingPrograms programs;
  const Slurm slurm({.answer_us = 300'000, .submit_us = 300'000});
  try {
    slurm.submit(programs.folder().path(), "job.sbatch");
    FAIL("it was believed");
  } catch (const NoJobNumber& error) {
    CHECK_THAT(error.what(), says("Slurm does not answer"));
    CHECK_THAT(error.hint(),
               says("a job may be in the queue all the same") && says(programs.folder().path().string()));
  }
  CHECK_FALSE(programs.lives("sbatch"));
}

TEST_CASE("a job that is over is over, whatever is said of its exit code") {
  const HangingPrograms programs;
  const auto answers = [&](const std::string& name, const std::string& line) {
    write_file_whole(programs.folder() / name, "#!/bin/sh\necho '" + line + "'\n");
    chmod((programs.folder() / name).c_str(), 0755);
  };
  answers("squeue", "FAILED|None|n1|N/A|/tmp");
  const Slurm slurm({.answer_us = 300'000, .submit_us = 300'000});
  CHECK(slurm.state(4711).is_over());
  CHECK(slurm.state(4711).exit_code.empty());
  CHECK_FALSE(programs.lives("scontrol"));
  const Slurm patient;
  answers("scontrol", "JobId=4711 ExitCode=75:0 Restarts=0");
  CHECK(patient.state(4711).exit_code == "75:0");
  for (const char* const odd : {"JobId=4711", "x ExitCode=", "x ExitCode=a:b y", "x ExitCode=:0",
                                "x ExitCode=7", "x ExitCode=1111111111111111:0"}) {
    INFO(odd);
    answers("scontrol", odd);
    CHECK(patient.state(4711).exit_code.empty());
  }
}
