#include "config/command_line.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

RunArguments parse(const std::vector<std::string>& words) {
  return parse_run_arguments(words, read_lesson(project_home(), "01_baseline"), project_home());
}

}  // namespace

TEST_CASE("options come in any order and number") {
  const RunArguments parsed = parse({"--set", "a=1", "--preset", "cpu_tiny", "--set", "b=x y;$(z)",
                                     "--config", "one.toml", "--config", "two.toml", "--run-dir", "out"});
  CHECK(parsed.settings.preset == "cpu_tiny");
  CHECK(parsed.settings.sets == std::vector<std::string>{"a=1", "b=x y;$(z)"});
  CHECK(parsed.settings.config_files == std::vector<std::filesystem::path>{"one.toml", "two.toml"});
  CHECK(parsed.run_dir == "out");
  CHECK(parse({}).settings.sets.empty());
}

TEST_CASE("the run to go on with is a word of its own, and what it was called before still works") {
  const RunArguments parsed = parse({"--resume", "last", "--set", "a=1"});
  CHECK(parsed.settings.resume == "last");
  CHECK_FALSE(parsed.resumes_by_key);
  const RunArguments by_key =
      parse({"--set", "train.resume=runs/x", "--set", "a=1", "--set", "train.resume='last one'"});
  CHECK(by_key.settings.resume == "last one");
  CHECK(by_key.settings.sets == std::vector<std::string>{"a=1"});
  CHECK(by_key.resumes_by_key);
  CHECK(parse({"--set", "train.resume="}).settings.resume.empty());
  CHECK_THAT(error_of([] { parse({"--resume", "a", "--set", "train.resume=b"}); }), says("named twice"));
  CHECK_THAT(error_of([] { parse({"--resume"}); }), says("--resume"));
}

TEST_CASE("help lists the presets and where keys are explained") {
  const RunArguments parsed = parse({"--help"});
  CHECK(parsed.help);
  CHECK_THAT(parsed.help_text, says("cpu_tiny") && says("--set") && says("lessons/base.toml"));
}

TEST_CASE("wrong arguments are refused with the nearest option") {
  CHECK_THAT(error_of([] { parse({"--pre-set", "cpu_tiny"}); }), says("--pre-set") && says("mean --preset?"));
  CHECK_THAT(error_of([] { parse({"cpu_tiny"}); }), says("unknown argument"));
  CHECK_THAT(error_of([] { parse({"--preset"}); }), says("--preset"));
}
