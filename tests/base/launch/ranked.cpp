// Stands in for a lesson with several ranks: each does what the words say, by its number; and, as
// "launch N WORDS...", for ./isobar run --ranks N.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "launch/rank_launcher.h"
#include "launch/rank_status.h"

using namespace isobar;

namespace {

using Words = std::vector<std::string>;

volatile std::sig_atomic_t caught[65] = {};
void count(int number) { caught[number] = caught[number] + 1; }

int number(const char* name) { return std::atoi(std::getenv(name)); }
int rank_here() { return number("RANK"); }
void pause_ms(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }
/// An hour at most, so that nothing outlives a test that failed for long.
void wait_long() {
  for (int i = 0; i < 72'000; ++i) pause_ms(50);
}

int launch(const Words& words) {
  Words all = {"/proc/self/exe"};
  all.insert(all.end(), words.begin() + 1, words.end());
  RanksEnded ended;
  try {
    ended = launch_ranks(all, std::stoi(words[0]), {.grace_s = 3});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    return static_cast<int>(error.code());
  }
  std::string codes;
  for (const RankEnded& rank : ended.ranks)
    codes += " " + std::to_string(rank.code) + (rank.followed ? "f" : "");
  std::printf("ended %d first %d asked %d codes%s\n%s\n", ended.code, ended.first, ended.asked, codes.c_str(),
              first_failure_text(ended).c_str());
  return ended.code;
}

std::filesystem::path ready_file(const std::string& folder, int rank) {
  return std::filesystem::path(folder) / (std::to_string(rank) + ".ready");
}
void ready(const std::string& folder) {
  write_file_whole(ready_file(folder, rank_here()), std::string_view());
}
bool is_ready(const std::string& folder, int rank) {
  return std::filesystem::exists(ready_file(folder, rank));
}

int say(const Words& words) {  // say LINES: whole lines and one that has no end
  for (int i = 0; i < std::stoi(words[0]); ++i) {
    std::printf("line %d %s\n", i, std::string(200, static_cast<char>('a' + rank_here())).c_str());
    if (i % 10 == 0) std::fflush(stdout);
  }
  std::fprintf(stderr, "an error");
  std::printf("no end");
  return 0;
}

int flood(const Words& words) {  // flood FOLDER: leaves its number there and talks for ever
  write_file_whole(std::filesystem::path(words[0]) / std::to_string(rank_here()), std::to_string(getpid()));
  for (;;) std::printf("%s\n", std::string(200, 'x').c_str());
}

int die(const Words& words) {  // die RANK SIGNAL: the others wait
  if (rank_here() == std::stoi(words[0])) {
    pause_ms(200);
    raise(std::stoi(words[1]));
  }
  wait_long();
  return 0;
}

int deaf(const Words& words) {  // deaf RANK FOLDER: it fails once the others do not hear SIGTERM any more
  if (rank_here() == std::stoi(words[0])) {
    for (int rank = 0; rank < number("WORLD_SIZE"); ++rank) {
      while (rank != rank_here() && !is_ready(words[1], rank)) pause_ms(1);
    }
    std::fprintf(stderr, "ranked: error: no bread\n  where: kitchen\n");
    return 3;
  }
  std::signal(SIGTERM, SIG_IGN);
  ready(words[1]);
  wait_long();
  return 0;
}

int stand_still(const Words& words) {  // stand_still RANK FOLDER: the others give up
  const bool stands = rank_here() == std::stoi(words[0]);
  StatusSlot status(words[1], rank_here());
  if (stands) raise(SIGSTOP);
  const auto is_stopped = [&] {
    const auto other = read_rank_status(words[1], std::stoi(words[0]));
    return other && other->process == RankProcess::stopped;
  };
  while (!is_stopped()) pause_ms(1);
  return 1;
}

int parent(const Words& words) {  // parent FILE: leaves a child behind
  if (rank_here() == 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    wait_long();
    _exit(0);
  }
  write_file_whole(words[0], std::to_string(child));
  return 3;
}

int blame(const Words& words) {  // blame FOLDER: rank 0 ends first and says that it only followed rank 1
  if (rank_here() == 0) show_run_folder(std::getenv("ISOBAR_MEETING"), words[0]);
  if (rank_here() == 1) std::signal(SIGTERM, SIG_IGN);
  StatusSlot status(words[0], rank_here());
  status.stage(12, "forward");
  const auto other = [&] { return read_rank_status(words[0], 1 - rank_here()).value_or(RankStatus{}); };
  while (other().step != 12) pause_ms(1);  // so that the other does not hear SIGTERM
  while (rank_here() == 1 && other().process != RankProcess::gone) pause_ms(1);
  status.end(rank_here() == 1 ? RankPhase::failed : RankPhase::followed);
  return rank_here() == 1 ? 4 : 1;
}

int hear(const Words& words) {  // hear FOLDER: says how often which signal came
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) std::signal(signal, count);
  ready(words[0]);
  while (caught[SIGTERM] + caught[SIGINT] + caught[SIGUSR1] == 0) pause_ms(10);
  pause_ms(300);
  write_file_whole(std::filesystem::path(words[0]) / std::to_string(rank_here()),
                   "TERM " + std::to_string(caught[SIGTERM]) + " INT " + std::to_string(caught[SIGINT]) +
                       " USR1 " + std::to_string(caught[SIGUSR1]));
  return 75;
}

int stubborn(const Words& words) {  // stubborn [FOLDER]: hears no request to stop at all
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  if (!words.empty()) ready(words[0]);
  wait_long();
  return 0;
}

int environment(const Words&) {
  std::printf("%d of %d, here %d, %s\n", rank_here(), number("WORLD_SIZE"), number("LOCAL_RANK"),
              std::filesystem::exists(std::filesystem::path(std::getenv("ISOBAR_MEETING")).parent_path())
                  ? "meets"
                  : "lost");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(const Words&)>> actions = {{"launch", launch},
                                                                           {"say", say},
                                                                           {"flood", flood},
                                                                           {"die", die},
                                                                           {"deaf", deaf},
                                                                           {"stand_still", stand_still},
                                                                           {"parent", parent},
                                                                           {"blame", blame},
                                                                           {"hear", hear},
                                                                           {"stubborn", stubborn},
                                                                           {"environment", environment}};
  const auto found = actions.find(argc > 1 ? argv[1] : "");
  return found == actions.end() ? 99 : found->second({argv + 2, argv + argc});
}
