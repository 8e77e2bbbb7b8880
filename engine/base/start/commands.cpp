#include "start/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "config/toml_text.h"
#include "core/argv.h"
#include "core/clock.h"
#include "core/find.h"
#include "core/memory.h"
#include "core/nvidia.h"
#include "core/processors.h"
#include "core/waiting.h"
#include "launch/rank_environment.h"
#include "launch/rank_launcher.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostUnasked_bytes =
    1'500'000'000;                              // a larger data set is made only when it is asked for
constexpr std::int64_t kEmbeddedSamples = 512;  // what make_fields makes by default
constexpr std::uint64_t kEmbeddedRecords = kEmbeddedSamples * 11 / 8;

bool wants_embedded_data(const Config& config) {
  const bool made_up =
      config.data.source == DataSource::synthetic || config.run.measure == MeasureKind::synthetic;
  return !made_up && config.data.root.empty() && !fs::exists(data_root(config.data) / "dataset.toml");
}

/// What a program that may have been killed for memory had of it.
std::string held_text(std::int64_t peak_bytes) {
  return fmt::format("it held {} at its peak, {}", human_bytes(static_cast<std::uint64_t>(peak_bytes)),
                     memory_state().total_text());
}

}  // namespace

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

void become(std::vector<std::string> words) {
  const std::vector<char*> argv = as_argv(words);
  std::fflush(stdout);
  execv(words.front().c_str(), argv.data());
  const int number = errno;
  const std::string name = fs::path(words.front()).filename().string();
  if (number == ENOENT) throw not_built(name, words.front());
  throw system_error("cannot start the program", words.front(), number);
}

std::optional<Error> killed_error(const Ended& ended, const std::string& program) {
  if (ended.signal != SIGKILL && ended.signal != SIGSEGV && ended.signal != SIGBUS && ended.signal != SIGABRT)
    return std::nullopt;
  const std::string name = strsignal(ended.signal);
  const std::string memory = held_text(ended.peak_bytes);
  const bool killed = ended.signal == SIGKILL;
  return Error(killed ? "the program was killed by the system" +
                            std::string(ended.out_of_memory ? " because memory ran out: "
                                                            : ", probably because memory ran out: ") +
                            memory
                      : "the program crashed (" + name + ")",
               program,
               killed
                   ? "a smaller train.global_batch or preset; --resume RUN continues from the last checkpoint"
                   : "what was recorded is in its run folder",
               Exit::failed);
}

int start_and_wait(const std::vector<std::string>& words) {
  std::fflush(stdout);
  const Ended ended = supervise(words);
  if (const auto error = killed_error(ended, words.front()))
    std::fputs((error->text() + "\n").c_str(), stderr);
  return ended.code;
}

int start_ranks_and_wait(const std::vector<std::string>& words, int ranks) {
  if (const int cores = usable_cores(); ranks > cores)
    std::printf("%d ranks share %d processors: the results are right, the speed means nothing\n", ranks,
                cores);
  std::fflush(stdout);
  const RanksEnded ended = launch_ranks(words, ranks);
  if (ended.first < 0) return ended.code;
  const RankEnded& first = ended.ranks[static_cast<std::size_t>(ended.first)];
  const std::string held = held_text(first.peak_bytes);
  const bool killed = first.signal == SIGKILL && !first.stopped;
  const Error error(first_failure_text(ended), fs::path(words.front()).filename().string(),
                    first.out_of_memory
                        ? "memory ran out: " + held + "; a smaller train.global_batch or preset"
                    : killed ? "when nobody did it, the system did, probably because memory ran out: " + held
                             : "",
                    Exit::failed);
  std::fputs((error.text() + "\n").c_str(), stderr);
  return ended.code;
}

