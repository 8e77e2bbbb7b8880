#include "config/load.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

std::string error_of_file(const std::string& text) {
  const TempFolder folder;
  write_file_whole(folder / "my.toml", text);
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  return error_of(
      [&] { load_config(project_home(), lesson, {.config_files = {folder / "my.toml"}}, "cpu"); });
}

std::string error_of_set(const std::string& set) {
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  return error_of([&] { load_config(project_home(), lesson, {.sets = {set}}, "cpu"); });
}

}  // namespace

TEST_CASE("an unknown key is said with its place and the nearest known one") {
  CHECK_THAT(error_of_file("[optim]\n\nlrr = 1e-3\n"),
             says("my.toml:3:1") && says("optim.lrr") && says("mean optim.lr?"));
  CHECK_THAT(error_of_set("train.step=5"), says("--set train.step=5") && says("mean train.steps?"));
  CHECK_THAT(error_of_set("zebra=5"), says("lessons/base.toml"));
}

TEST_CASE("a wrong type is said with what was wanted and what came") {
  CHECK_THAT(error_of_file("[train]\nsteps = \"four\"\n"),
             says("my.toml:2:1") && says("an integer") && says("the string \"four\""));
  CHECK_THAT(error_of_file("train.steps = 1e3\n"), says("an integer") && says("without a point or exponent"));
  CHECK_THAT(error_of_file("data.grid = [72]\n"), says("two integers"));
  CHECK_THAT(error_of_file("data.grid = [72, 144.5]\n"), says("two integers") && says("a list of 2 numbers"));
  CHECK_THAT(error_of_file("data.shuffle = 1\n"), says("true or false"));
  CHECK_THAT(error_of_file("optim.lr = 2020-01-01\n"), says("a number") && says("date"));
  CHECK_THAT(error_of_set("train.steps=four"), says("an integer") && says("\"four\""));
  CHECK_THAT(error_of_set("train.steps=4\ndata.dt=2"), says("one line"));
}

TEST_CASE("values out of range or not among the choices are refused with what is allowed") {
  CHECK_THAT(error_of_set("train.steps=0"), says("train.steps = 0") && says("at least 1"));
  CHECK_THAT(error_of_set("optim.beta1=1.0"), says("at least 0 and less than 1"));
  CHECK_THAT(error_of_set("optim.lr=0.0"), says("more than 0"));
  CHECK_THAT(error_of_set("optim.lr=nan"), says("not allowed"));
  CHECK_THAT(error_of_set("optim.lr=inf"), says("not allowed"));
  CHECK_THAT(error_of_set("data.grid=[0, 8]"), says("at least 1"));
  CHECK_THAT(error_of_set("loader.kind=dali"), says("one of: inline"));
  CHECK_THAT(error_of_set("run.threads=-1"), says("at least 0"));
}

TEST_CASE("what does not fit together is refused with a way out") {
  CHECK_THAT(error_of_set("data.grid=[72, 150]"), says("150 columns") && says("patches of 8") && says("144"));
  CHECK_THAT(error_of_set("model.patch=7"), says("72 rows") && says("model.patch"));
  CHECK_THAT(error_of_set("model.heads=5"), says("96") && says("5 equal heads") && says("model.embed = 95"));
}

TEST_CASE("a run that only measures goes on with no other, and reads only what can be read") {
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  const auto refused = [&](const std::vector<std::string>& sets, const std::string& resume = "") {
    return error_of([&] { load_config(project_home(), lesson, {.sets = sets, .resume = resume}, "cpu"); });
  };
  CHECK_THAT(refused({"run.measure=full"}, "runs/x"),
             says("cannot continue another") && says("--resume runs/x"));
  CHECK_THAT(refused({"run.measure=io", "data.source=synthetic"}),
             says("nothing to read") && says("data.source=files"));
  CHECK_THAT(refused({"run.measure=oi"}), says("one of: none, full, io, synthetic"));
  CHECK_NOTHROW(
      load_config(project_home(), lesson, {.sets = {"run.measure=full", "data.source=synthetic"}}, "cpu"));
}

TEST_CASE("a fault of threads that read is refused where there are too few of them for it to show") {
  const LessonInfo lesson = read_lesson(project_home(), "02_workers");
  const auto load = [&](const std::string& fault, int workers) {
    const std::vector<std::string> sets = {"run.fault=" + fault, "data.workers=" + std::to_string(workers)};
    load_config(project_home(), lesson, {.sets = sets}, "cpu");
  };
  for (const char* fault : {"slow_worker", "respawn"}) {
    CHECK_THAT(error_of([&] { load(fault, 0); }),
               says(fault) && says("0 workers") && says("--set data.workers=0") && says("data.workers=1"));
    CHECK_NOTHROW(load(fault, 1));
  }
  CHECK_THAT(error_of([&] { load("same_seed_workers", 1); }), says("1 worker") && says("data.workers=2"));
  CHECK_NOTHROW(load("same_seed_workers", 2));
  CHECK_NOTHROW(load("slow_loader", 0));  // the loop is slow itself
  CHECK_NOTHROW(load("oversubscribe", 0));
}

