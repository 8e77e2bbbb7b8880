#include "record/run_owner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <span>
#include <thread>

#include "core/clock.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"
#include "core/waiting.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFresh_s = 180;
constexpr std::int64_t kFreshOfJob_s = 30;  // three signs of life that did not come
constexpr std::int64_t kClaim_s = 30;       // taking a folder takes milliseconds
constexpr auto kBeatEvery = std::chrono::seconds(10);
constexpr std::uint64_t kMostBytes = 4096;

/// Seconds since `status` changed, by the clock of the file system.
std::int64_t silence_s(const struct stat& status, const fs::path& folder) {
  struct stat now {};
  // A file made now, in the same place, has the same clock.
  const fs::path probe = folder / fmt::format(".clock-{}-{}", host_name(), getpid());
  const FileDescriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  const bool known = made.is_open() && fstat(made.number(), &now) == 0;
  ::unlink(probe.c_str());
  return known ? now.st_mtim.tv_sec - status.st_mtim.tv_sec : 0;
}

/// While two processes on different machines look at the same moment, one of them is alone with the folder: a
/// file that only one can make, on any file system.
class Claim {
 public:
  explicit Claim(const fs::path& folder) : path_(folder / "owner.claim") {
    const std::int64_t begin_us = steady_us();
    while (true) {
      made_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (made_.is_open()) return;
      if (errno != EEXIST) throw system_error("cannot take the run folder", path_.string(), errno);
      struct stat other {};
      if (stat(path_.c_str(), &other) == 0 && silence_s(other, folder) > kClaim_s) ::unlink(path_.c_str());
      if (steady_us() - begin_us > 2 * kClaim_s * 1'000'000)
        throw Error("another process is taking this run folder and does not finish", path_.string(),
                    "when nothing runs there, remove that file");
      pause_us(50'000);
    }
  }
  ~Claim() { ::unlink(path_.c_str()); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  fs::path path_;
  FileDescriptor made_;
};

std::string line_of(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + " = ");
  if (at == std::string::npos || (at > 0 && text[at - 1] != '\n')) return "";
  const std::size_t begin = at + key.size() + 3;
  return printable(text.substr(begin, text.find('\n', begin) - begin), 100);
}

/// "" when there is no such process.
std::string birth_of(pid_t pid) {
  const std::optional<ProcessFacts> facts = process_facts(pid);
  return facts ? std::to_string(facts->begin_ticks) : "";
}

std::string job_of_slurm() {
  const char* const job = std::getenv("SLURM_JOB_ID");
  return job == nullptr ? "" : printable(job, 20);
}

/// What stands in the file, and what can be known of who wrote it.
struct Other {
  std::string text, host, pid;
  bool lives = false;          ///< it holds the lock, or is a process of this machine
  std::int64_t silent_s = -1;  ///< for an owner on another machine; -1 = on this one, or none

  bool may_write(std::int64_t fresh_s) const { return lives || (silent_s >= 0 && silent_s < fresh_s); }
};

/// Whether the process that wrote `text` is there, as far as this one sees processes.
bool is_there(const std::string& text) {
  const auto pid = static_cast<pid_t>(std::strtol(line_of(text, "pid").c_str(), nullptr, 10));
  return line_of(text, "view") == process_view() && pid > 0 && kill(pid, 0) == 0 &&
         birth_of(pid) == line_of(text, "born");
}

Other look(const FileDescriptor& file, const fs::path& path, const std::string& host) {
  Other out;
  const bool locked = flock(file.number(), LOCK_EX | LOCK_NB) == 0;
  const bool held = !locked && errno == EWOULDBLOCK;  // else this file system has no locks
  out.text.resize(static_cast<std::size_t>(std::min(file_size(file, path), kMostBytes)));
  pread_exactly(file, path, 0, std::as_writable_bytes(std::span(out.text)));
  out.host = line_of(out.text, "host");
  out.pid = line_of(out.text, "pid");
  out.lives = held || (!locked && is_there(out.text));
  struct stat status {};
  if (!out.text.empty() && out.host != host && fstat(file.number(), &status) == 0)
    out.silent_s = std::max<std::int64_t>(0, silence_s(status, path.parent_path()));
  return out;
}

/// Takes the folder, or gives nothing when an earlier start of the same job may still write: its machine may
/// have died with it, and then it will be silent.
FileDescriptor try_to_take(const fs::path& folder, const std::string& host, bool may_wait) {
  const fs::path path = folder / "owner";
  const Claim claim(folder);
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file.is_open()) throw system_error("cannot take the run folder", path.string(), errno);
  const Other other = look(file, path, host);
  const std::string job = job_of_slurm();
  const bool same_job = !job.empty() && line_of(other.text, "job") == job;
  const std::int64_t fresh_s = same_job ? kFreshOfJob_s : kFresh_s;
  if (other.may_write(fresh_s)) {
    if (same_job && may_wait) return {};
    throw Error(fmt::format("another process writes to this run: {} on {}", other.pid, other.host),
                folder.string(),
                other.lives ? "stop it first; ./isobar show prints how far it is"
                            : fmt::format("its last sign is {} s old: stop it, or where its machine died, "
                                          "try again in {} s",
                                          other.silent_s, fresh_s - other.silent_s));
  }
  const std::string mine = fmt::format("host = {}\npid = {}\nstarted = {}\nview = {}\nborn = {}\njob = {}\n",
                                       host, getpid(), wall_iso(), process_view(), birth_of(getpid()), job);
  if (ftruncate(file.number(), 0) != 0 || lseek(file.number(), 0, SEEK_SET) != 0)
    throw system_error("cannot take the run folder", path.string(), errno);
  write_fully(file, path, std::as_bytes(std::span(mine)));
  if (fsync(file.number()) != 0) throw system_error("cannot take the run folder", path.string(), errno);
  return file;
}

