#include <fstream>
#include <set>

#include "analyse/read_all.h"
#include "analyse/run_store.h"
#include "core/files.h"
#include "record/json_line.h"
#include "record/run_tree.h"
#include "record/tfevents_writer.h"
#include "support/catch.h"
#include "support/event_bytes.h"
#include "support/says.h"
#include "support/set_clock.h"
#include "support/temp_folder.h"

namespace isobar::test_run_store {

namespace fs = std::filesystem;

namespace {

std::string stream(int steps, bool ended) {
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", "01_baseline")
                        .add("preset", "cpu_tiny")
                        .add("host", "elsewhere")
                        .add("wanted_steps", steps)
                        .text();
  out += JsonLine("note").add("steps_per_epoch", 10).text();
  for (int i = 0; i < steps; ++i) {
    out += JsonLine("step")
               .add("step", i)
               .add("t_us", 1000 * (i + 1))
               .add("samples", 4)
               .add("step_us", 1000)
               .add("load_us", 100)
               .add("forward_us", 400)
               .add("loss", 2.0 / (i + 1))
               .text();
  }
  out += JsonLine("eval")
             .add("step", steps)
             .add("loss", 0.3)
             .add("rmse_u10m", 0.2)
             .add("persistence_rmse_u10m", 0.34)
             .text();
  if (ended) {
    out += JsonLine("summary")
               .add("steps", steps)
               .add("samples", 4 * steps)
               .add("wall_us", 1000 * steps)
               .add("first_loss", 2.0)
               .add("loss", 2.0 / steps)
               .add("samples_per_s", 4000.0)
               .add("step_us", 1000.0)
               .add("load_us", 100)
               .add("forward_us", 400)
               .add("valid_loss", 0.3)
               .add("rmse_u10m", 0.2)
               .add("persistence_rmse_u10m", 0.34)
               .text();
    out += JsonLine("end").add("status", "done").add("reason", "").text();
  }
  return out;
}

fs::path make(const TempFolder& folder, const std::string& name, const std::string& text) {
  const fs::path path = folder / name;
  fs::create_directories(path);
  write_file_whole(path / "run.toml", std::string_view("[optim]\nlr = 0.5\ngrid = [1, 2]\n"));
  write_file_whole(path / "rank-0000.jsonl", std::string_view(text));
  return path;
}

}  // namespace

TEST_CASE("A glance at a finished run says what reading all of it says") {
  const TempFolder folder;
  for (const int steps : {5, 5000}) {
    const fs::path path = make(folder, "run" + std::to_string(steps), stream(steps, true));
    RunReader reader(path);
    while (reader.update()) {
    }
    const RunView seen = glance(path);
    const RunView& all = reader.view();
    CHECK(seen.state == RunState::done);
    CHECK(all.state == RunState::done);
    CHECK(seen.summary.steps == all.summary.steps);
    CHECK(seen.summary.samples == all.summary.samples);
    CHECK(seen.summary.samples_per_s == Approx(all.summary.samples_per_s));
    CHECK(seen.summary.rmse == Approx(all.summary.rmse));
    CHECK(seen.summary.last_loss == Approx(all.summary.last_loss));
    CHECK(seen.summary.first_loss == Approx(all.summary.first_loss));
    CHECK(seen.summary.stages_us.size() == all.summary.stages_us.size());
    CHECK(seen.preset == "cpu_tiny");
  }
}

TEST_CASE("A glance sees the end of a run however much junk lies behind it") {
  const TempFolder folder;
  int number = 0;
  for (const std::size_t bytes : std::vector<std::size_t>{20'000, 49'000, 60'000, 700'000}) {
    for (const std::string& junk : {std::string(bytes, '\0'), std::string(bytes, 'x') + "\n",
                                    "{\"kind\":\"step\",\"note\":\"" + std::string(bytes, 'y')}) {
      const fs::path path = make(folder, std::to_string(number++), stream(5000, true) + junk);
      RunReader reader(path);
      while (reader.update()) {
      }
      const RunView seen = glance(path);
      CHECK(seen.state == reader.view().state);
      CHECK(seen.state == RunState::done);
      CHECK(seen.summary.steps == reader.view().summary.steps);
      CHECK(seen.summary.rmse == Approx(reader.view().summary.rmse));
    }
  }
}

TEST_CASE("Of a run without an end a glance says what its tail says, and leaves the rest unknown") {
  const TempFolder folder;
  const RunView seen = glance(make(folder, "run", stream(5000, false)));
  CHECK(seen.summary.steps == 5000);
  CHECK(seen.summary.last_loss == Approx(2.0 / 5000));
  CHECK(seen.summary.samples == 0);
  CHECK(seen.summary.samples_per_s == Approx(4000));
}

TEST_CASE("A store lists all, reads what is open, and notices what comes, grows, goes and returns") {
  SetClock clock;
  const TempFolder folder;
  const fs::path one = make(folder, "one", stream(20, true));
  make(folder, "two", stream(30, true));
  RunStore store({folder.path()});
  read_all(store);
  auto seen = store.snapshot();
  REQUIRE(seen->runs.size() == 2);
  CHECK_FALSE(seen->find(one.string())->detail);
  store.open({one.string()});
  read_all(store);
  seen = store.snapshot();
  REQUIRE(seen->find(one.string())->detail);
  CHECK(seen->find(one.string())->detail->series.step_rows() == 20);
  CHECK(seen->find(one.string())->detail->config ==
        std::vector<std::pair<std::string, std::string>>{{"optim.grid", "[1, 2]"}, {"optim.lr", "0.5"}});
  const auto before = seen;
  std::ofstream(one / "rank-0000.jsonl", std::ios::app)
      << JsonLine("step").add("step", 20).add("step_us", 1).text();
  read_all(store);
  CHECK(store.snapshot()->find(one.string())->detail->series.step_rows() == 21);
  CHECK(before->find(one.string())->detail->series.step_rows() == 20);
  const fs::path three = make(folder, "three", stream(5, true));
  fs::remove_all(one);
  clock.advance_us(1'000'000);  // it looks again once a second, and no sooner
  read_all(store);
  CHECK_FALSE(store.snapshot()->find(three.string()));
  clock.advance_us(1);
  read_all(store);
  seen = store.snapshot();
  CHECK(seen->runs.size() == 3);
  CHECK(seen->find(three.string()));
  CHECK(seen->find(one.string())->gone);
  make(folder, "one", stream(7, true));
  clock.advance_us(1'000'001);  // it looks again once a second
  read_all(store);
  seen = store.snapshot();
  CHECK_FALSE(seen->find(one.string())->gone);
  CHECK(seen->find(one.string())->detail->series.step_rows() == 7);
  store.open({});
  CHECK_FALSE(store.snapshot()->find(one.string())->detail);
}

TEST_CASE("Places that take long to list are listed less often") {
  struct SlowClock final : Clock {
    SlowClock() { set_clock(this); }
    ~SlowClock() { set_clock(nullptr); }
    std::int64_t now_us() const override { return now += a_look; }
    void wait(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t) override {}
    mutable std::int64_t now = 1'000'000'000;
    std::int64_t a_look = 100'000;
  } clock;
  const TempFolder folder;
  make(folder, "exp/one", stream(3, true));
  RunStore store({folder.path()});
  store.update(std::chrono::milliseconds(50));  // which takes 0.2 s by this clock
  clock.a_look = 0;
  const fs::path deep = make(folder, "exp/late", stream(3, true));
  const auto sees = [&](const fs::path& run, std::int64_t after_us) {
    clock.now += after_us;
    store.update(std::chrono::milliseconds(50));
    return store.snapshot()->find(run.string()) != nullptr;
  };
  CHECK_FALSE(sees(deep, 18'000'000));  // a hundred times as long
  CHECK(sees(deep, 2'000'001));
  // What is new in the place itself changes its time stamp, and is seen within a second.
  clock.a_look = 100'000;
  CHECK(sees(deep, 60'000'000));  // slow again
  clock.a_look = 0;
  const fs::path near = make(folder, "near", stream(3, true));
  CHECK(sees(near, 1'000'001));
}

TEST_CASE("Runs and event files are found at any depth, named by their path below the place") {
  const TempFolder folder;
  const auto events = [&](const fs::path& below) {
    TfEventsWriter(folder / below.string(), "host").scalar("Loss/train", 0.5, 7);
  };
  for (const char* const logs :
       {"base/1GPU/00/logs", "base/2GPU/00/logs", "base/2GPU/00/logs/more", ".hidden/logs"})
    events(logs);
  make(folder, "direct", stream(3, true));
  make(folder, "exp/one", stream(4, true));
  make(folder, "exp/one/within", stream(4, true));  // what is in a run is of that run
  events("exp/one/tb");
  fs::create_directory_symlink("..", folder / "exp/up");
  fs::create_directory_symlink("../base", folder / "exp/base");
  fs::create_directory_symlink("loop", folder / "loop");
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "d/";
  make(folder, deep + "too-deep", stream(3, true));
  RunStore store({folder.path()});
  read_all(store);
  std::set<std::string> names;
  const auto snapshot = store.snapshot();
  for (const auto& run : snapshot->runs) {
    names.insert(run->name);
    CHECK(run->foreign == (run->name.find("logs") != std::string::npos));
  }
  REQUIRE(snapshot->problems.size() == 1);
  CHECK_THAT(snapshot->problems[0], says("1 folder left out: it lies more than 32 deep"));
  CHECK(names == std::set<std::string>{"base/1GPU/00/logs", "base/2GPU/00/logs", "base/2GPU/00/logs/more",
                                       "direct", "exp/one"});
  // Later ones are found too, below known event files as well; a run that moves is another run.
  events("base/1GPU/00/logs/later");
  fs::rename(folder / "exp/one", folder / "exp/two");
  CHECK(folders_with(folder.path(), "run.toml").size() == 2);
  RunStore again({folder.path()});
  read_all(again);
  CHECK(again.snapshot()->find((folder / "base/1GPU/00/logs/later").string()));
  CHECK(again.snapshot()->find((folder / "exp/two").string())->name == "exp/two");
}

TEST_CASE("Places that are files, are not there, or are runs themselves") {
  const TempFolder folder;
  const fs::path run = make(folder, "run", stream(3, true));
  write_file_whole(folder / "file", std::string_view("x"));
  RunStore store({folder / "nothing", folder / "file", run});
  read_all(store);
  const auto seen = store.snapshot();
  CHECK(seen->runs.size() == 1);
  REQUIRE(seen->problems.size() == 2);
  CHECK(seen->problems[0].find("is not there yet") != std::string::npos);
  CHECK(seen->problems[1].find("is no folder") != std::string::npos);
  CHECK(seen->find((folder / "elsewhere").string()) == nullptr);
}

TEST_CASE("A broken run.toml is said, and the stream is shown all the same") {
  const TempFolder folder;
  const fs::path run = make(folder, "run", stream(3, true));
  write_file_whole(run / "run.toml", std::string_view("[["));
  RunStore store({run});
  store.open({run.string()});
  read_all(store);
  const auto entry = store.snapshot()->find(run.string());
  REQUIRE(entry->detail);
  CHECK(entry->detail->series.step_rows() == 3);
  CHECK_FALSE(entry->problem.empty());
}

TEST_CASE("Each start of a program leaves an event file, and all of them are read, live too") {
  const TempFolder folder;
  const auto start = [&](int file, int first, int steps) {
    std::string bytes;
    for (int i = first; i < first + steps; ++i)
      bytes += tf_event(static_cast<std::uint64_t>(i), tf_value("loss", tf_simple(i)), 1.7e9 + file);
    write_file_whole(folder / ("events.out.tfevents." + std::to_string(999'999'950 + file) + ".host.1.0"),
                     std::string_view(bytes));
  };
  for (int i = 0; i < 70; ++i) start(i, 10 * i, 10);  // the 51st has more digits than those before it
  RunStore store({folder.path()});
  store.open({folder.path().string()});
  read_all(store);
  const auto loss = [&] { return store.snapshot()->runs.at(0)->detail->series.find("loss"); };
  CHECK(loss().curve->y.size() == 700);
  CHECK(loss().curve->y.back() == 699);
  CHECK(store.snapshot()->runs[0]->detail->series.left_out().empty());
  std::size_t open_files = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code code;
    const fs::path target = fs::read_symlink(entry.path(), code);
    if (target.string().find("tfevents") != std::string::npos) ++open_files;
  }
  CHECK(open_files == 0);
  start(70, 695, 10);  // it goes on from its checkpoint
  EventFiles files;
  RunSeries series;
  const auto take = [&](const TfScalar& scalar) {
    series.take_scalar(scalar.tag, static_cast<double>(scalar.step), scalar.wall_time_s, scalar.value,
                       scalar.session);
  };
  while (files.update(folder.path(), take)) {
  }
  CHECK(files.size() == 71);
  CHECK(series.find("loss").curve->y.size() == 705);
  CHECK(series.left_out().count("value") == 5);
  start(71, 705, 5);
  while (files.update(folder.path(), take)) {
  }
  CHECK(series.find("loss").curve->y.size() == 710);
}

