// Answers that were said to be stored are there, whichever file operation a writer is killed at or fails.
#include <cerrno>
#include <sstream>

#include "core/files.h"
#include "course/progress.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

ProcessResult append(const fs::path& under, const fs::path& file, const std::vector<std::string>& plan) {
  std::vector<std::string> environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM,
                                          "SHIM_UNDER=" + under.string()};
  environment.insert(environment.end(), plan.begin(), plan.end());
  return run_process({ISOBAR_APPEND_PROGRESS, file.string(), "3"}, {.environment = environment});
}

/// The last number that it said; 0 = none.
std::size_t said_last(const ProcessResult& result) {
  std::istringstream out(result.out);
  std::size_t last = 0;
  for (std::size_t number = 0; out >> number;) last = number;
  return last;
}

/// All that was said is there, in order, and beside it at most the answer that was being stored.
void check_stored(const fs::path& file, std::size_t said) {
  const CourseProgress progress = read_progress(file);
  REQUIRE(progress.answers.size() >= said);
  CHECK(progress.answers.size() <= said + 1);
  for (std::size_t i = 0; i < said; ++i) CHECK(progress.answers[i].text == std::to_string(i + 1));
  CHECK(progress.problems.size() <= 1);
}

}  // namespace

TEST_CASE("killed at every file operation, a writer of progress loses no answer that it said was stored") {
  const TempFolder folder;
  REQUIRE(append(folder.path(), folder / "counted/p", {"SHIM_LOG=" + (folder / "log").string()}).code == 0);
  const std::string log = read_text_file(folder / "log", 1 << 20);
  const auto count = std::count(log.begin(), log.end(), '\n');
  REQUIRE(count >= 7);  // three writes and three syncs behind the folder
  std::size_t half_lines = 0;
  for (std::ptrdiff_t at = 1; at <= count; ++at) {
    INFO("killed at call " << at << " of " << count);
    const fs::path file = folder / std::to_string(at) / "p";
    const ProcessResult killed = append(folder.path(), file, {"SHIM_KILL_AT=" + std::to_string(at)});
    REQUIRE(killed.code == 137);
    check_stored(file, said_last(killed));
    const std::size_t before = read_progress(file).answers.size();
    half_lines += read_progress(file).problems.size();
    REQUIRE(append(folder.path(), file, {}).code == 0);  // the next writer ends the half line and goes on
    CHECK(read_progress(file).answers.size() == before + 3);
  }
  CHECK(half_lines == 3);  // one a write
}

TEST_CASE("a file operation that fails is an error with a way out, and what was stored before it stays") {
  const TempFolder folder;
  struct Fault {
    const char* call;
    int error;
    const char* word;
  };
  for (const Fault& fault : std::vector<Fault>{{"write", ENOSPC, "No space left"},
                                               {"write", EIO, "Input/output"},
                                               {"fsync", EIO, "Input/output"},
                                               {"mkdir", EROFS, "Read-only"}}) {
    INFO(fault.call << " fails with " << fault.word);
    const fs::path file = folder / (fault.call + std::to_string(fault.error)) / "p";
    const int at = fault.call == std::string("mkdir") ? 1 : 3;  // after an answer or two
    const ProcessResult result =
        append(folder.path(), file,
               {std::string("SHIM_ONLY=") + fault.call, "SHIM_FAIL_AT=" + std::to_string(at),
                "SHIM_ERRNO=" + std::to_string(fault.error)});
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says(fault.word) && says(file.string()) && says("ISOBAR_PROGRESS=FILE"));
    check_stored(file, said_last(result));
  }
}