bool is_the_same(const FileDescriptor& file, const fs::path& path) {
  struct stat held {
  }, there{};
  if (fstat(file.number(), &held) != 0) return true;  // nothing is known
  if (stat(path.c_str(), &there) != 0) return errno != ENOENT && errno != ENOTDIR;
  return held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

FileDescriptor take(const fs::path& folder, const std::string& host) {
  const std::int64_t begin_us = steady_us();
  while (true) {
    const bool may_wait = steady_us() - begin_us < (kFreshOfJob_s + 15) * 1'000'000;
    FileDescriptor file = try_to_take(folder, host, may_wait);
    if (file.is_open()) return file;
    pause_us(500'000);
  }
}

}  // namespace

bool has_owner(const fs::path& folder) {
  const FileDescriptor file(
      ::open((folder / "owner").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string text(kMostBytes, '\0');
  const ssize_t bytes = file.is_open() ? pread(file.number(), text.data(), text.size(), 0) : 0;
  if (bytes <= 0) return false;  // empty means: nobody
  text.resize(static_cast<std::size_t>(bytes));
  if (line_of(text, "view") == process_view()) return is_there(text);
  struct stat status {};
  return fstat(file.number(), &status) == 0 && wall_ns() / 1'000'000'000 - status.st_mtim.tv_sec < kFresh_s;
}

/// Gives signs of life from a thread of its own: a file system that stalls stops no step.
class RunOwner::Beats {
 public:
  Beats(FileDescriptor file, fs::path folder)
      : file_(std::move(file)), folder_(std::move(folder)), thread_([this] { run(); }) {}
  ~Beats() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
    // Empty means: nobody. The file stays, so that two processes always lock the same one.
    if (ftruncate(file_.number(), 0) != 0) {
      // Not ours to fail on: the lock ends with the descriptor all the same.
    }
  }
  Beats(const Beats&) = delete;
  Beats& operator=(const Beats&) = delete;

  const fs::path& folder() const { return folder_; }
  bool lost() const { return !is_the_same(file_, folder_ / "owner"); }
  bool seen_lost() const { return seen_lost_; }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kBeatEvery, [this] { return ends_; })) {
      lock.unlock();
      futimens(file_.number(), nullptr);
      seen_lost_ = lost();
      lock.lock();
    }
  }

  FileDescriptor file_;
  fs::path folder_;
  std::atomic<bool> seen_lost_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

RunOwner::RunOwner() = default;
RunOwner::RunOwner(const fs::path& folder, const std::string& host)
    : beats_(std::make_unique<Beats>(take(folder, host), fs::absolute(folder))) {}
RunOwner::~RunOwner() = default;
RunOwner::RunOwner(RunOwner&&) noexcept = default;
RunOwner& RunOwner::operator=(RunOwner&&) noexcept = default;

std::optional<Error> RunOwner::lost() const {
  if (beats_ == nullptr || !beats_->lost()) return std::nullopt;
  return Error("the run folder was moved or removed while it was written to", beats_->folder().string(),
               "where it lies now it holds all up to then; a checkpoint in it can be resumed", Exit::failed);
}

bool RunOwner::seen_lost() const { return beats_ != nullptr && beats_->seen_lost(); }

void RunOwner::release() { beats_.reset(); }

}  // namespace isobar
