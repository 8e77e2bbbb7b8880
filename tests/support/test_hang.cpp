// A test that hangs is ended with its name, where its threads stood, and without what it had started.
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "support/catch.h"
#include "support/process.h"
#include "support/says.h"
#include "support/temp_folder.h"
#include "support/threads.h"
#include "support/until.h"

using namespace isobar;

/// Named in what the test below reads, so not within the namespace without a name.
[[gnu::noinline]] void wait_for_what_never_comes() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  bool come = false;
  never.wait(lock, [&] { return come; });
}

TEST_CASE("this one hangs", "[.]") {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "3600", nullptr);
    _exit(1);
  }
  std::ofstream("/proc/self/fd/1") << "child " << child << std::endl;
  wait_for_what_never_comes();
}

TEST_CASE("a test that hangs ends with its name and its threads, and nothing of it is left") {
  const ProcessResult result =
      run_process({ISOBAR_TEST_SUPPORT, "this one hangs"}, {.environment = {"ISOBAR_TEST_LIMIT_S=1"}});
  INFO(result.out << result.err);
  CHECK(result.code == 99);
  CHECK_THAT(result.err, says("hangs: \"this one hangs\"") && says("after 1 s") &&
                             says("wait_for_what_never_comes") && says("sleep 3600"));
  int child = 0;
  REQUIRE(std::sscanf(result.out.c_str() + result.out.find("child "), "child %d", &child) == 1);
  until([&] {  // gone, or a dead one that nobody took note of yet
    const std::string threads = threads_of(child);
    return threads.empty() || threads.find(") Z") != std::string::npos;
  });
}

TEST_CASE(
    "this one fails, and after a name that is about as long as a line of a source file can be: its colon",
    "[.]") {
  SECTION("a part of it, which is named in lines of its own that begin further to the right, has one: this") {
    FAIL("its reason");
  }
}

TEST_CASE("a failure is reported however long the name of its test is") {
  const ProcessResult result = run_process({ISOBAR_TEST_SUPPORT, "this one fails*"});
  INFO(result.err);
  CHECK(result.code > 0);  // which code differs between releases of Catch2
  CHECK_THAT(result.out, says("its reason") && says("has one: this") && says("1 failed"));
}

TEST_CASE("a process that passes its deadline is ended, and says where it stood") {
  const ProcessResult result = run_process({"/bin/sleep", "3600"}, {.deadline_s = 1});
  CHECK(result.code == -1);
  CHECK_THAT(result.err, says("hangs: /bin/sleep 3600") && says("thread ") && says("(sleep)"));
}
