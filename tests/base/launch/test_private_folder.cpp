// Folders of launches: each is gone with its launcher, or swept by the next one, and nothing else is.
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/temporary_folder.h"
#include "launch/private_folder.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

std::atomic<bool> knows_locks = true;  // the file system, for this program

}  // namespace

extern "C" int flock(int file, int how) noexcept {
  if (knows_locks) return static_cast<int>(syscall(SYS_flock, file, how));
  errno = ENOSYS;
  return -1;
}

namespace {

/// The temporary folder of this process, for as long as it lives.
class TemporaryIn {
 public:
  explicit TemporaryIn(const fs::path& folder) {
    const char* const before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    setenv("TMPDIR", folder.c_str(), 1);
  }
  explicit TemporaryIn(const TempFolder& folder) : TemporaryIn(folder.path()) {}
  ~TemporaryIn() {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
  }
  TemporaryIn(const TemporaryIn&) = delete;
  TemporaryIn& operator=(const TemporaryIn&) = delete;

 private:
  std::string before_;
};

void fill(const fs::path& folder) {
  for (const char* const name : {"meeting", "rank-0000.status", "rank-0001.status"})
    write_file_whole(folder / name, std::string_view("x"));
  fs::create_directory_symlink("/", folder / "run");
}

/// What a launcher leaves that is killed; `more` is a file of somebody else in it.
fs::path left_behind(const TempFolder& folder, const std::string& more = "") {
  std::set<fs::path> before;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) before.insert(entry.path());
  const pid_t child = fork();
  if (child == 0) {
    const PrivateFolder made;
    fill(made.path());
    if (!more.empty()) write_file_whole(made.path() / more, std::string_view("thesis"));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    if (before.count(entry.path()) == 0) return entry.path();
  }
  throw Error("nothing was left behind", folder.path().string(), "");
}

}  // namespace

TEST_CASE("a launch's folder is private and gone with it, whatever its ranks wrote") {
  const TempFolder folder;
  const TemporaryIn temporary(folder);
  fs::path path;
  {
    const PrivateFolder made;
    path = made.path();
    CHECK(path.parent_path() == folder.path());
    CHECK(fs::status(path).permissions() == fs::perms::owner_all);
    fill(path);
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("what a killed launcher left is swept by the next one; what lives, and what is not ours, stays") {
  const TempFolder folder;
  const TemporaryIn temporary(folder);
  const PrivateFolder living;
  fill(living.path());
  const fs::path noted = left_behind(folder, "notes.txt");
  const fs::path dead = left_behind(folder);  // the launcher of which swept the one before
  CHECK_FALSE(fs::exists(noted / "meeting"));
  const fs::path foreign = folder / "isobar-abcdef";  // a name of ours that somebody gave
  fs::create_directories(foreign);
  write_file_whole(foreign / "owner", std::string_view(""));
  const fs::path longer = folder / "isobar-test-abcdef";
  fs::create_directories(longer);
  REQUIRE(fs::exists(dead / "meeting"));
  { const PrivateFolder next; }
  CHECK_FALSE(fs::exists(dead));
  CHECK(fs::exists(living.path() / "meeting"));
  CHECK(read_text_file(noted / "notes.txt", 10) == "thesis");
  // Who knows what it is may take it later.
  {
    const PrivateFolder next([](const fs::path& left) { fs::remove(left / "notes.txt"); });
  }
  CHECK_FALSE(fs::exists(noted));
  CHECK(fs::exists(foreign / "owner"));
  CHECK(fs::exists(longer));
}

TEST_CASE("where the file system knows no locks, a launch has its folder, and no other launch sweeps it") {
  const TempFolder folder;
  const TemporaryIn temporary(folder);
  knows_locks = false;
  {
    const PrivateFolder made;
    fill(made.path());
    { const PrivateFolder next; }
    CHECK(fs::exists(made.path() / "meeting"));
    knows_locks = true;  // of a machine that mounts it otherwise
    { const PrivateFolder next; }
    CHECK(fs::exists(made.path() / "meeting"));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a temporary folder that cannot be used is refused with its variable and its place") {
  const TempFolder folder;
  {
    const TemporaryIn temporary(folder / "not/here");
    const std::string refused = failure_of([] { PrivateFolder(); });
    CHECK_THAT(refused, says("TMPDIR") && says((folder / "not/here").string()) && says("No such file"));
  }
  write_file_whole(folder / "file", "x");
  {
    const TemporaryIn temporary(folder / "file");
    CHECK_THAT(failure_of([] { temporary_folder(); }), says("TMPDIR") && says("Not a directory"));
  }
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read);
  if (access((folder / "closed").c_str(), W_OK) != 0) {  // root may write anywhere
    const TemporaryIn temporary(folder / "closed");
    CHECK_THAT(failure_of([] { temporary_folder(); }), says("TMPDIR") && says("Permission denied"));
  }
  const TemporaryIn temporary("");
  CHECK(temporary_folder() == "/tmp");
}
