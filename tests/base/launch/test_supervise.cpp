#include <signal.h>

#include "core/files.h"
#include "core/memory.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/temp_folder.h"
#include "support/until.h"

using namespace isobar;

TEST_CASE("a supervised program's exit code, or the signal that killed it, is told") {
  const ProcessResult done = run_process({ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "code", "75"});
  CHECK(done.code == 75);
  CHECK(done.out == "ended 75 0 1\n");
  CHECK(run_process({ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "kill", "9"}).out ==
        "ended 137 9 1\n");
  CHECK(run_process({ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "kill", "11"}).out ==
        "ended 139 11 1\n");
  CHECK(run_process({ISOBAR_SUPERVISED, "supervise", "/nowhere/program"}).code != 0);
}

TEST_CASE("a signal reaches the program once, from a terminal's group or from another process") {
  const TempFolder folder;
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::filesystem::path said = folder / std::to_string(signal);
    const ProcessResult result =
        run_process({ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "catch", said.string()},
                    {.signal = signal, .interrupt_when = when_there(said.string() + ".ready")});
    CHECK(result.code == 75);
    CHECK(read_text_file(said, 100) == (signal == SIGTERM ? "TERM 1 INT 0\n" : "TERM 0 INT 1\n"));
  }
}

TEST_CASE("a program under nohup outlives the terminal, and one without it does not") {
  const std::vector<std::string> words = {ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "hang up"};
  CHECK(run_process(words).out == "ended 129 1 1\n");
  std::vector<std::string> under_nohup = {ISOBAR_SUPERVISED, "ignoring", std::to_string(SIGHUP)};
  under_nohup.insert(under_nohup.end(), words.begin(), words.end());
  CHECK(run_process(under_nohup).out == "ended 75 0 1\n");
}

TEST_CASE("the end of the program is seen where its parent was told to ignore the end of children") {
  const ProcessResult result = run_process({ISOBAR_SUPERVISED, "ignoring", std::to_string(SIGCHLD),
                                            ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "code", "75"},
                                           {.deadline_s = 300});
  CHECK(result.out == "ended 75 0 1\n");
}

TEST_CASE("when the supervisor is killed, the program is asked to stop") {
  const TempFolder folder;
  const ProcessResult result =
      run_process({ISOBAR_SUPERVISED, "supervise", ISOBAR_SUPERVISED, "catch", (folder / "said").string()},
                  {.signal = SIGKILL, .interrupt_when = when_there(folder / "said.ready")});
  CHECK(result.code == 137);
  std::string said;
  until([&] {
    if (std::filesystem::exists(folder / "said")) said = read_text_file(folder / "said", 100);
    return said.ends_with('\n');
  });
  CHECK(said == "TERM 1 INT 0\n");
}

TEST_CASE("a quiet program says nothing here; the end of its errors is kept, and time passes meanwhile") {
  const ProcessResult result =
      run_process({ISOBAR_SUPERVISED, "quiet", ISOBAR_SUPERVISED, "talk", "5", "1200"});
  CHECK(result.err.empty());
  CHECK(result.code == 3);
  CHECK(result.out.rfind("ended 3 asked 0 ticks ", 0) == 0);
  CHECK(result.out.find("ticks 0") == std::string::npos);
  CHECK(result.out.find("errors 5: eeeee") != std::string::npos);
  const ProcessResult many =
      run_process({ISOBAR_SUPERVISED, "quiet", ISOBAR_SUPERVISED, "talk", "100000", "0"});
  CHECK(many.out.find("errors 8000: eeee") != std::string::npos);
}

TEST_CASE("a signal to a quiet program is passed on, and told") {
  const TempFolder folder;
  const ProcessResult result =
      run_process({ISOBAR_SUPERVISED, "quiet", ISOBAR_SUPERVISED, "catch", (folder / "said").string()},
                  {.signal = SIGINT, .interrupt_when = when_there(folder / "said.ready")});
  CHECK(result.out.rfind("ended 75 asked 2 ", 0) == 0);
  CHECK(read_text_file(folder / "said", 100) == "TERM 0 INT 1\n");
}

TEST_CASE("the memory of this machine is known") {
  const MemoryState memory = memory_state();
  CHECK(memory.total_bytes > 100'000'000);
  CHECK(memory.available_bytes > 0);
  CHECK(memory.available_bytes <= memory.total_bytes);
}
