// What the machine knows of its processes.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/machine.h"
#include "support/catch.h"
#include "support/until.h"

using namespace isobar;

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
