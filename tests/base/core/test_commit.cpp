// The commit that results and runs name, in each form that git writes it.
#include "core/commit.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

const std::string kOne = "0123456789abcdef0123456789abcdef01234567";
const std::string kOther(40, 'f');

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  write_file_whole(path, text);
}

}  // namespace

TEST_CASE("a commit is found behind a branch, loose or packed, and on its own") {
  const TempFolder folder;
  CHECK(checked_out_commit(folder.path()).empty());
  write_file_whole(folder / "commit", std::string(40, 'e') + "\n");  // what a bundle has instead
  CHECK(checked_out_commit(folder.path()) == "eeeeeeeeeeee");
  const fs::path git = folder / ".git";
  put(git / "HEAD", kOne + "\n");
  CHECK(checked_out_commit(folder.path()) == "0123456789ab");
  put(git / "HEAD", "ref: refs/heads/main\n");
  CHECK(checked_out_commit(folder.path()).empty());  // no commit yet
  put(git / "packed-refs", "# pack-refs with: peeled\n" + kOther + " refs/heads/mainly\n" + kOne +
                               " refs/heads/main\n^" + kOther + "\n");
  CHECK(checked_out_commit(folder.path()) == "0123456789ab");
  put(git / "refs/heads/main", kOther + "\n");
  CHECK(checked_out_commit(folder.path()) == "ffffffffffff");
  put(git / "refs/heads/main", "no digest\n");
  CHECK(checked_out_commit(folder.path()).empty());
}

TEST_CASE("a work tree has a HEAD of its own, and the branches of its checkout") {
  const TempFolder folder;
  const fs::path git = folder / "first one/.git";
  const fs::path tree = folder / "second";
  put(tree / ".git", "gitdir: " + (git / "worktrees/second").string() + "\n");
  put(git / "HEAD", kOther + "\n");
  put(git / "worktrees/second/HEAD", "ref: refs/heads/other\n");
  put(git / "worktrees/second/commondir", "../..\n");
  CHECK(checked_out_commit(tree).empty());
  put(git / "packed-refs", kOne + " refs/heads/other\n");
  CHECK(checked_out_commit(tree) == "0123456789ab");
  put(git / "refs/heads/other", kOther + "\n");
  CHECK(checked_out_commit(tree) == "ffffffffffff");
  put(tree / ".git", "gitdir: ../first one/.git/worktrees/second\n");
  CHECK(checked_out_commit(tree) == "ffffffffffff");
}
