#include "record/run_owner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <span>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::int64_t kFresh_s = 180;
constexpr std::int64_t kBeatEvery_us = 10'000'000;
constexpr std::uint64_t kMostBytes = 4096;

/// Seconds since the file changed, by the clock of the file system.
std::int64_t silence_s(const FileDescriptor& file, const std::filesystem::path& folder) {
  struct stat status {};
  struct stat now {};
  // A file made now, in the same place, has the same clock; clocks of nodes differ.
  const std::filesystem::path probe = folder / fmt::format(".clock-{}", getpid());
  const FileDescriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  const bool known = made.is_open() && fstat(made.number(), &now) == 0;
  ::unlink(probe.c_str());
  if (!known || fstat(file.number(), &status) != 0) return 0;
  return now.st_mtim.tv_sec - status.st_mtim.tv_sec;
}

std::string line_of(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + " = ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size() + 3;
  return printable(text.substr(begin, text.find('\n', begin) - begin), 100);
}

}  // namespace

RunOwner::RunOwner(const std::filesystem::path& folder, const std::string& host) : path_(folder / "owner") {
  file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file_.is_open()) throw system_error("cannot take the run folder", path_.string(), errno);
  const bool locked = flock(file_.number(), LOCK_EX | LOCK_NB) == 0;
  const bool held = !locked && errno == EWOULDBLOCK;  // else this file system knows no locks
  std::string text(static_cast<std::size_t>(std::min(file_size(file_, path_), kMostBytes)), '\0');
  pread_exactly(file_, path_, 0, std::as_writable_bytes(std::span(text)));
  const std::string other = line_of(text, "host");
  const auto pid = static_cast<pid_t>(std::strtol(line_of(text, "pid").c_str(), nullptr, 10));
  const bool alive = !locked && other == host && pid > 0 && kill(pid, 0) == 0;
  const std::int64_t silent_s = !text.empty() && other != host ? silence_s(file_, folder) : kFresh_s;
  const bool elsewhere = silent_s < kFresh_s;
  if (held || alive || elsewhere) {
    throw Error(fmt::format("another process writes to this run: {} on {}", line_of(text, "pid"), other),
                folder.string(),
                held || alive ? "stop it first; ./isobar show tells how far it is"
                              : fmt::format("its last sign is {} s old: stop it, or where its machine died, "
                                            "try again in {} s",
                                            std::max<std::int64_t>(0, silent_s), kFresh_s - silent_s));
  }
  const std::string mine = fmt::format("host = {}\npid = {}\nstarted = {}\n", host, getpid(), wall_iso());
  if (ftruncate(file_.number(), 0) != 0 || lseek(file_.number(), 0, SEEK_SET) != 0)
    throw system_error("cannot take the run folder", path_.string(), errno);
  write_fully(file_, path_, std::as_bytes(std::span(mine)));
  beaten_us_ = steady_us();
}

RunOwner::~RunOwner() { release(); }

void RunOwner::beat() {
  const std::int64_t now_us = steady_us();
  if (!file_.is_open() || now_us - beaten_us_ < kBeatEvery_us) return;
  beaten_us_ = now_us;
  futimens(file_.number(), nullptr);
}

void RunOwner::release() {
  if (!file_.is_open()) return;
  // Empty means: nobody. The file stays, so that two processes always lock the same one.
  if (ftruncate(file_.number(), 0) != 0) {
    // Not ours to fail on: the lock ends with the descriptor all the same.
  }
  file_.close();
}

}  // namespace isobar
