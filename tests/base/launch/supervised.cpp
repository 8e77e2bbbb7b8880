// Stands in for a program of ours: does what its first word says.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "launch/supervise.h"

namespace {

volatile std::sig_atomic_t caught[65] = {};
void count(int number) { caught[number] = caught[number] + 1; }

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "supervise") {  // supervise WORDS...: as ./isobar run does
    const isobar::Ended ended = isobar::supervise({argv + 2, argv + argc});
    std::printf("ended %d %d %d\n", ended.code, ended.signal, ended.peak_bytes > 1'000'000 ? 1 : 0);
    return ended.code;
  }
  if (what == "ignoring") {  // ignoring SIGNAL WORDS...: as nohup does
    std::signal(std::atoi(argv[2]), SIG_IGN);
    execv(argv[3], argv + 3);
    return 1;
  }
  if (what == "quiet") {  // quiet WORDS...: says what came back of a program without a voice
    int ticks = 0;
    const isobar::Ended ended =
        isobar::supervise({argv + 2, argv + argc}, {.quiet = true, .tick = [&] { ++ticks; }});
    std::printf("ended %d asked %d ticks %d errors %zu: %s", ended.code, ended.asked, ticks,
                ended.errors.size(), ended.errors.substr(0, 20).c_str());
    return ended.code;
  }
  if (what == "talk") {  // talk BYTES MS: on both, then waits
    std::puts("to be heard by nobody");
    const std::string line(static_cast<std::size_t>(std::atoi(argv[2])), 'e');
    std::fputs(line.c_str(), stderr);
    usleep(static_cast<useconds_t>(std::atoi(argv[3])) * 1000);
    return 3;
  }
  if (what ==
      "hang up") {  // sends SIGHUP to the one who started it, and lives on if that one does not pass it on
    kill(getppid(), SIGHUP);
    usleep(300'000);
    return 75;
  }
  if (what == "code") return std::atoi(argv[2]);
  if (what == "kill") std::raise(std::atoi(argv[2]));
  if (what == "catch") {  // counts SIGTERM until none came for half a second, then says how many
    std::signal(SIGTERM, count);
    std::signal(SIGINT, count);
    isobar::follow_launcher();
    if (FILE* const out = std::fopen((std::string(argv[2]) + ".ready").c_str(), "w"); out != nullptr)
      std::fclose(out);
    while (caught[SIGTERM] + caught[SIGINT] == 0) usleep(1000);
    for (int i = 0; i < 10; ++i) usleep(30'000);
    if (FILE* const out = std::fopen(argv[2], "w"); out != nullptr) {
      std::fprintf(out, "TERM %d INT %d\n", static_cast<int>(caught[SIGTERM]),
                   static_cast<int>(caught[SIGINT]));
      std::fclose(out);
    }
    return 75;
  }
  return 0;
}
