#include "launch/rank_launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/argv.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"

extern char** environ;

namespace isobar {
namespace {

constexpr std::array<const char*, 6> kOurs = {
    "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "ISOBAR_MEETING=", "ISOBAR_LAUNCHER=", "OMP_WAIT_POLICY="};

std::string text_of(const FileDescriptor& file) {
  std::string out(8000, '\0');
  const off_t size = lseek(file.number(), 0, SEEK_END);
  const ssize_t got = pread(file.number(), out.data(), out.size(), std::max<off_t>(0, size - 8000));
  out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return out;
}

struct Child {
  pid_t pid = 0;
  FileDescriptor output;
  FileDescriptor errors;
  bool ended = false;
};

Child start(const std::vector<std::string>& words, int rank, int world, const std::string& meeting,
            bool quiet) {
  std::vector<std::string> copy = words;
  const std::vector<char*> argv = as_argv(copy);
  std::vector<std::string> ours = {
      "RANK=" + std::to_string(rank),
      "LOCAL_RANK=" + std::to_string(rank),
      "WORLD_SIZE=" + std::to_string(world),
      "ISOBAR_MEETING=" + meeting,
      "ISOBAR_LAUNCHER=" + std::to_string(getpid()),
      "OMP_WAIT_POLICY=passive"};  // ranks share processors: who waits lets others work
  std::vector<char*> environment;
  for (std::string& entry : ours) environment.push_back(entry.data());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool replaced = std::any_of(kOurs.begin(), kOurs.end(), [&](const char* name) {
      return std::strncmp(*entry, name, std::strlen(name)) == 0;
    });
    if (!replaced) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  Child child;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (quiet) {
    child.output = FileDescriptor(memfd_create("output", MFD_CLOEXEC));
    child.errors = FileDescriptor(memfd_create("errors", MFD_CLOEXEC));
    posix_spawn_file_actions_adddup2(&files, child.output.number(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, child.errors.number(), STDERR_FILENO);
  }
  const int number = posix_spawn(&child.pid, argv.front(), &files, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
  return child;
}

}  // namespace

RanksEnded launch_ranks(const std::vector<std::string>& words, int ranks, const RankOptions& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "isobar-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw system_error("cannot make a folder", folder, errno);
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(start(words, rank, ranks, folder + "/meeting", options.quiet));
  }
  RanksEnded out;
  out.ranks.resize(static_cast<std::size_t>(ranks));
  const std::int64_t begin_us = steady_us();
  std::int64_t kill_us = 0;
  const auto send = [&](int signal) {
    for (const Child& child : children) {
      if (!child.ended) kill(child.pid, signal);
    }
  };
  for (int running = ranks; running > 0;) {
    bool any = false;
    for (int rank = 0; rank < ranks; ++rank) {
      Child& child = children[static_cast<std::size_t>(rank)];
      int status = 0;
      if (child.ended || waitpid(child.pid, &status, WNOHANG) == 0) continue;
      any = true;
      child.ended = true;
      --running;
      RankEnded& ended = out.ranks[static_cast<std::size_t>(rank)];
      ended.rank = rank;
      ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      ended.code = ended.signal != 0 ? 128 + ended.signal : WEXITSTATUS(status);
      ended.end_us = steady_us();
      ended.followed = out.first >= 0;
      if (options.quiet) {
        ended.errors = text_of(child.errors);
        ended.output = text_of(child.output);
      }
      if (ended.code == 0 || out.first >= 0) continue;
      out.first = rank;
      kill_us = steady_us() + static_cast<std::int64_t>(options.grace_s * 1e6);
      send(SIGTERM);
    }
    const std::int64_t now_us = steady_us();
    if (options.deadline_s > 0 && static_cast<double>(now_us - begin_us) > options.deadline_s * 1e6)
      out.timed_out = true;
    if (out.timed_out || (kill_us > 0 && now_us > kill_us)) send(SIGKILL);
    if (!any) usleep(2000);
  }
  out.code = out.ranks[static_cast<std::size_t>(std::max(0, out.first))].code;
  std::filesystem::remove_all(folder);
  return out;
}

}  // namespace isobar
