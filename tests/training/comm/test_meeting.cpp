// How ranks find each other, and what they say when they do not.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "core/clock.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/rank_scenarios.h"

namespace isobar::test_meeting {

using namespace isobar::testing;

namespace {

/// A port of the loopback interface that somebody holds, or held a moment ago.
struct Port {
  FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int number = 0;

  explicit Port(bool listens) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(socket.number(), raw, length) == 0);
    REQUIRE(getsockname(socket.number(), raw, &length) == 0);
    number = ntohs(address.sin_port);
    if (listens) REQUIRE(listen(socket.number(), 8) == 0);
    if (!listens) socket.close();
  }
};

RanksEnded over_tcp(int ranks, int port, const std::string& odd) {
  return run_scenario(ranks, {"over_tcp", std::to_string(port), odd});
}

std::string first_errors(const RanksEnded& ended) {
  return ended.first < 0 ? "" : ended.ranks[static_cast<std::size_t>(ended.first)].errors;
}

/// A launch of two ranks in a process of its own.
pid_t launch_beside() {
  const pid_t child = fork();
  if (child != 0) return child;
  int code = 99;
  try {
    code = run_scenario(2, {"sums", "gloo"}).code;
  } catch (const std::exception&) {
    code = 98;
  }
  _exit(code);
}

int code_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

TEST_CASE("ranks meet over a port too") {
  const Port port(false);
  const RanksEnded ended = over_tcp(GENERATE(2, 4), port.number, "");
  INFO(said(ended));
  CHECK(ended.code == 0);
}

TEST_CASE("a port that is taken is told with who holds it") {
  const Port port(true);
  const RanksEnded ended = over_tcp(1 + 1, port.number, "");
  INFO(said(ended));
  CHECK(ended.ranks[0].code == 2);
  CHECK_THAT(ended.ranks[0].errors,
             says("port " + std::to_string(port.number) + " is held by process " + std::to_string(getpid())));
  CHECK_THAT(ended.ranks[0].errors, says("MASTER_PORT"));
}

TEST_CASE("a host that nothing is known of is refused at once") {
  const Port port(false);
  const RanksEnded ended = over_tcp(2, port.number, "no_host");
  INFO(said(ended));
  CHECK(ended.ranks[1].code == 2);
  CHECK_THAT(ended.ranks[1].errors, says("no address is known for the host \"nowhere.invalid\""));
}

TEST_CASE("rank 0 on another host than its address is told so") {
  const Port port(false);
  const RanksEnded ended = over_tcp(2, port.number, "other_host");
  INFO(said(ended));
  CHECK(ended.ranks[0].code == 2);
  CHECK_THAT(ended.ranks[0].errors, says("rank 0 is not on the host \"192.0.2.1\""));
}

TEST_CASE("another number of ranks on one of them is refused") {
  const Port port(false);
  const RanksEnded ended = over_tcp(2, port.number, "world");
  INFO(said(ended));
  CHECK(ended.code == 2);
  CHECK_THAT(first_errors(ended), says("was started as one of"));
}

TEST_CASE("a rank that is there twice is refused") {
  const Port port(false);
  const RanksEnded ended = over_tcp(3, port.number, "twice");
  INFO(said(ended));
  CHECK(ended.code == 2);
  CHECK_THAT(first_errors(ended), says("there is a rank 1 already"));
}

TEST_CASE("who did not come is named", "[.][nightly]") {
  const Port port(false);
  const RanksEnded ended = over_tcp(3, port.number, "late");
  INFO(said(ended));
  CHECK(ended.code == 1);
  CHECK_THAT(first_errors(ended), says("not all ranks came: there are 0, 2, missing are 1"));
}

TEST_CASE("a store that nobody serves is told", "[.][nightly]") {
  const Port port(false);
  const RanksEnded ended = over_tcp(2, port.number, "silent");
  INFO(said(ended));
  CHECK(ended.ranks[1].code == 1);
  CHECK_THAT(ended.ranks[1].errors, says("rank 1 cannot reach 127.0.0.1:" + std::to_string(port.number)));
  CHECK_THAT(ended.ranks[1].errors, says("nobody listens there"));
}

TEST_CASE("a store whose server does not answer is told", "[.][nightly]") {
  const Port port(false);
  const RanksEnded ended = over_tcp(2, port.number, "deaf");
  INFO(said(ended));
  CHECK(ended.ranks[1].code == 1);
  CHECK_THAT(ended.ranks[1].errors, says("rank 0, at which the ranks meet, does not answer"));
}

TEST_CASE("the rank that serves the store stands still, and the others end in time and name it",
          "[.][nightly]") {
  const Port port(false);
  const RanksEnded ended = over_tcp(2, port.number, "stopped");
  INFO(said(ended));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.ranks[1].code == 1);
  CHECK_THAT(ended.ranks[1].errors, says("waited 3") && says("for the end of it"));
  CHECK_THAT(ended.ranks[1].errors, says("Arrived: 1. No word from: 0."));
}

namespace {

void launch_pairs(int pairs) {
  for (int i = 0; i < pairs; ++i) {
    const pid_t one = launch_beside(), other = launch_beside();
    const int code = code_of(one), other_code = code_of(other);
    INFO("pair " << i);
    REQUIRE(code == 0);
    REQUIRE(other_code == 0);
  }
}

}  // namespace

TEST_CASE("two launches at once do not meet each other") { launch_pairs(3); }

TEST_CASE("two hundred pairs of launches at once do not meet each other", "[.][nightly]") {
  launch_pairs(200);
}

}  // namespace isobar::test_meeting
