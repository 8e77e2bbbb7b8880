#include <filesystem>

#include "jobs/job_script.h"
#include "support/catch.h"
#include "support/hostile_text.h"
#include "support/process.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

WatchPlace login_node() {
  WatchPlace out;
  out.by_ssh = true;
  out.login = "login.example.org";
  out.user = "ada";
  out.user_id = 1000;
  out.home = "/home/ada/isobar";
  return out;
}

}  // namespace

TEST_CASE("from a login node it is one ssh that carries the window home") {
  CHECK(watch_line(login_node(), "/scratch/runs/06_ddp-1", 4711) ==
        "ssh -t -o ExitOnForwardFailure=yes -L 127.0.0.1:24711:/tmp/isobar-1000/watch-4711 "
        "ada@login.example.org "
        "'/home/ada/isobar/isobar gui --browser --socket /tmp/isobar-1000/watch-4711 --port 24711 "
        "/scratch/runs/06_ddp-1'");
}

TEST_CASE("who sits at the machine opens the window, in a browser where there is no display") {
  WatchPlace place = login_node();
  place.by_ssh = false;
  CHECK(watch_line(place, "/runs/a", 1) == "/home/ada/isobar/isobar gui --browser /runs/a");
  place.has_display = true;
  CHECK(watch_line(place, "/runs/a", 1) == "/home/ada/isobar/isobar gui /runs/a");
  place.in_hub = true;
  CHECK(watch_line(place, "/runs/a", 1) == "/home/ada/isobar/isobar gui --browser /runs/a");
}

TEST_CASE("a user that is not known is left to ssh, and large numbers stay ports") {
  WatchPlace place = login_node();
  place.user.clear();
  const std::string line = watch_line(place, "/runs/a", 98'765'432'109);
  CHECK_THAT(line, says(" login.example.org '"));
  CHECK_THAT(line, says("127.0.0.1:22109:"));
}

TEST_CASE("a run's name stays one word through both shells") {
  const TempFolder folder;
  const std::string canary = (folder / "canary").string();
  for (const std::string& text : hostile_texts(canary)) {
    if (text.size() > 1000 || text.find('\n') != std::string::npos) continue;
    INFO(text);
    const std::string line = watch_line(login_node(), "/runs/" + text, 1);
    // An ssh that hands its last word to a shell, as the real one does; isobar shows its last word.
    const std::string script = "ssh() { eval \"${!#}\"; }; " + line;
    std::string shown = script;
    const std::string program = "/home/ada/isobar/isobar";
    shown.replace(shown.find(program), program.size(), "last() { printf %s \"${!#}\"; }; last");
    const ProcessResult result = run_process({"/bin/bash", "-c", shown});
    CHECK(result.out == "/runs/" + text);
    CHECK_FALSE(std::filesystem::exists(canary));
  }
}
