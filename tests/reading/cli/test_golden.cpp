// What commands print, whole: golden/NAME.txt has command lines, each with its output. With
// ISOBAR_WRITE_GOLDEN=1 the files are written anew: read their diff.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "cli/programs.h"
#include "core/pattern.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/made_memory.h"
#include "support/made_ranks.h"
#include "support/made_runs.h"

namespace isobar::test_golden {

namespace fs = std::filesystem;

namespace {

/// A lesson that leaves a run of ten steps: 100 ms each, 70 of them without reading, 40 without computing; a
/// switch that is off adds 10, and each repeat is 1 % longer. Rank 1 comes last by 20 ms.
constexpr const char* kLesson =
    R"(t=100000 read=30000 n=0 comm=30000 measure=none lesson=${0##*/} rank=${RANK:-0}
while [ $# -gt 0 ]; do case $1 in
  --run-dir) run=$2 ;;
  run.measure=full) measure=full ;;
  run.measure=synthetic) measure=synthetic t=70000 read=0 ;;
  run.measure=io) measure=io t=40000 comm=0 ;;
  comm.sync=none) t=$((t - 30000)) comm=0 ;;
  data.workers=*) read=$((read / (1 + ${1#*=}))); t=$((t - 30000 + read)) ;;
  fusion.*=false) t=$((t + 10000)) ;;
  run.repeat=*) n=${1#*=} ;;
esac; shift; done
t=$((t + t * n / 100))
[ ${WORLD_SIZE:-1} != 1 ] || comm=0
[ $rank != 1 ] || comm=$((comm / 3))
mkdir -p "$run"
printf '[train]\nsteps = 10\n' >"$run/run.toml"
{
  printf '{"kind":"run","schema":1,"lesson":"%s","device":"cpu",' $lesson
  echo '"rank":'$rank',"world":'${WORLD_SIZE:-1}',"measure":"'$measure'"}'
  echo '{"kind":"note","steps_per_epoch":8}'
  for s in 0 1 2 3 4 5 6 7 8 9; do
    printf '{"kind":"step","step":%d,"t_us":%d,"samples":4,"loss":0.%d,' $s $((s * t)) $((9 - s))
    echo '"load_us":'$read',"backward_us":'$((t - read - comm))',"comm_us":'$comm',"step_us":'$t'}'
  done
  [ $measure != none ] ||
    echo '{"kind":"eval","step":10,"t_us":'$((10 * t))',"loss":0.5,"rmse_u10m":0.25}'
  echo '{"kind":"end","status":"done","reason":""}'
} >"$run/rank-000$rank.jsonl")";

class World {
 public:
  World() {
    for (const char* const lesson : {"01_baseline", "02_workers", "05_fusion", "06_ddp"})
      programs_.script(lesson, kLesson);
    const MadeSteps base = {.persistence = 0.5};
    runs_.add_three("base", base);
    MadeSteps slow = base;
    slow.keys = {{"data.workers", "2"}};
    slow.stage_ms["load"] += 30;
    runs_.add_three("slow", slow);
    MadeSteps once = slow;
    once.keys = {{"data.workers", "4"}};
    once.loss_factor = 1.02;
    runs_.add("once", once);
    MadeSteps busy = base;
    busy.keys = {{"data.workers", "3"}};
    busy.processor_wait = 0.4;
    busy.factor = 2;
    runs_.add("busy", busy);
    runs_.add("stopped", {.steps = 12, .end = "stopped", .reason = "Ctrl-C"});
    runs_.add("failed", {.steps = 12, .end = "failed", .reason = "error: the disk is full"});
    runs_.add("recorded", {.provenance = "recorded"});
    write_memory(runs_.path() / "base1", made_memory());
    write_memory(runs_.path() / "once", made_memory({.kept = 400'000, .block_us = 1300}));
    write_file_whole(runs_.path() / "notes.md", std::string_view("a note\n"));
    ranks("even", 0);
    ranks("late", 30'000);
    mesh("axes");
  }
  /// What it prints, both streams, and its exit code where that is not 0.
  std::string text_of(const std::string& line) const {
    ProcessOptions options;
    options.folder = runs_.path().string();
    options.environment = {"ISOBAR_HOME=" + project_home().string(), "COLUMNS=100"};
    const std::size_t before = runs();
    const ProcessResult result = programs_.run(words_of(line), options);
    std::string out = result.out + result.err;
    if (result.code != 0) out += "exit code " + std::to_string(result.code) + "\n";
    if (result.code == 2 && runs() > before) out += "and yet something ran\n";
    for (const auto& [pattern, name] :
         std::map<std::string, std::string>{{"-[0-9]{8}-[0-9]{6}-[0-9a-f]{4}", "-WHEN"},
                                            {"about [0-9]+ [a-z]+ left", "TIME left"},
                                            {"here: [0-9]+ processors?", "here: N processors"},
                                            {"([0-9]{2}_[a-z_]+, )+[0-9]{2}_[a-z_]+", "LESSONS"}}) {
      for (const auto& found : matches_of(out, pattern)) out = replaced(out, found.front(), name);
    }
    return replaced(replaced(out, host_name(), "HOST"), project_home().string(), "PROJECT");
  }

 private:
  /// As a shell splits them: quotes hold spaces.
  static std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> out;
    for (const auto& word : matches_of(line, "'[^']*'|\"[^\"]*\"|[^ ]+")) {
      const std::string& text = word.front();
      out.push_back(text.find_first_of("'\"") == 0 ? text.substr(1, text.size() - 2) : text);
    }
    return out;
  }
  std::size_t runs() const {
    const fs::path folder = runs_.path() / "runs";
    return fs::exists(folder) ? static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}))
                              : 0;
  }
  void ranks(const std::string& name, std::int64_t slow_us) {
    const fs::path folder = runs_.path() / name;
    fs::create_directory(folder);
    MadeRanks made{.steps = 40, .step_us = 100'000 + slow_us};
    made.config = "[run]\nranks = 2\n[data]\nworkers = " + std::string(slow_us > 0 ? "1" : "0") + "\n";
    made.more = [slow_us](int rank, int step, JsonLine& line) {
      const std::int64_t late = rank == 1 ? slow_us : 0;
      line.add("forward_us", 30'000).add("backward_us", 60'000 + late + step % 3);
      line.add("comm_us", 1000 + slow_us - late);
      if (slow_us > 0) line.add("waited_for", 1).add("waited_us", slow_us);
    };
    made.write(folder);
  }
  /// Two axes, on two hosts.
  void mesh(const std::string& name) {
    const fs::path folder = runs_.path() / name;
    fs::create_directory(folder);
    MadeRanks made{.world = 4, .lesson = "07_tensor_parallel"};
    made.config = "[run]\nranks = 4\n[mesh]\ntp = 2\norder = \"dp-tp\"\n";
    made.more = [](int, int, JsonLine& line) {
      line.add("comm_calls", 50).add("wire_bytes", 500'000'000);
      line.add("tp_calls", 49).add("tp_wire_bytes", 450'000'000);
    };
    made.write(folder);
    made.host = "node-2";
    for (const int rank : {2, 3})
      write_file_whole(RunFolder{folder}.stream_file(rank), std::string_view(made.stream(rank)));
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  }

  Programs programs_;
  MadeRuns runs_;
};

}  // namespace

TEST_CASE("commands print what their golden files have") {
  const World world;
  const bool writes = std::getenv("ISOBAR_WRITE_GOLDEN") != nullptr;
  for (const auto& entry : fs::directory_iterator(project_home() / "tests/reading/cli/golden")) {
    const std::string wanted = read_text_file(entry.path(), 1 << 20);
    std::string found;
    std::istringstream lines(wanted);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("$ ")) found += line + "\n" + world.text_of(line.substr(2)) + "\n";
    }
    INFO(entry.path());
    if (writes)
      write_file_whole(entry.path(), std::string_view(found));
    else
      CHECK(found == wanted);
  }
}

}  // namespace isobar::test_golden
