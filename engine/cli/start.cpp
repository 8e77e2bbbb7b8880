#include "cli/start.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/memory.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostUnasked_bytes =
    1'500'000'000;                               // a larger data set is made only when it is asked for
constexpr std::uint64_t kEmbeddedRecords = 704;  // what make_fields makes by default

bool wants_embedded_data(const Config& config) {
  const bool made_up = config.data.source == "synthetic" || config.run.measure == "synthetic";
  return !made_up && config.data.root.empty() && !fs::exists(data_root(config.data) / "dataset.toml");
}

}  // namespace

fs::path program_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::optional<Error> killed_error(const Ended& ended, const std::string& program) {
  if (ended.signal != SIGKILL && ended.signal != SIGSEGV && ended.signal != SIGBUS && ended.signal != SIGABRT)
    return std::nullopt;
  const std::string name = strsignal(ended.signal);
  const std::string memory = fmt::format("it held {} at its peak, this machine has {}",
                                         human_bytes(static_cast<std::uint64_t>(ended.peak_bytes)),
                                         human_bytes(memory_state().total_bytes));
  const bool killed = ended.signal == SIGKILL;
  return Error(killed ? "the program was killed by the system" +
                            std::string(ended.out_of_memory ? " because memory ran out: "
                                                            : ", probably because memory ran out: ") +
                            memory
                      : "the program crashed (" + name + ")",
               program,
               killed
                   ? "a smaller train.global_batch or preset; train.resume goes on from the last checkpoint"
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

int ensure_data(const Config& config, bool quiet) {
  if (!wants_embedded_data(config)) return 0;
  const DataConfig& data = config.data;
  const std::string grid = fmt::format("{}x{}", data.grid[0], data.grid[1]);
  const auto record_bytes = static_cast<std::uint64_t>(data.grid[0] * data.grid[1]) * 80;
  if (record_bytes * kEmbeddedRecords > kMostUnasked_bytes) {
    const std::int64_t samples = data.limit_train > 0 ? data.limit_train : 128;
    throw Error(
        fmt::format("there is no data for the grid {}, and an embedded set of it is large: {} a record", grid,
                    human_bytes(record_bytes)),
        "data.root is empty",
        fmt::format(
            "--set data.root=FOLDER with ERA5, or make synthetic data of {} by: ./isobar data make --grid {} "
            "--samples {}",
            human_bytes(record_bytes * static_cast<std::uint64_t>(samples) * 11 / 8), grid, samples));
  }
  const std::vector<std::string> words = {(program_folder() / "make_fields").string(), "--grid", grid};
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
          "./isobar doctor says what this machine has; ./isobar show " + lesson.name +
              " --recorded opens a run of another machine"};
}

void check_can_run(const LessonInfo& lesson) {
  if (lacks_device(lesson)) throw needs_device(lesson);
  const fs::path program = program_folder() / lesson.name;
  if (!fs::exists(program)) {
    throw Error("the program of " + lesson.name + " is not built", program.string(), "./isobar setup",
                Exit::failed);
  }
}

}  // namespace isobar