namespace {

/// Where somebody else started several processes here, one of them makes the data.
bool another_makes_it(const Config& config) {
  if (read_rank_environment().local_rank == 0) return false;
  constexpr std::int64_t kMost_us = 600'000'000;
  for (const std::int64_t begin_us = steady_us(); wants_embedded_data(config);) {
    if (steady_us() - begin_us > kMost_us) {
      throw Error(
          "the first process of this machine was to make the data set, and it is not there after 10 minutes",
          data_root(config.data).string(), "./isobar data make, before the ranks are started", Exit::failed);
    }
    pause_us(100'000);
  }
  return true;
}

/// Training samples of the embedded set of a grid: all, or for a preset that nobody asked for as many as make
/// no large set.
std::int64_t embedded_samples(const LoadedConfig& loaded) {
  constexpr std::int64_t kWhole = 16;  // a batch of the presets for a GPU
  const DataConfig& data = loaded.config.data;
  const auto record_bytes = static_cast<std::uint64_t>(data.grid[0] * data.grid[1]) * 80;
  if (record_bytes * kEmbeddedRecords <= kMostUnasked_bytes) return kEmbeddedSamples;
  const auto fit = static_cast<std::int64_t>(kMostUnasked_bytes / record_bytes * 8 / 11) / kWhole * kWhole;
  if (loaded.preset_was_chosen && fit >= kWhole) return fit;
  const std::int64_t samples = data.limit_train > 0 ? data.limit_train : 128;
  const std::string grid = fmt::format("{}x{}", data.grid[0], data.grid[1]);
  throw Error(
      fmt::format("there is no data for the grid {}, and an embedded set of it is large: {} a record", grid,
                  human_bytes(record_bytes)),
      "data.root is empty",
      fmt::format(
          "--set data.root=FOLDER with ERA5, or make synthetic data of {} by: ./isobar data make --grid {} "
          "--samples {}; --set run.measure=synthetic needs none",
          human_bytes(record_bytes * static_cast<std::uint64_t>(samples) * 11 / 8), grid, samples));
}

/// Training samples of a data set of ours; 0 = not known.
std::int64_t samples_in(const fs::path& folder) {
  std::int64_t samples = 0;
  std::error_code code;
  if (!fs::exists(folder / "dataset.toml", code)) return 0;
  for (const TomlEntry& entry : read_toml(folder / "dataset.toml")) {
    const auto* const records = std::get_if<std::int64_t>(&entry.value);
    if (records != nullptr && entry.key.rfind("records.train/", 0) == 0) samples += *records;
  }
  return samples;
}

/// An embedded set that was made small for a first look is not what a preset that was asked for takes.
void tell_few_samples(const LoadedConfig& loaded) {
  const DataConfig& data = loaded.config.data;
  if (loaded.preset_was_chosen || !data.root.empty()) return;
  const std::int64_t there = samples_in(data_root(data));
  const std::int64_t wanted = data.limit_train > 0 ? data.limit_train : kEmbeddedSamples;
  if (there == 0 || there >= std::min(wanted, kEmbeddedSamples)) return;
  std::printf(
      "only %lld of %lld training samples are there; all: ./isobar data make --grid %lldx%lld --samples %lld "
      "--force\n",
      static_cast<long long>(there), static_cast<long long>(wanted), static_cast<long long>(data.grid[0]),
      static_cast<long long>(data.grid[1]), static_cast<long long>(wanted));
}

}  // namespace

int ensure_data(const LessonInfo& lesson, const LoadedConfig& loaded, bool quiet) {
  if (lesson.stands_alone) return 0;
  const Config& config = loaded.config;
  if (!quiet) tell_few_samples(loaded);
  if (!wants_embedded_data(config) || another_makes_it(config)) return 0;
  const std::int64_t samples = embedded_samples(loaded);
  const std::string grid = fmt::format("{}x{}", config.data.grid[0], config.data.grid[1]);
  std::vector<std::string> words = {(program_folder() / "make_fields").string(), "--grid", grid};
  if (samples < kEmbeddedSamples) {
    words.insert(words.end(), {"--samples", std::to_string(samples)});
    if (!quiet)
      std::printf("no data is named; %lld samples show the speed, and --set data.root=FOLDER takes ERA5\n",
                  static_cast<long long>(samples));
  }
  if (!quiet) {
    std::printf("the embedded data set of this grid is made once:\n");
    return start_and_wait(words);
  }
  const Ended ended = supervise(words, {.quiet = true});
  if (ended.code != 0) std::fputs(ended.errors.c_str(), stderr);
  return ended.code;
}

bool lacks_device(const LessonInfo& lesson) { return lesson.needs == "cuda" && !has_nvidia_driver(); }

Error needs_device(const LessonInfo& lesson) {
  return {"lesson " + lesson.name + " needs an NVIDIA GPU, and there is no NVIDIA driver here",
          lesson.file.string(),
          "./isobar doctor lists what this machine has; ./isobar show " + lesson.name +
              " --recorded opens a run of another machine"};
}

Error not_built(const std::string& lesson, const fs::path& program) {
  return {"the program of " + lesson + " is not built", program.string(), "./isobar setup", Exit::failed};
}

void check_can_run(const LessonInfo& lesson) {
  if (lacks_device(lesson)) throw needs_device(lesson);
  const fs::path program = program_folder() / lesson.name;
  if (!fs::exists(program)) throw not_built(lesson.name, program);
}

int run_program(std::span<const Command> commands, int argc, char** argv) {
  return guarded_main("isobar", [&] {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "--version") {
      std::printf("%s\n", version_text().c_str());
      return 0;
    }
    if (const Command* const found = find_by(commands, &Command::name, name))
      return found->run({argv + 2, argv + argc});
    std::vector<std::string> names;
    for (const Command& command : commands) names.emplace_back(command.name);
    throw Error("unknown command \"" + printable(name, 40) + "\"", "./isobar",
                did_you_mean(name, names, "./isobar help lists the commands"));
  });
}

}  // namespace isobar
