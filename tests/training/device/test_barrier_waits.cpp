#include <omp.h>

#include <ctime>

#include "core/files.h"
#include "core/proc.h"
#include "core/waiting.h"
#include "device/barrier_waits.h"
#include "support/catch.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// A process of two threads, look by look.
class Looks {
 public:
  /// Adds what each thread ran and waited for a processor since the look before.
  bool look(ProcessorUse first, ProcessorUse second) {
    for (const auto& [thread, use] : {std::pair(1, first), std::pair(2, second)}) {
      all_[thread].ran_us += use.ran_us;
      all_[thread].waited_us += use.waited_us;
    }
    return choice_.sleeps(all_);
  }

 private:
  WaitChoice choice_;
  std::map<pid_t, ProcessorUse> all_;
};

constexpr ProcessorUse kFree = {95'000, 1'000}, kShared = {50'000, 50'000}, kIdle = {200, 900};

double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Processor time of loops in which one thread waits for another that does not compute. Turns of waiting are
/// counted, so that it is the same however busy the machine is.
double waiting_s() {
  constexpr int kLoops = 20;
  const double before_s = processor_s();
  for (int loop = 0; loop < kLoops; ++loop) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) pause_us(20'000);
  }
  return processor_s() - before_s;
}

}  // namespace

TEST_CASE("threads that wait sleep where one of them has to share its processor") {
  Looks looks;
  CHECK_FALSE(looks.look(kShared, kShared));  // nothing to compare with
  CHECK_FALSE(looks.look(kFree, kFree));
  CHECK_FALSE(looks.look(kFree, kShared));
  CHECK_FALSE(looks.look(kFree, kFree));  // once is chance
  CHECK_FALSE(looks.look(kFree, kShared));
  CHECK(looks.look(kShared, kFree));  // a loop is as slow as its slowest thread, whichever it is
  for (int calm = 0; calm < 4; ++calm) CHECK(looks.look(kFree, kFree));
  CHECK(looks.look(kFree, kShared));  // and begins to count anew
  for (int calm = 0; calm < 4; ++calm) CHECK(looks.look(kFree, kFree));
  CHECK_FALSE(looks.look(kFree, kFree));
}

TEST_CASE("a process that does nothing changes nothing") {
  Looks looks;
  looks.look(kFree, kFree);
  looks.look(kShared, kShared);
  CHECK(looks.look(kShared, kShared));
  for (int idle = 0; idle < 20; ++idle) CHECK(looks.look(kIdle, kIdle));
  looks.look(kFree, kFree);
  CHECK(looks.look({}, {}));
}

TEST_CASE("what threads had of the processors is read where the kernel counts it") {
  const TempFolder tasks;
  const auto add = [&](const char* thread, const char* figures) {
    std::filesystem::create_directories(tasks / thread);
    write_file_whole(tasks / thread / "schedstat", std::string_view(figures));
  };
  add("12", "3000000 2000000 7\n");
  add("13", "");
  add("14", "many");
  add("15", "5000000");
  add("own", "1 2 3\n");
  std::filesystem::create_directories(tasks / "16");  // a thread that has ended meanwhile
  const auto use = processor_use(tasks.path());
  REQUIRE(use.size() == 1);
  CHECK(use.at(12).ran_us == 3000);
  CHECK(use.at(12).waited_us == 2000);
  CHECK(processor_use(tasks / "nothing").empty());
  WaitChoice choice;
  for (int look = 0; look < 9; ++look) CHECK_FALSE(choice.sleeps({}));
}

TEST_CASE("beside surplus threads a thread that waits hardly spins, and spins again when they have ended") {
  waiting_s();  // its team is made
  const double alone_s = waiting_s();
  for (int turn = 0; turn < 2; ++turn) {
    {
      const SurplusThreads surplus(2);
      CHECK(waiting_s() < alone_s / 4);
    }
    CHECK(waiting_s() > alone_s / 4);
  }
}

TEST_CASE("who decided how threads wait is not overruled") {
  const auto threads = [] { return threads_in(getpid()).size(); };
  const std::size_t before = threads();
  adapt_barrier_waits(1);
  adapt_barrier_waits(omp_get_num_procs() + 1);
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    setenv(name, "", 1);
    adapt_barrier_waits(omp_get_num_procs());
    unsetenv(name);
  }
  CHECK(threads() == before);
  if (omp_get_num_procs() < 2) return;
  adapt_barrier_waits(2);
  adapt_barrier_waits(2);
  CHECK(threads() == before + 1);  // who looks
}
