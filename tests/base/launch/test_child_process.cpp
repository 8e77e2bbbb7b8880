#include <signal.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "launch/child_process.h"
#include "support/catch.h"
#include "support/temp_folder.h"
#include "support/until.h"

using namespace isobar;

namespace {

int wait_for(ChildProcess& child) {
  until([&] { return child.exit_code().has_value(); });
  return *child.exit_code();
}

}  // namespace

TEST_CASE("A child gets its words as they are, says what it says into a file, and tells its exit code") {
  const TempFolder folder;
  ChildProcess child({"/bin/echo", "a b", "$(id)", "*"}, folder.path(), folder / "out");
  CHECK(wait_for(child) == 0);
  CHECK(read_text_file(folder / "out", 1000) == "a b $(id) *\n");
  ChildProcess failing({"/bin/ls", "/nowhere at all"}, folder.path(), folder / "out");
  CHECK(wait_for(failing) == 2);
  CHECK(read_text_file(folder / "out", 1000).find("nowhere at all") != std::string::npos);
  CHECK_THROWS_AS(ChildProcess({(folder / "not there").string()}, folder.path(), folder / "out"), Error);
}

TEST_CASE("A signal reaches what the child started too") {
  const TempFolder folder;
  write_file_whole(folder / "script", std::string_view("sleep 3600 &\necho $!\nwait\n"));
  ChildProcess child({"/bin/bash", (folder / "script").string()}, folder.path(), folder / "out");
  std::string inner;
  until([&] { return (inner = read_text_file(folder / "out", 1000)).ends_with('\n'); });
  child.send(SIGTERM);
  CHECK(wait_for(child) == 128 + SIGTERM);
  const int pid = std::stoi(inner);
  until([&] { return kill(pid, 0) != 0; });
}

TEST_CASE("Only the process that holds the file open is interrupted") {
  const TempFolder folder;
  write_file_whole(folder / "stream", std::string_view(""));
  CHECK_FALSE(interrupt_writer(1, folder / "stream"));
  CHECK_FALSE(interrupt_writer(getppid(), folder / "stream"));
  CHECK_FALSE(interrupt_writer(-1, folder / "stream"));
  write_file_whole(folder / "script", std::string_view("exec 3>>stream\necho ready\nexec sleep 30\n"));
  ChildProcess child({"/bin/bash", (folder / "script").string()}, folder.path(), folder / "out");
  until([&] { return !read_text_file(folder / "out", 100).empty(); });
  CHECK_FALSE(interrupt_writer(child.pid(), folder / "out2"));
  CHECK(interrupt_writer(child.pid(), folder / "stream"));
  CHECK(wait_for(child) == 128 + SIGINT);
}
