#include "config/lesson.h"
#include "core/files.h"
#include "course/question.h"
#include "course/tour.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

/// A project with one tour and one file.
struct Walk {
  TempFolder home;
  explicit Walk(const std::string& tour) {
    fs::create_directories(home / "lessons/01_baseline");
    write_file_whole(home / "lessons/01_baseline/tour.toml", std::string_view(tour));
    write_file_whole(home / "lessons/01_baseline/main.cpp",
                     std::string_view("a\n  first();\nb\nfirst();\nend\n"));
  }
  std::vector<TourStop> stops() const { return read_tour(home.path(), "01_baseline"); }
};

constexpr const char* kStop =
    "[[stop]]\nname = \"one\"\nasks = \"Where?\"\nsays = \"There.\"\nanchors = [\"first()\"]\nat = 2\n";

}  // namespace

TEST_CASE("Every stop of every tour is found where its words were last read over") {
  int count = 0;
  for (const std::string& lesson : lesson_names(project_home())) {
    for (const TourStop& stop : read_tour(project_home(), lesson)) {
      ++count;
      const TourPlace place = place_of(stop, project_home());
      INFO(stop.origin << ": " << stop.file << " has it at line " << place.ranges.front().first
                       << " now: read over what is said of it, then write at = "
                       << place.ranges.front().first);
      CHECK(place.ranges.front().first == stop.at);
      CHECK_THAT(place.lines.front(), says(stop.anchors.front()));
      CHECK(stop.asks.back() == '?');
    }
    CHECK(read_tour(project_home(), lesson).size() >= 4);
  }
  CHECK(count > 40);
}

TEST_CASE("Questions that ask for a line name a stop, and the stop names them") {
  int count = 0;
  for (const std::string& lesson : lesson_names(project_home())) {
    for (const Question& question : read_questions(project_home(), lesson)) {
      if (question.rule != "line") continue;
      ++count;
      INFO(question.id);
      REQUIRE(question.with.count("stop") == 1);
      CHECK(find_stop(project_home(), lesson, question.with.at("stop").front()).question == question.id);
    }
  }
  CHECK(count >= 13);
}

TEST_CASE("A line that moved is found again, and one that is gone is told") {
  const Walk walk(kStop);
  const TourStop stop = walk.stops().front();
  CHECK(stop.file == "lessons/01_baseline/main.cpp");
  CHECK(place_of(stop, walk.home.path()).ranges.front().first == 2);
  CHECK(place_of(stop, walk.home.path()).ranges.size() == 2);
  const fs::path file = walk.home / "lessons/01_baseline/main.cpp";
  write_file_whole(file, std::string_view("new\nnew\nfirst();\n"));
  CHECK(place_of(stop, walk.home.path()).ranges.front().first == 3);
  CHECK(place_of(stop, walk.home.path()).lines.front() == "first();");
  write_file_whole(file, std::string_view("new\n"));
  CHECK_THAT(failure_of([&] { place_of(stop, walk.home.path()); }),
             says("no line with `first()`: was it changed?"));
}

TEST_CASE("A tour that is wrong is named with its place") {
  const auto refusal = [](const std::string& tour) {
    const Walk walk(tour);
    return error_of([&] { walk.stops(); });
  };
  const std::string good = kStop;
  CHECK_THAT(refusal("[[stopp]]\nname = \"x\"\n"), says("no key \"stopp\""));
  CHECK_THAT(refusal(good + "where = \"x\"\n"), says("no key \"where\"") && says("tour.toml:7"));
  CHECK_THAT(refusal("[[stop]]\nname = \"x\"\n"), says("wants name, asks, says, anchors and at"));
  CHECK_THAT(refusal(good + "file = \"../x\"\n"), says("file wants a file of the project"));
  CHECK_THAT(refusal(good + "ends = 3\n"), says("ends wants a list of strings"));
  const Walk walk(good);
  CHECK_THAT(error_of([&] { find_stop(walk.home.path(), "01_baseline", "onn"); }), says("did you mean one?"));
  CHECK(read_tour(walk.home.path(), "02_workers").empty());
}