TEST_CASE("files that are not sound TOML are refused with line and column") {
  CHECK_THAT(error_of_file("[train]\nsteps = \n"), says("not TOML") && says("my.toml:2:"));
  CHECK_THAT(error_of_file("train.steps = 1\ntrain.steps = 2\n"), says("my.toml:2:"));
  CHECK_THAT(error_of_file(std::string("a = 1\nb = \0", 11)), says("NUL") && says("my.toml:2"));
  CHECK_THAT(error_of_file("name = \"\xff\xfe\"\n"), says("not TOML"));
  CHECK_THAT(error_of_file(std::string(1 << 20, '#') + "#"), says("at most 1048576"));
}

TEST_CASE("line endings and byte order marks of other systems are fine") {
  const TempFolder folder;
  write_file_whole(folder / "my.toml", "\xef\xbb\xbf[train]\r\nsteps = 5\r\n");
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  CHECK(
      load_config(project_home(), lesson, {.config_files = {folder / "my.toml"}}, "cpu").config.train.steps ==
      5);
}

TEST_CASE("--set wants key=value, presets and lessons must exist") {
  CHECK_THAT(error_of_set("train.steps"), says("key=value"));
  CHECK_THAT(error_of_set("=5"), says("key=value"));
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  CHECK_THAT(error_of([&] { load_config(project_home(), lesson, {.preset = "cpu_tinny"}, "cpu"); }),
             says("mean cpu_tiny?") && says("cpu_micro"));
  CHECK_THAT(error_of([&] { load_config(project_home(), lesson, {.preset = "../base"}, "cpu"); }),
             says("no preset"));
  CHECK_THAT(error_of([&] { read_lesson(project_home(), "01_baselin"); }), says("mean 01_baseline?"));
  CHECK_THAT(
      error_of([&] { load_config(project_home(), lesson, {.config_files = {"/nowhere/a.toml"}}, "cpu"); }),
      says("/nowhere/a.toml"));
}

TEST_CASE("a key that a lesson does not honour is refused, and the lesson that brings it is named") {
  const TempFolder home;
  std::filesystem::create_directories(home / "lessons/presets");
  std::filesystem::create_directories(home / "lessons/01_first");
  std::filesystem::create_directories(home / "lessons/02_second");
  std::filesystem::copy(project_home() / "lessons/base.toml", home / "lessons/base.toml");
  write_file_whole(home / "lessons/01_first/lesson.toml", "title = \"a\"\nintroduces = [\"optim.lr\"]\n");
  write_file_whole(home / "lessons/02_second/lesson.toml",
                   "title = \"b\"\nprevious = \"01_first\"\nintroduces = [\"train.seed\"]\n");
  const auto load = [&](const std::string& lesson, const std::string& set) {
    return load_config(home.path(), read_lesson(home.path(), lesson), {.sets = {set}}, "cpu");
  };
  CHECK_THAT(error_of([&] { load("01_first", "train.seed=5"); }),
             says("01_first does not honour train.seed") && says("02_second brings it"));
  CHECK_THAT(error_of([&] { load("01_first", "data.dt=5"); }), says("no lesson here brings it"));
  CHECK(load("01_first", "train.seed=1").config.train.seed == 1);  // the default changes nothing
  CHECK(load("02_second", "train.seed=5").config.train.seed == 5);
  CHECK(load("02_second", "optim.lr=5").config.optim.lr == 5);
}

TEST_CASE("a lesson's sheet is checked like every other file") {
  const TempFolder home;
  std::filesystem::create_directories(home / "lessons/01_first");
  write_file_whole(home / "lessons/01_first/lesson.toml", "title = 5\n");
  CHECK_THAT(error_of([&] { read_lesson(home.path(), "01_first"); }),
             says("title wants a string") && says("lesson.toml:1:1"));
  write_file_whole(home / "lessons/01_first/lesson.toml", "titel = \"a\"\n");
  CHECK_THAT(error_of([&] { read_lesson(home.path(), "01_first"); }), says("no key \"titel\""));
  const auto refused = [](const std::string& sheet) {
    return error_of([&] { parse_lesson(sheet, "01_first", "lesson.toml"); });
  };
  CHECK_THAT(refused("titel = \"a\"\n"), says("mean title?") && says("lesson.toml:1:1"));
  CHECK_THAT(refused("[presets]\ngpu = \"short\"\n"), says("presets.gpu") && says("lesson.toml:2:1"));
  CHECK_THAT(refused("drops = [\"optim.lrr\"]\n"), says("no key \"optim.lrr\"") && says("mean optim.lr?"));
  CHECK_THAT(refused("drops = [\"optim.rate\"]\n"), says("no key \"optim.rate\"") && says("mean optim.lr?"));
  CHECK_THAT(refused("introduces = [\"data.root\", 3]\n"), says("a list of strings"));
  CHECK_THAT(refused("diff_budget = -1\n"), says("from 0 to 1000"));
  CHECK_THAT(refused("diff_budget = 4294967297\n"), says("from 0 to 1000"));
  CHECK_THAT(refused("needs = \"tpu\"\n"), says("\"cuda\""));
  for (const char* const rate : {"inf", "nan", "-1", "0", "9,3", "9.3 ", ""}) {
    CHECK_THAT(refused("[published]\nsamples_per_s = [\"" + std::string(rate) + "\"]\n"), says("above 0"));
  }
  CHECK_THAT(refused("[published]\nyears = [2023]\n"), says("as many"));
}
