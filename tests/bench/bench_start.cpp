// ./isobar bench start: from the command to the first finished step, lesson 01 beside a Python program that
// does the same work. Both first have to say the same numbers, from the same weights.
#include <fcntl.h>
#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <thread>

#include "bench/bench_report.h"
#include "bench/peers.h"
#include "bench/pipes.h"
#include "config/load.h"
#include "core/clock.h"
#include "core/error.h"
#include "support/bin_folder.h"
#include "support/temp_folder.h"
#include "support/tolerance_values.h"

using namespace isobar;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int kPatience_s = 120;
constexpr double kLeastRatio = 3;
constexpr std::int64_t kAll_us = 90'000'000;  // a busy machine gets fewer pairs, not hours
constexpr int kFewestPairs = 3;
constexpr const char* kLesson = "01_baseline";

struct Program {
  std::string name;
  std::vector<std::string> words;
  std::vector<std::string> environment;
};

struct Started {
  double seconds = 0;              ///< from its start to its line about the first step
  std::vector<std::string> lines;  ///< all that it said on stdout
};

Started start(const Program& program, const fs::path& log) {
  auto [our_end, their_end] = make_pipe();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, their_end.number(), 1);
  posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  Started out;
  const std::int64_t begin_us = steady_us();
  const pid_t pid = start_program(program.words, program.environment, files);
  their_end.close();
  LineReader reader(std::move(our_end));
  while (const std::optional<std::string> line = reader.next(begin_us + kPatience_s * 1'000'000)) {
    if (line->rfind("step 1/1 ", 0) == 0) out.seconds = static_cast<double>(steady_us() - begin_us) * 1e-6;
    out.lines.push_back(*line);
  }
  const int code = wait_for_end(pid, kPatience_s);
  if (code != 0 || out.seconds == 0) {
    throw Error(fmt::format("{} ended with code {} {} its first step", program.name, code,
                            out.seconds > 0 ? "after" : "before"),
                program.words.front(), "its last words: " + last_words(log), Exit::failed);
  }
  return out;
}

struct Options {
  int pairs = 12;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::string> settings;  ///< of lesson 01
};

std::vector<std::string> lesson_words(const Options& options) {
  std::vector<std::string> words = {"--preset", "cpu_tiny"};
  for (const std::string& set : options.settings) words.insert(words.end(), {"--set", set});
  return words;
}

/// What the Python program needs to know of the lesson's configuration.
Json sheet_for(const Config& config, int threads) {
  return {{"root", data_root(config.data).string()},
          {"grid", config.data.grid},
          {"channels", config.data.channels},
          {"dt", config.data.dt},
          {"limit_valid", config.data.limit_valid},
          {"patch", config.model.patch},
          {"embed", config.model.embed},
          {"depth", config.model.depth},
          {"heads", config.model.heads},
          {"batch", config.train.global_batch},
          {"lr", config.optim.lr},
          {"beta1", config.optim.beta1},
          {"beta2", config.optim.beta2},
          {"eps", config.optim.eps},
          {"threads", threads}};
}

struct Numbers {
  double valid_loss = NAN;
  double rmse = NAN;
  double step_loss = NAN;
};

/// From the lines of the Python program.
Numbers numbers_of(const std::vector<std::string>& lines) {
  Numbers out;
  for (const std::string& line : lines) {
    std::sscanf(line.c_str(), "valid loss %lf u10m RMSE %lf", &out.valid_loss, &out.rmse);
    std::sscanf(line.c_str(), "step 1/1 loss %lf", &out.step_loss);
  }
  return out;
}

/// From the stream of a run: its first validation and its first step.
Numbers numbers_of(const fs::path& run) {
  Numbers out;
  std::istringstream text(read_text_file(run / "rank-0000.jsonl", 1 << 20));
  for (std::string line; std::getline(text, line);) {
    const Json event = Json::parse(line);
    if (event["kind"] == "eval" && std::isnan(out.valid_loss)) {
      out.valid_loss = event["loss"];
      out.rmse = event["rmse_u10m"];
    }
    if (event["kind"] == "step") out.step_loss = event["loss"];
  }
  return out;
}

