#include <filesystem>

#include "config/assign.h"
#include "config/config.h"
#include "config/key_comments.h"
#include "config/keys.h"
#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "core/pattern.h"
#include "support/catch.h"
#include "support/errors.h"
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
  const LessonInfo info = read_sheet(folder,
                                     "title = \"One\"\nneeds = \"cuda\"\nhelps = [\"data\"]\n"
                                     "[published]\ndevice = \"A100\"\nyears = [2023, 2025]\n"
                                     "samples_per_s = [\"9.30\", \"12.5\"]\nstacks = [\"a\", \"b\"]\n");
  CHECK(info.needs == "cuda");
  CHECK(info.helps == std::vector<std::string>{"data"});
  CHECK(info.published.device == "A100");
  CHECK(info.published.samples_per_s == std::vector<double>{9.30, 12.5});
  CHECK(read_sheet(folder, "title = \"One\"\n").published.years.empty());
  for (const char* const bad : {"[published]\nyears = [2023]\n", "[published]\nsamples_per_s = [\"fast\"]\n",
                                "[published]\nyears = \"2023\"\n", "[published]\nspeed = 1\n", "needs = 3\n",
                                "helps = [\"luck\"]\n"}) {
    CHECK_THROWS_AS(read_sheet(folder, bad), Error);
  }
}

TEST_CASE("What a lesson honours is what the lesson before does, less what it drops, and what it brings") {
  const TempFolder folder;
  read_sheet(folder,
             "title = \"One\"\nintroduces = [\"optim.lr\", \"train.seed\"]\nfaults = [\"slow_disk\", "
             "\"nan_weight\"]\n"
             "loaders = [\"inline\"]\nprecisions = [\"none\"]\n");
  const auto second = [&](const std::string& sheet) {
    fs::create_directories(folder / "lessons/02_two");
    write_file_whole(folder / "lessons/02_two/lesson.toml", std::string_view(sheet));
    return read_lesson(folder.path(), "02_two");
  };
  const std::string head = "previous = \"01_one\"\n";
  const LessonInfo two =
      second(head +
             "introduces = [\"data.workers\"]\ndrops = [\"train.seed\"]\nloaders = [\"workers\"]\n"
             "faults = [\"respawn\"]\ndrops_faults = [\"nan_weight\"]\n");
  CHECK(two.honours == std::vector<std::string>{"optim.lr", "data.workers"});
  CHECK(two.faults == std::vector{Fault::slow_disk, Fault::respawn});
  CHECK(two.loaders == std::vector{LoaderKind::workers});
  CHECK(two.precisions == std::vector{AmpMode::none});
  CHECK(two.introduces == std::vector<std::string>{"data.workers"});
  const auto refused = [&](const std::string& sheet) { return error_of([&] { second(sheet); }); };
  CHECK_THAT(refused(head + "drops = [\"data.dt\"]\n"), says("it drops data.dt, which 01_one does not have"));
  CHECK_THAT(refused(head + "drops_faults = [\"respawn\"]\n"), says("drops respawn"));
  for (const char* const before : {"02_two", "03_three"}) {
    CHECK_THAT(refused(std::string("previous = \"") + before + "\"\n"),
               says("the lesson before 02_two cannot be ") && says("upwards"));
  }
  CHECK_THAT(refused("previous = \"00_none\"\n"), says("there is no lesson \"00_none\""));
}

TEST_CASE("A lesson may be named by its number or by how its name begins, where that is one lesson") {
  const std::vector<std::string> names = {"01_base", "02_work", "03_worry", "10_base_two", "21_sum"};
  const auto like = [&](std::string_view typed) { return lessons_like(names, typed); };
  for (const char* const typed : {"01_base", "1", "01", "001", "01_", "01_b"})
    CHECK(like(typed) == std::vector<std::string>{"01_base"});
  CHECK(like("10") == std::vector<std::string>{"10_base_two"});
  CHECK(like("base_") == std::vector<std::string>{"10_base_two"});
  CHECK(like("base") == std::vector<std::string>{"01_base", "10_base_two"});
  CHECK(like("wor") == std::vector<std::string>{"02_work", "03_worry"});
  for (const char* const typed :
       {"", "0", "2x", "ork", "1_base", "_", "--help", "01_base/", "99999999999999999999"})
    CHECK(like(typed).empty());

  const TempFolder folder;
  for (const std::string& name : names) {
    fs::create_directories(folder / "lessons" / name);
    write_file_whole(folder / "lessons" / name / "lesson.toml", "title = \"T\"\n");
  }
  CHECK(find_lesson(folder.path(), "work").name == "02_work");
  CHECK_THAT(error_of([&] { find_lesson(folder.path(), "wor"); }),
             says("\"wor\" may be several lessons") && says("02_work, 03_worry"));
  CHECK_THAT(error_of([&] { find_lesson(folder.path(), "03_wory"); }), says("mean 03_worry?"));
  CHECK_THAT(error_of([&] { find_lesson(folder.path(), "7"); }), says("there is no lesson \"7\""));
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

TEST_CASE("what base.toml says of a key with choices names each of them, and no other name is one") {
  const auto comments = key_comments(project_home());
  Config config;
  std::size_t seen = 0;
  for (const Key& key : keys_of(config)) {
    const auto* const choice = std::get_if<ChoicePlace>(&key.place);
    if (choice == nullptr || key.name == "run.fault") continue;  // faults have a table of their own
    ++seen;
    for (const std::string name : choice->names) {
      INFO(key.name << " = " << name);
      CHECK_FALSE(matches_of(comments.at(key.name), "\\b" + name + "\\b").empty());
      assign(key, {key.name, name, "here"});
      CHECK(choice->name() == name);
      CHECK(toml_value(key.place) == "\"" + name + "\"");
    }
    const auto refused = [&](const std::string& name) {
      return error_of([&] { assign(key, {key.name, name, "here"}); });
    };
    CHECK_THAT(refused("gossip"), says(key.name + " = \"gossip\" is not allowed") &&
                                      says(std::string("one of: ") + choice->names.front()));
    CHECK_THAT(refused(""), says("is not allowed"));
    CHECK(choice->name() == std::string(choice->names.back()));  // nothing was changed
  }
  CHECK(seen == 28);
}
