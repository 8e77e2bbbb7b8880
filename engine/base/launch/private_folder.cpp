#include "launch/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "core/error.h"
#include "core/temporary_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "isobar-";
constexpr const char* kLetters = "XXXXXX";
constexpr const char* kOwner = "owner";

using RemoveMore = std::function<void(const fs::path&)>;

/// What the launcher and its ranks put there: meeting..., rank-0000.status, and the link run.
bool is_ours(const std::string& name) {
  return name == "run" || name.rfind("meeting", 0) == 0 ||
         (name.rfind("rank-", 0) == 0 && name.ends_with(".status"));
}

/// `owner` goes last, and stays with what others put there: by its lock the next sweep recognises the folder.
void remove_ours(const fs::path& folder, const RemoveMore& remove_more) {
  std::error_code code;
  if (remove_more) remove_more(folder);
  bool is_empty = true;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const bool is_folder = it->symlink_status(code).type() == fs::file_type::directory;
    const std::string name = it->path().filename().string();
    if (!is_folder && is_ours(name)) ::unlink(it->path().c_str());
    is_empty = is_empty && !is_folder && (is_ours(name) || name == kOwner);
  }
  if (is_empty) ::unlink((folder / kOwner).c_str());
  ::rmdir(folder.c_str());  // which fails where anything else is in it
}

/// The lock of a folder that this user made and nobody holds; closed for any other.
FileDescriptor lock_of(const fs::path& folder) {
  if (!is_private(folder)) return FileDescriptor();
  FileDescriptor file(::open((folder / kOwner).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() || flock(file.number(), LOCK_EX | LOCK_NB) != 0) return FileDescriptor();
  return file;
}

void sweep(const fs::path& parent, const RemoveMore& remove_more) {
  const std::size_t length = std::string(kPrefix).size() + std::string(kLetters).size();
  std::error_code code;
  for (fs::directory_iterator it(parent, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.size() != length || name.rfind(kPrefix, 0) != 0) continue;
    if (const FileDescriptor lock = lock_of(it->path()); lock.is_open()) remove_ours(it->path(), remove_more);
  }
}

}  // namespace

bool is_private(const fs::path& folder) {
  struct stat status {};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid() &&
         (status.st_mode & 0777) == 0700;
}

PrivateFolder::PrivateFolder(RemoveMore remove_more) : remove_more_(std::move(remove_more)) {
  const fs::path parent = temporary_folder();
  sweep(parent, remove_more_);
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    std::string made = (parent / (std::string(kPrefix) + kLetters)).string();
    if (mkdtemp(made.data()) == nullptr) throw system_error("cannot make a folder", made, errno);
    path_ = made;
    lock_ = FileDescriptor(::open((path_ / kOwner).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock_.is_open()) throw system_error("cannot make a file", (path_ / kOwner).string(), errno);
    struct stat status {};
    const bool is_held = flock(lock_.number(), LOCK_EX | LOCK_NB) == 0;
    if (!is_held && errno != EWOULDBLOCK) {  // a file system without locks
      lock_.close();
      ::unlink((path_ / kOwner).c_str());  // without it no sweep takes the folder
      return;
    }
    if (is_held && fstat(lock_.number(), &status) == 0 && status.st_nlink > 0) return;
    remove_ours(path_, {});  // another launcher was sweeping just then
  }
  throw Error("a folder cannot be locked", path_.string(),
              "choose another place for temporary files (TMPDIR)", Exit::failed);
}

PrivateFolder::~PrivateFolder() { remove_ours(path_, remove_more_); }

}  // namespace isobar
