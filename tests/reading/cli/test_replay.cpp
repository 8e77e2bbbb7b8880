// ./isobar show RUN --replay as it is typed. How it keeps time is in tests/reading/analyse and test_follow.
#include <thread>

#include "cli/programs.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_ranks.h"

namespace isobar::test_replay {

namespace fs = std::filesystem;

namespace {

/// runs/one of two ranks, which is over, and an empty place for temporary files.
class World {
 public:
  explicit World(int steps = 20) {
    fs::create_directories(temporary());
    MadeRanks made{.steps = steps};
    const TempFolder folder;
    made.write(folder);
    fs::create_directories(work() / "runs");
    fs::copy(folder.path(), work() / "runs/one", fs::copy_options::recursive);
  }
  ProcessResult show(std::vector<std::string> words, ProcessOptions options = {}) const {
    words.insert(words.begin(), "show");
    options.folder = work().string();
    options.environment.push_back("TMPDIR=" + temporary().string());
    return programs_.run(words, options);
  }
  fs::path work() const { return programs_.folder() / "work"; }
  fs::path temporary() const { return programs_.folder() / "tmp"; }

 private:
  Programs programs_;
};

std::string behind_first_line(const std::string& text, const std::string& of) {
  return text.substr(text.find('\n', text.find(of)) + 1);
}

}  // namespace

TEST_CASE("a replay ends with what show says of the run, marked, and nothing of it is left") {
  const World world;
  const ProcessResult shown = world.show({"one"});
  const ProcessResult played = world.show({"one", "--replay", "100000x"});
  REQUIRE(played.code == 0);
  CHECK(played.err.empty());
  CHECK_THAT(played.out, says("replay of one at 100000x: 2.0 s in") &&
                             says("one  done  [replay of one at 100000x]") && says("ranks        2"));
  CHECK(behind_first_line(played.out, "one  done") == behind_first_line(shown.out, "one  done"));
  CHECK(fs::is_empty(world.temporary()));
}

TEST_CASE("a replay into a folder is a run there, which says what it is") {
  const World world;
  const ProcessResult played = world.show({"runs/one/", "--replay", "100000", "--into", "runs/again"});
  REQUIRE(played.code == 0);
  CHECK_THAT(played.out, says("live in runs/again") && says("run          runs/again"));
  CHECK_THAT(world.show({"again"}).out, says("again  done  [replay of one at 100000x]"));
  CHECK_THAT(world.show({"again", "--json"}).out, says(R"("replay_of":"one")"));
  CHECK_THAT(world.show({"one", "--replay", "1x", "--into", "runs/again"}).err, says("already"));
  // What plays into a folder that takes nothing says so, and does not wait for the end.
  const ProcessResult full =
      world.show({"one", "--replay", "100000x", "--into", "runs/full"}, {.file_limit_bytes = 1000});
  CHECK(full.code == 1);
  CHECK_THAT(full.err, says("runs/full/rank-000"));
}

TEST_CASE("Ctrl-C ends a replay kindly, and leaves nothing behind") {
  const World world(1000);
  const auto begun = [&] {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(world.temporary())) {
      if (entry.path().filename() == "rank-0001.jsonl") return true;
    }
    return false;
  };
  for (const int signal : {2, 15, 1}) {
    const ProcessResult stopped =
        world.show({"one", "--replay", "0.01x"}, {.signal = signal, .interrupt_when = begun});
    INFO(stopped.err);
    CHECK(stopped.code == 128 + signal);
    CHECK_THAT(stopped.out, says("the replay was stopped after 0 of 1000 steps"));
    CHECK(fs::is_empty(world.temporary()));
  }
  // Of one that is killed the next one clears away what it left.
  const ProcessResult killed =
      world.show({"one", "--replay", "0.01x"}, {.signal = 9, .interrupt_when = begun});
  CHECK(killed.code == 137);
  CHECK_FALSE(fs::is_empty(world.temporary()));
  CHECK(world.show({"one", "--replay", "1000000x"}).code == 0);
  CHECK(fs::is_empty(world.temporary()));
}

TEST_CASE("what is wrong with a replay is said before anything is played") {
  const World world;
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "one");
    const ProcessResult result = world.show(words);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  for (const char* const speed : {"0", "-1x", "nan", "fast", "1e99"})
    CHECK_THAT(refused({"--replay", speed}), says(std::string("\"") + speed + "\" is no speed"));
  CHECK_THAT(refused({"--replay"}), says("--replay what?"));
  CHECK_THAT(refused({"--into", "x"}), says("--into names"));
  CHECK_THAT(refused({"--replay", "1x", "--into", ""}), says("--into names"));
  CHECK_THAT(refused({"--repaly", "1x"}), says("mean --replay?"));
  for (const char* const other : {"--json", "--types", "--timeline", "--gradients"})
    CHECK_THAT(refused({"--replay", "1x", other}), says("goes with --into and --recorded alone"));
  CHECK(fs::is_empty(world.temporary()));
}

}  // namespace isobar::test_replay
