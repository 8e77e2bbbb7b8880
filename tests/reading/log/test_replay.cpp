// A run that is over is played as a live one, by a clock that stands still until the test moves it.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "analyse/read_all.h"
#include "analyse/run_store.h"
#include "core/files.h"
#include "log/replay.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/set_clock.h"
#include "support/temp_folder.h"
#include "support/until.h"

namespace isobar::test_replay {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSecond = 1'000'000;

/// A run of 20 steps of a second each, scored after the tenth, over after 22 seconds.
struct Made {
  std::string provenance = {};
  std::int64_t pid = 0;
  int attempt = 0;
  int first = 0, steps = 20;
  std::string status = "done";

  std::string head() const {
    JsonLine line("run");
    line.add("schema", 1).add("lesson", "01_baseline").add("host", "elsewhere").add("wanted_steps", 20);
    line.add("pid", pid).add("attempt", attempt).add("from_step", first);
    line.add("from_wall_us", first * kSecond).add("provenance", provenance);
    return line.text() + JsonLine("note").add("text", "plan").add("steps_per_epoch", 5).text();
  }
  std::string text() const {
    std::string out = head();
    for (int step = first; step < steps; ++step) {
      JsonLine line("step");
      line.add("step", step).add("t_us", (step - first + 1) * kSecond).add("samples", 4);
      out += line.add("step_us", kSecond).add("loss", 2.0 / (step + 1)).text();
      if (step == 9)
        out += JsonLine("eval").add("step", 10).add("t_us", 10 * kSecond).add("rmse_u10m", 0.2).text();
    }
    if (status.empty()) return out;
    out += JsonLine("summary").add("steps", steps).add("wall_us", (steps + 2) * kSecond).text();
    return out + JsonLine("end").add("status", status).add("reason", "").text();
  }
};

/// In place of a run, with files beside its stream.
fs::path write(const TempFolder& folder, const std::string& name, const std::string& stream) {
  const fs::path run = folder / name;
  fs::create_directories(run / "fields");
  write_file_whole(run / "run.toml", std::string_view("[optim]\nlr = 0.5\n"));
  write_file_whole(run / "note.txt", std::string_view("a thought"));
  write_file_whole(run / "fields/step-000010.npy", std::string_view("a map"));
  write_file_whole(run / "rank-0000.jsonl", std::string_view(stream));
  return run;
}

/// A run without an end is over when it has not grown for long.
void be_silent(const fs::path& run) {
  fs::last_write_time(run / "rank-0000.jsonl", fs::file_time_type::clock::now() - std::chrono::hours(1));
}

RunView view_of(const fs::path& run) {
  RunReader reader(run);
  while (reader.update()) {
  }
  return reader.view();
}

std::string text_in(const fs::path& file) { return read_text_file(file, 10'000'000); }

std::int64_t lines_in(const fs::path& file) {
  if (!fs::exists(file)) return 0;
  const std::string text = text_in(file);
  return std::count(text.begin(), text.end(), '\n');
}

/// A replay that plays, and the clock it waits on.
class Playing {
 public:
  Playing(const fs::path& run, const fs::path& into, const ReplayOptions& options)
      : replay_(run, into, options) {
    thread_.emplace(replay_);
  }

  /// Returns when all that is due by then is played, and it waits for what comes next or is over.
  void go_on(std::int64_t time_us) {
    until_waiting();
    clock_.advance_us(time_us);
    until_waiting();
  }
  bool is_over() const { return thread_->is_over(); }
  void stop() { thread_->stop(); }
  SetClock& clock() { return clock_; }

 private:
  void until_waiting() {
    while (!thread_->is_over() && !clock_.has_waiting(1)) std::this_thread::yield();
  }

  SetClock clock_;
  Replay replay_;
  std::optional<ReplayThread> thread_;
};

}  // namespace

