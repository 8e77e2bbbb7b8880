// What the machine knows of its processes.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "core/files.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/nvidia.h"
#include "core/processors.h"
#include "support/catch.h"
#include "support/temp_folder.h"
#include "support/until.h"

using namespace isobar;

namespace {

/// A machine of tests/setup/machines.txt, and what is expected of it.
struct MadeMachine {
  std::string name;
  std::map<std::string, std::string> files;
  std::vector<std::string> folders;
  int affinity = 0;
  std::string quota;
  int processors = 0;
  std::uint64_t total_bytes = 0, free_bytes = 0, kills = 0;
  bool driver = false;

  void take(const std::string& word, std::istream& values) {
    std::string text;
    if (word == "affinity") values >> affinity;
    if (word == "quota") values >> quota;
    if (word == "processors") values >> processors;
    if (word == "memory") values >> total_bytes >> free_bytes;
    if (word == "kills") values >> kills;
    if (word == "driver") driver = true;
    if (word == "folder") values >> folders.emplace_back();
    if (word != "file") return;
    std::string& content = files[(values >> text, text)];
    std::getline(values >> std::ws, content);
    for (std::size_t at = 0; (at = content.find("\\n", at)) != std::string::npos;)
      content.replace(at, 2, "\n");
  }
  void make(const std::filesystem::path& root) const {
    for (const std::string& folder : folders) std::filesystem::create_directories(root / folder);
    for (const auto& [file, text] : files) {
      std::filesystem::create_directories((root / file).parent_path());
      std::ofstream(root / file) << text << "\n";
    }
  }
};

std::vector<MadeMachine> made_machines() {
  std::vector<MadeMachine> out;
  std::ifstream in(project_home() / "tests/setup/machines.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream values(line);
    std::string word;
    if (!(values >> word) || word.front() == '#') continue;
    if (word != "machine") {
      out.back().take(word, values);
      continue;
    }
    std::getline(values >> std::ws, out.emplace_back().name);
    out.back().files["proc/meminfo"] = "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB";
  }
  return out;
}

Processors with_variables(int affinity, const std::map<std::string, const char*>& variables) {
  return processors_of(affinity, "/nowhere", [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

ThreadChoice with_omp(const char* value) {
  return with_variables(4, {{"OMP_NUM_THREADS", value}}).threads(0);
}

}  // namespace

TEST_CASE("processors, memory and driver of a machine are those of the table that the shell is held to") {
  const std::vector<MadeMachine> machines = made_machines();
  REQUIRE(machines.size() > 10);
  for (const MadeMachine& made : machines) {
    INFO(made.name);
    const TempFolder root;
    made.make(root.path());
    const std::optional<std::int64_t> quota = processor_quota(root.path());
    CHECK((quota ? std::to_string(*quota) : "-") == made.quota);
    const Processors found = processors_of(made.affinity, root.path(), [](const char*) { return nullptr; });
    CHECK(found.count == made.processors);
    CHECK(found.threads(0).count == made.processors);
    CHECK((found.why == "affinity") == (!quota || *quota >= 100 * made.affinity));
    const MemoryState memory = memory_state(root.path());
    CHECK(memory.total_bytes == made.total_bytes);
    CHECK(memory.available_bytes == made.free_bytes);
    CHECK(memory.oom_kills == made.kills);
    CHECK(memory.is_limited == (made.total_bytes < 16'384'000'000));
    CHECK(has_nvidia_driver(root.path()) == made.driver);
  }
}

TEST_CASE("who gave the memory is told with it") {
  CHECK(MemoryState{.total_bytes = 16'000'000'000}.total_text() == "this machine has 16.0 GB");
  CHECK(MemoryState{.total_bytes = 250'000'000, .is_limited = true}.total_text() ==
        "its control group allows 250 MB");
}

TEST_CASE(
    "threads are those of run.threads, OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, quota and affinity, in turn") {
  const Processors here = with_variables(8, {{"OMP_NUM_THREADS", "3"}, {"SLURM_CPUS_PER_TASK", "2"}});
  CHECK(here.threads(5, 2).count == 5);
  CHECK(here.threads(5, 2).why == "run.threads");
  CHECK(here.threads(0, 2).count == 3);  // of each process
  CHECK(here.threads(0, 2).why == "OMP_NUM_THREADS");
  CHECK(here.count == 8);  // which others share
  const Processors task = with_variables(8, {{"SLURM_CPUS_PER_TASK", "6"}});
  CHECK(task.threads(0).count == 6);
  CHECK(task.threads(0).why == "SLURM_CPUS_PER_TASK");
  CHECK(task.threads(0, 3).count == 2);
  CHECK(task.threads(0, 9).count == 1);
  // A step that srun started without --cpus-per-task keeps the variable of its job and has fewer.
  const Processors bound = with_variables(1, {{"SLURM_CPUS_PER_TASK", "6"}});
  CHECK(bound.threads(0).count == 1);
  CHECK(bound.threads(0).why == "affinity");
  CHECK(with_variables(8, {}).threads(0, 2).count == 4);
  CHECK(with_variables(8, {}).threads(0, 2).why == "affinity");
}

TEST_CASE("OMP_NUM_THREADS is taken in its forms, and what is no number of threads is named and left out") {
  for (const char* const eight : {"8", " 8 ", "8,2", "8 , 2", "008"}) CHECK(with_omp(eight).count == 8);
  for (const char* const unset : {"", "  "}) {
    CHECK(with_omp(unset).count == 4);
    CHECK(with_variables(4, {{"OMP_NUM_THREADS", unset}}).note.empty());
  }
  for (const char* const wrong :
       {"0", "-1", "all", "8x", "8,x", "8,", "4097", "99999999999999999999", "\x1b[2J"}) {
    INFO(wrong);
    const Processors here = with_variables(4, {{"OMP_NUM_THREADS", wrong}, {"SLURM_CPUS_PER_TASK", "2"}});
    CHECK(here.threads(0).count == 2);
    CHECK(here.note.rfind("OMP_NUM_THREADS is \"", 0) == 0);
    CHECK(here.note.find('\x1b') == std::string::npos);
  }
  CHECK(with_variables(4, {{"SLURM_CPUS_PER_TASK", "many"}}).note.find("SLURM_CPUS_PER_TASK") == 0);
  CHECK(usable_cores() >= 1);
}

TEST_CASE("a process is known by its name, whatever that holds, by its state and by when it began") {
  std::string before(16, '\0');
  prctl(PR_GET_NAME, before.data());
  prctl(PR_SET_NAME, "a) Z (b 1 2 3");
  const std::optional<ProcessFacts> facts = process_facts(getpid());
  prctl(PR_SET_NAME, before.data());
  REQUIRE(facts);
  CHECK(facts->name == "a) Z (b 1 2 3");
  CHECK(facts->state == 'R');
  CHECK_FALSE(facts->has_ended());
  CHECK(facts->begin_ticks > 0);
  CHECK(facts->begin_ticks == process_facts(getpid())->begin_ticks);
}

TEST_CASE("a process that is over and waited for by nobody has ended, and one that is gone is none") {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  until([&] { return process_facts(child)->has_ended(); });
  waitpid(child, nullptr, 0);
  CHECK_FALSE(process_facts(child));
  CHECK_FALSE(process_facts(0));
}

TEST_CASE("processors at work are what their idle time leaves") {
  const auto stat = [](int busy, int idle, int waits) {
    return "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " " + std::to_string(waits) +
           " 0 0 0 0 0\ncpu0 1 1\ncpu1 1 1\nintr 5\n";
  };
  CHECK(processors_at_work(stat(100, 100, 0), stat(200, 200, 0)) == 1);
  CHECK(processors_at_work(stat(100, 100, 0), stat(300, 100, 0)) == 2);
  CHECK(processors_at_work(stat(100, 100, 5), stat(100, 200, 105)) == 0);
  CHECK(processors_at_work(stat(1, 1, 1), stat(1, 1, 1)) == 0);
  CHECK(processors_at_work("", "nothing of this kind\n") == 0);
}
