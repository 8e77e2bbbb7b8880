// What `show` says while a run goes on, of a run that is played by a clock which the test moves.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "cli/run_lines.h"
#include "core/files.h"
#include "log/replay.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/made_ranks.h"
#include "support/set_clock.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSecond = 1'000'000;

/// A thread that follows a run; what it said is in a file once it is over.
class Following {
 public:
  Following(const fs::path& run, fs::path file, FollowUntil until = {})
      : file_(std::move(file)), reader_(run), thread_([this, until] {
          Console console;
          console.keep_in(file_);
          console.be_quiet();
          whole_ = follow_run(reader_, console, until);
          console.finish();
          over_ = true;
        }) {}

  bool is_over() const { return over_; }
  /// What it said, and whether to the end of the run.
  std::pair<std::string, bool> end() {
    thread_.join();
    return {read_text_file(file_, 100'000), whole_};
  }

 private:
  fs::path file_;
  RunReader reader_;
  std::atomic<bool> over_ = false;
  bool whole_ = false;
  std::thread thread_;
};

/// 30 steps of a second, scored after the tenth and the twentieth.
void write(const TempFolder& folder, const std::string& status) {
  MadeRanks made{.world = 1, .steps = 30, .end = "", .step_us = kSecond};
  std::string stream = made.stream(0);
  for (const int step : {10, 20})
    stream += JsonLine("eval").add("step", step).add("t_us", (20 + step) * kSecond).add("loss", 0.25).text();
  stream += JsonLine("end").add("status", status).add("reason", "").text();
  fs::create_directories(folder / "one");
  write_file_whole(folder / "one/rank-0000.jsonl", std::string_view(stream));
}

/// Moves the clock by `step_us` until `over`, whenever `threads` wait on it; how often.
int move_until(SetClock& clock, std::int64_t step_us, const std::function<std::size_t()>& threads,
               const std::function<bool()>& over) {
  for (int moved = 0;; ++moved) {
    while (!over() && !clock.has_waiting(threads())) std::this_thread::yield();
    if (over()) return moved;
    clock.advance_us(step_us);
  }
}

/// Who follows, and the file of what it says.
constexpr std::size_t kFollowing = 2;

}  // namespace

TEST_CASE("following tells each score once and ends with the run, by the clock alone") {
  const TempFolder folder;
  write(folder, "done");
  SetClock clock;
  Replay replay(folder / "one", folder / "again", {.speed = 10});
  ReplayThread playing(replay);
  Following following(folder / "again", folder / "said");
  // 40 s at 10x are 4; the last look is up to a tenth of a second later. The player, who follows, and its
  // file wait.
  const int moved = move_until(
      clock, 100'000, [&] { return kFollowing + (playing.is_over() ? 0 : 1); },
      [&] { return following.is_over(); });
  CHECK(moved >= 40);
  CHECK(moved <= 45);
  const auto [said, whole] = following.end();
  CHECK(whole);
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
  CHECK(said.find("after      10 steps") < said.find("after      20 steps"));
  CHECK(said.find("after      20 steps") != std::string::npos);
}

TEST_CASE("who is told to stop leaves the run alone; who is told that more comes waits for it") {
  const TempFolder folder;
  write(folder, "stopped");
  SetClock clock;
  {
    Replay replay(folder / "one", folder / "again", {});
    ReplayThread playing(replay);
    std::atomic<bool> enough = false;
    Following following(folder / "again", folder / "said", {.stop = [&] { return enough.load(); }});
    clock.until_waiting(kFollowing + 1);
    enough = true;
    move_until(
        clock, 100'000, [] { return kFollowing + 1; }, [&] { return following.is_over(); });
    CHECK_FALSE(following.end().second);
    CHECK_FALSE(playing.is_over());
  }
  std::atomic<bool> more = true;
  Following following(folder / "one", folder / "later", {.more_comes = [&] { return more.load(); }});
  for (int i = 0; i < 5; ++i) {
    clock.until_waiting(kFollowing);  // it looks again and again, though the run said its end
    clock.advance_us(200'000);
  }
  CHECK_FALSE(following.is_over());
  more = false;
  move_until(
      clock, 200'000, [] { return kFollowing; }, [&] { return following.is_over(); });
  CHECK(following.end().second);
}