/// Runs both once from the same weights; what they say must agree, or a comparison of speed means nothing.
/// Makes the data set where it is missing, and leaves files and programs in the page cache.
void check_equality(const Options& options, Program ours, Program peer, const TempFolder& folder) {
  const fs::path weights = folder / "weights.safetensors";
  std::vector<std::string> words = {bin_folder(ISOBAR_BIN) + "/isobar-cli", "run", kLesson};
  const std::vector<std::string> rest = lesson_words(options);
  words.insert(words.end(), rest.begin(), rest.end());
  words.insert(words.end(),
               {"--set", "train.save_init=" + weights.string(), "--run-dir", folder / "checked"});
  ours.words = words;
  peer.words.push_back(weights.string());
  start(ours, folder / "ours.log");
  const Numbers mine = numbers_of(folder / "checked");
  const Numbers theirs = numbers_of(start(peer, folder / "peer.log").lines);
  const double loss =
      std::max(std::abs(mine.valid_loss - theirs.valid_loss), std::abs(mine.step_loss - theirs.step_loss));
  if (!(loss <= kLoss) || !(std::abs(mine.rmse - theirs.rmse) <= kScore)) {
    throw Error(
        "the two programs do not do the same work; nothing was timed",
        fmt::format("ours: valid loss {:.9g}, RMSE {:.9g}, loss {:.9g}; Python's: {:.9g}, {:.9g}, {:.9g}",
                    mine.valid_loss, mine.rmse, mine.step_loss, theirs.valid_loss, theirs.rmse,
                    theirs.step_loss),
        "./build/bin/test_train compares the parts with PyTorch's", Exit::failed);
  }
}

void measure(const Options& options, BenchReport& report) {
  const fs::path peers = require_peers("start");
  const fs::path home = project_home();
  const TempFolder folder;
  const Settings settings{.preset = "cpu_tiny", .sets = options.settings};
  const Config config = load_config(home, read_lesson(home, kLesson), settings, "cpu").config;
  write_file_whole(folder / "sheet.json", sheet_for(config, options.threads).dump());
  Program ours{"lesson 01", {bin_folder(ISOBAR_BIN) + "/" + kLesson}, {}};
  for (const std::string& word : lesson_words(options)) ours.words.push_back(word);
  Program peer{"the Python program", peer_words("start_peer.py"), peer_environment(peers)};
  peer.words.push_back(folder / "sheet.json");
  check_equality(options, ours, peer, folder);
  report.say(
      fmt::format("validation and first step agree; {} pairs, {} threads", options.pairs, options.threads));
  PairedRow row{"command to first step, cpu_tiny", "s", "PyTorch 2.11.0, h5py", {}, {}, 0, kLeastRatio};
  const std::int64_t begin_us = steady_us();
  for (int pair = 0; pair < options.pairs; ++pair) {
    if (pair >= kFewestPairs && steady_us() - begin_us > kAll_us) break;
    Program run = ours;
    run.words.insert(run.words.end(), {"--run-dir", folder / fmt::format("run-{}", pair)});
    row.ours.push_back(start(run, folder / "ours.log").seconds);
    row.peer.push_back(start(peer, folder / "peer.log").seconds);
  }
  report.add(row);
}

int run(int argc, char** argv) {
  Options options;
  OptionParser parser("From the command to the first finished step, lesson 01 beside a Python program",
                      "./isobar bench start");
  BenchReport report("start", parser);
  const OptionParser::Option pairs = parser.add("--pairs", options.pairs, "starts of each").in_range(1, 1000);
  if (!report.parse(argc, argv)) return 0;
  if (report.quick() && !pairs.given()) options.pairs = 2;
  // In order on both sides, so that the first batches are the same.
  options.settings = {"train.steps=1", "data.limit_valid=8", "data.shuffle=false", "run.device=cpu",
                      fmt::format("run.threads={}", options.threads)};
  report.begin();
  measure(options, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench start", [&] { return run(argc, argv); });
}