TEST_CASE("when half of the time is played, half of the steps are there; at 20x it is a twentieth") {
  const TempFolder folder;
  const fs::path run = write(folder, "one", Made{}.text());
  const fs::path again = folder / "again";
  for (const double speed : {1.0, 20.0, 0.5}) {
    INFO(speed);
    Playing playing(run, again, {.speed = speed});
    const auto seconds = [&](double of_the_run) {
      return static_cast<std::int64_t>(of_the_run * kSecond / speed);
    };
    playing.go_on(0);
    CHECK(view_of(again).state == RunState::running);
    CHECK(view_of(again).summary.steps == 0);
    playing.go_on(seconds(10) - 1);
    CHECK(view_of(again).summary.steps == 9);
    CHECK(view_of(again).scores.empty());
    playing.go_on(1);
    CHECK(view_of(again).summary.steps == 10);
    CHECK(view_of(again).scores.size() == 1);
    CHECK(glance(again).state == RunState::running);
    playing.go_on(seconds(12) - 1);
    CHECK(view_of(again).summary.steps == 20);
    CHECK(view_of(again).state == RunState::running);
    CHECK_FALSE(playing.is_over());
    playing.go_on(1);
    CHECK(playing.is_over());
    CHECK(view_of(again).state == RunState::done);
    CHECK(view_of(again).replay_of == "one");
    CHECK(marks_of(view_of(again)).front().find("replay of one at ") == 0);
    fs::remove_all(again);
  }
}

TEST_CASE("the store sees a replay run, and then that it is done; it is nobody's measurement") {
  const TempFolder folder;
  const fs::path run = write(folder, "one", Made{.pid = getpid()}.text());
  fs::create_directories(folder / "runs");
  Playing playing(run, folder / "runs/again", {.speed = 1});
  playing.go_on(0);
  RunStore store({folder / "runs"});
  const std::string id = (folder / "runs/again").string();
  store.open({id});
  const auto entry = [&] {
    read_all(store);
    return store.snapshot()->find(id);
  };
  REQUIRE(entry());
  CHECK(entry()->view.state == RunState::running);
  CHECK(entry()->note == "a thought");
  CHECK(entry()->detail->field_steps.empty());
  playing.go_on(15 * kSecond);
  CHECK(entry()->detail->series.step_rows() == 15);
  CHECK(entry()->detail->field_steps == std::vector<std::int64_t>{10});
  CHECK(entry()->view.state == RunState::running);
  CHECK(entry()->view.pid == 0);  // nobody is to stop what wrote it once
  CHECK_FALSE(entry()->view.is_measured_here());
  playing.go_on(7 * kSecond);
  CHECK(entry()->detail->series.step_rows() == 20);
  CHECK(entry()->view.state == RunState::done);
}

TEST_CASE("what was recorded or predicted plays as live, and stays marked") {
  const TempFolder folder;
  for (const char* const provenance : {"recorded", "predicted"}) {
    const fs::path run = write(folder, provenance, Made{.provenance = provenance, .status = ""}.text());
    const fs::path again = folder / (provenance + std::string("-again"));
    Playing playing(run, again, {.speed = 1});
    playing.go_on(3 * kSecond);
    CHECK(view_of(again).state == RunState::running);
    CHECK(view_of(again).provenance == provenance);
    playing.go_on(20 * kSecond);
    CHECK(view_of(again).state == RunState::done);  // such a run needs no end
  }
}

TEST_CASE("a clock that jumps an hour plays all at once, and nothing twice") {
  const TempFolder folder;
  const fs::path run = write(folder, "one", Made{}.text());
  Playing playing(run, folder / "again", {.speed = 1});
  playing.go_on(3600 * kSecond);
  CHECK(playing.is_over());
  std::string played = text_in(folder / "again/rank-0000.jsonl");
  const std::string all = text_in(run / "rank-0000.jsonl");
  // Behind the line with which it begins each byte is what it was.
  CHECK(played.substr(played.find('\n')) == all.substr(all.find('\n')));
  CHECK(text_in(folder / "again/run.toml") == text_in(run / "run.toml"));
  CHECK(text_in(folder / "again/owner").empty());
}

TEST_CASE("ranks come in the order of time, and spans when they end") {
  const TempFolder folder;
  for (int rank = 0; rank < 3; ++rank) {
    std::string stream = JsonLine("run").add("schema", 1).add("rank", rank).add("world", 3).text();
    for (int step = 0; step < 10; ++step)
      stream += JsonLine("step").add("step", step).add("t_us", (step + 1) * kSecond + rank * 1000).text();
    if (rank == 0) write(folder, "one", stream);
    write_file_whole(folder / ("one/rank-000" + std::to_string(rank) + ".jsonl"), std::string_view(stream));
  }
  std::string spans = JsonLine("attempt").add("schema", 1).add("attempt", 0).text();
  spans += JsonLine("span").add("begin_us", 0).add("duration_us", 2 * kSecond + 500).text();
  write_file_whole(folder / "one/rank-0001.spans.jsonl", std::string_view(spans));
  be_silent(folder / "one");
  Playing playing(folder / "one", folder / "again", {.speed = 1});
  const auto steps = [&](int rank) {
    return lines_in(folder / ("again/rank-000" + std::to_string(rank) + ".jsonl")) - 1;
  };
  const auto at = [&](std::int64_t time_us) {
    playing.go_on(time_us);
    return std::vector<std::int64_t>{steps(0), steps(1), steps(2)};
  };
  CHECK(at(0) == std::vector<std::int64_t>{0, 0, 0});
  CHECK(at(2 * kSecond) == std::vector<std::int64_t>{2, 1, 1});
  CHECK(lines_in(folder / "again/rank-0001.spans.jsonl") == 1);
  CHECK(at(500) == std::vector<std::int64_t>{2, 1, 1});
  CHECK(lines_in(folder / "again/rank-0001.spans.jsonl") == 2);
  CHECK(at(500) == std::vector<std::int64_t>{2, 2, 1});
  CHECK(at(1000) == std::vector<std::int64_t>{2, 2, 2});
  CHECK(at(8 * kSecond) == std::vector<std::int64_t>{10, 10, 10});
  CHECK(playing.is_over());
}