TEST_CASE("More event files than are read leave the oldest out, and that is counted") {
  const TempFolder folder;
  constexpr std::size_t kMore = 3;
  write_file_whole(folder / "one", std::string_view(""));
  for (std::size_t i = 0; i < kMostEventFiles + kMore; ++i)
    fs::create_hard_link(folder / "one", folder / ("events.out.tfevents." + std::to_string(i) + ".host"));
  const EventFileList found = event_files(folder.path());
  CHECK(found.paths.size() == kMostEventFiles);
  CHECK(found.paths.front().filename() == "events.out.tfevents.3.host");
  CHECK(found.left_out.count("event file") == kMore);
}

TEST_CASE("What lies before a value in an event file, however long, does not hide it") {
  const TempFolder folder;
  const std::string drawing = tf_record(bytes_field(4, std::string(9 << 20, 'g')));  // of a model
  write_file_whole(
      folder / "events.out.tfevents.1.host",
      std::string_view(drawing + drawing + drawing + tf_event(3, tf_value("loss", tf_simple(1)))));
  std::size_t scalars = 0;
  EventFiles files;
  while (files.update(folder.path(), [&](const TfScalar&) { ++scalars; })) {
  }
  CHECK(scalars == 1);
}

}  // namespace isobar::test_run_store
