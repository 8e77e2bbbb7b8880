#include <filesystem>

#include "config/config.h"
#include "config/key_comments.h"
#include "config/keys.h"
#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// A project whose only lesson has this sheet.
LessonInfo read_sheet(const TempFolder& folder, const std::string& sheet) {
  fs::create_directories(folder / "lessons/01_one");
  write_file_whole(folder / "lessons/01_one/lesson.toml", std::string_view(sheet));
  return read_lesson(folder.path(), "01_one");
}

}  // namespace

TEST_CASE("What was published for a lesson has a year, a rate and a stack each") {
  const TempFolder folder;
  const LessonInfo info =
      read_sheet(folder,
                 "title = \"One\"\nneeds = \"cuda\"\n[published]\ndevice = \"A100\"\nyears = [2023, 2025]\n"
                 "samples_per_s = [\"9.30\", \"12.5\"]\nstacks = [\"a\", \"b\"]\n");
  CHECK(info.needs == "cuda");
  CHECK(info.published.device == "A100");
  CHECK(info.published.samples_per_s == std::vector<double>{9.30, 12.5});
  CHECK(read_sheet(folder, "title = \"One\"\n").published.years.empty());
  for (const char* const bad :
       {"[published]\nyears = [2023]\n", "[published]\nsamples_per_s = [\"fast\"]\n",
        "[published]\nyears = \"2023\"\n", "[published]\nspeed = 1\n", "needs = 3\n"}) {
    CHECK_THROWS_AS(read_sheet(folder, bad), Error);
  }
}

TEST_CASE("Every key has its comment in base.toml") {
  const auto comments = key_comments(project_home());
  Config config;
  for (const Key& key : keys_of(config)) {
    INFO(key.name);
    REQUIRE(comments.count(key.name) == 1);
    CHECK_FALSE(comments.at(key.name).empty());
  }
  CHECK(comments.at("optim.lr") == "peak learning rate");
}