TEST_CASE("a run that was cut off in the middle of a line plays to there, and is then said to have died") {
  const TempFolder folder;
  const std::string cut = R"({"kind":"step","step":20,"t_us":21000000,"los)";
  const fs::path run = write(folder, "one", Made{.pid = getpid(), .status = ""}.text() + cut);
  be_silent(run);
  Playing playing(run, folder / "again", {.speed = 1});
  playing.go_on(20 * kSecond - 1);
  CHECK(view_of(folder / "again").state == RunState::running);
  playing.go_on(1);
  CHECK(playing.is_over());
  CHECK(text_in(folder / "again/rank-0000.jsonl").ends_with("\n" + cut));
  const RunView view = view_of(folder / "again");
  CHECK(view.state == RunState::died);
  CHECK(view.summary.steps == 20);
  CHECK(view.unread_lines == 0);
}

TEST_CASE("a resumed run goes on behind its first attempt, and the pause between them is left out") {
  const TempFolder folder;
  const Made first{.steps = 8, .status = "stopped"}, second{.attempt = 1, .first = 6};
  // Of a line that tells of something earlier, the place in the file counts.
  const std::string late = JsonLine("note").add("text", "checkpoint").add("t_us", kSecond).text();
  const fs::path run = write(folder, "one", first.text() + late + second.text());
  write_file_whole(run / "attempt-0001.toml", std::string_view("[optim]\nlr = 0.25\n"));
  const std::string spans = JsonLine("attempt").add("schema", 1).add("attempt", 1).text() +
                            JsonLine("span").add("begin_us", kSecond).add("duration_us", 10).text();
  write_file_whole(run / "rank-0000.spans.jsonl", std::string_view(spans));
  const fs::path again = folder / "again";
  Playing playing(run, again, {.speed = 1});
  playing.go_on(10 * kSecond - 1);
  CHECK(view_of(again).summary.steps == 8);
  CHECK_FALSE(fs::exists(again / "attempt-0001.toml"));
  CHECK_FALSE(fs::exists(again / "rank-0000.spans.jsonl"));
  playing.go_on(1);
  CHECK(view_of(again).attempt == 1);
  CHECK(view_of(again).state == RunState::running);
  CHECK(view_of(again).summary.steps == 6);
  CHECK(text_in(again / "attempt-0001.toml") == "[optim]\nlr = 0.25\n");
  CHECK(lines_in(again / "rank-0000.spans.jsonl") == 1);
  playing.go_on(kSecond + 10);
  CHECK(view_of(again).summary.steps == 7);
  CHECK(lines_in(again / "rank-0000.spans.jsonl") == 2);
  playing.go_on(15 * kSecond - 11);
  CHECK_FALSE(playing.is_over());
  playing.go_on(1);
  CHECK(playing.is_over());
  CHECK(view_of(again).state == RunState::done);
}

TEST_CASE("a replay that is stopped leaves what was played, as of a run that died; a private one nothing") {
  const TempFolder folder;
  const fs::path run = write(folder, "one", Made{}.text());
  fs::path path;
  {
    const PrivateRunFolder own(run / "");
    path = own.path();
    CHECK(path.filename() == "one");
    Playing playing(run, path, {.speed = 1, .with_fields = false});
    playing.go_on(12 * kSecond);
    playing.stop();
    CHECK(view_of(path).state == RunState::died);
    CHECK(view_of(path).summary.steps == 12);
    CHECK_FALSE(fs::exists(path / "fields"));
  }
  CHECK_FALSE(fs::exists(path.parent_path().parent_path()));
}

TEST_CASE("what cannot be played, and where nothing can be written, is said at once") {
  const TempFolder folder;
  const fs::path run = write(folder, "one", Made{}.text());
  const auto refused = [&](const fs::path& from, const fs::path& into) {
    return error_of([&] { Replay(from, into, {}); });
  };
  CHECK_THAT(refused(folder / "nothing", folder / "a"), says("holds no run"));
  const fs::path live = write(folder, "live", Made{.status = ""}.text());
  CHECK_THAT(refused(live, folder / "a"), says("still running") && says("--follow"));
  fs::remove(live / "rank-0000.jsonl");
  CHECK_THAT(refused(live, folder / "a"), says("no stream"));
  CHECK_FALSE(fs::exists(folder / "a"));
  fs::create_directories(folder / "there");
  CHECK_THAT(refused(run, folder / "there"), says("already"));
  CHECK_THAT(refused(run, folder / "there/"), says("already"));
  CHECK_THAT(refused(run, run), says("already"));
  write_file_whole(folder / "file", std::string_view("x"));
  CHECK_THAT(refused(run, folder / "file"), says("already"));
  CHECK_THAT(failure_of([&] { Replay(run, folder / "file/again", {}); }), says("cannot make the folder"));
  const Replay below(run, folder / "new/one/", {});
  CHECK(below.folder() == folder / "new/one");
}

TEST_CASE("what fails in the middle is thrown, and the run does not look alive for ever") {
  const TempFolder folder;
  const fs::path run = write(folder, "one", Made{}.text());
  const SetClock clock;
  Replay replay(run, folder / "again", {});
  fs::create_directories(folder / "again/rank-0000.jsonl");  // where the stream is to be
  ReplayThread playing(replay);
  until([&] { return playing.is_over(); });
  CHECK(playing.failed());
  CHECK_THAT(failure_of([&] { playing.rethrow(); }), says("cannot write the replay"));
  CHECK(text_in(folder / "again/owner").empty());
}

TEST_CASE("a speed is a number with or without an x, and within bounds") {
  const std::pair<const char*, double> good[] = {
      {"20x", 20}, {"20", 20}, {"1x", 1}, {"0.5x", 0.5}, {"1e3", 1000}};
  for (const auto& [text, speed] : good) CHECK(parse_speed(text, "--replay") == speed);
  for (const char* const text : {"", "x", "0", "0x", "-1x", "nan", "nanx", "inf", "fast", "1e99", "1e-9",
                                 "20xx", "20X", " 20", "20 ", "+20", "20,5x", "0x10"}) {
    INFO(text);
    CHECK_THAT(error_of([&] { parse_speed(text, "--replay"); }),
               says("is no speed") && says("20x, 1x, 0.5x"));
  }
}

TEST_CASE("lines that are no events, or longer than a look, come through byte by byte") {
  const TempFolder folder;
  std::string stream = Made{}.head();
  stream += "junk\n\n" + std::string(100'000, 'y') + "\n" + std::string(3 << 20, 'z') + "\n";
  stream += JsonLine("step").add("step", 0).add("t_us", kSecond).text() + std::string(10, '\0') + "\n";
  const fs::path run = write(folder, "one", stream);
  be_silent(run);
  Playing playing(run, folder / "again", {});
  playing.go_on(kSecond);
  CHECK(playing.is_over());
  const std::string played = text_in(folder / "again/rank-0000.jsonl");
  CHECK(played.substr(played.find('\n')) == stream.substr(stream.find('\n')));
}

TEST_CASE("a line that ends where a look at the file ends is a line") {
  const TempFolder folder;
  constexpr std::size_t kLook = 32 << 10;
  for (const std::size_t end : {kLook - 1, kLook, kLook + 1, 2 * kLook}) {
    INFO(end);
    std::string stream = Made{}.head();
    const std::string first = JsonLine("step").add("step", 0).add("t_us", kSecond).text();
    stream += std::string(end - stream.size() - first.size(), 'y') + "\n" + first;  // its newline is at `end`
    stream += JsonLine("step").add("step", 1).add("t_us", 2 * kSecond).text();
    const fs::path run = write(folder, "one", stream);
    be_silent(run);
    Playing playing(run, folder / "again", {});
    playing.go_on(kSecond);
    CHECK(view_of(folder / "again").summary.steps == 1);
    playing.go_on(kSecond);
    CHECK(view_of(folder / "again").summary.steps == 2);
    fs::remove_all(folder / "again");
  }
}

}  // namespace isobar::test_replay
