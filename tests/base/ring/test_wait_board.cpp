#include <vector>

#include "ring/wait_board.h"
#include "support/catch.h"

using namespace isobar;

namespace {

constexpr int kRanks = 4;

/// As each rank sees it.
struct Boards {
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(WaitBoard::bytes(kRanks) / 8 + 8);
  WaitBoard of(int rank) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return {reinterpret_cast<std::byte*>((address + 63) / 64 * 64), rank, kRanks};
  }
};

void check_cause(Boards& boards, int seen_by, int rank, int other) {
  const WaitBoard::Wait cause = boards.of(seen_by).cause();
  CHECK(cause.rank == rank);
  CHECK(cause.other == other);
}

}  // namespace

TEST_CASE("the cause of a wait is the last of the chain") {
  Boards boards;
  boards.of(0).begin(AwaitedThing::message, 1, 100);
  check_cause(boards, 0, 0, 1);
  boards.of(1).begin(AwaitedThing::room, 3, 200);
  check_cause(boards, 0, 1, 3);
  CHECK(boards.of(0).cause().thing == AwaitedThing::room);
  boards.of(1).end();
  check_cause(boards, 0, 0, 1);
}

TEST_CASE("who waits for the link hangs on nobody") {
  Boards boards;
  boards.of(1).begin(AwaitedThing::message, 0, 100);
  boards.of(0).begin(AwaitedThing::link, 2, 300);
  boards.of(2).begin(AwaitedThing::message, 0, 50);
  for (const int rank : {0, 1, 2}) check_cause(boards, rank, 0, 2);
  CHECK(boards.of(2).cause().thing == AwaitedThing::link);
}

TEST_CASE("of a circle of waits the one that began first is the cause, for who hangs on it too") {
  Boards boards;
  boards.of(3).begin(AwaitedThing::message, 0, 50);
  boards.of(0).begin(AwaitedThing::message, 1, 300);
  boards.of(1).begin(AwaitedThing::message, 2, 100);
  boards.of(2).begin(AwaitedThing::message, 0, 200);
  for (int rank = 0; rank < kRanks; ++rank) check_cause(boards, rank, 1, 2);
}

TEST_CASE("who waits in a meeting waits for the rank that has not come") {
  Boards boards;
  for (const int rank : {0, 1, 3}) {
    boards.of(rank).come(1);
    boards.of(rank).begin(AwaitedThing::meeting, (rank + 3) % kRanks, 100);
  }
  for (const int rank : {0, 1, 3}) check_cause(boards, rank, rank, 2);
  boards.of(2).begin(AwaitedThing::message, 3, 200);  // which is where it hangs
  check_cause(boards, 3, 3, 2);
  check_cause(boards, 0, 3, 2);
}

TEST_CASE("the first rank that says why is who all ranks quote, and long words are cut") {
  Boards boards;
  CHECK_FALSE(boards.of(1).blamed().has_value());
  CHECK(boards.of(2).blame("rank 3 has left") == "rank 3 has left");
  CHECK(boards.of(1).blame("rank 2 has left") == "rank 3 has left");
  CHECK(boards.of(0).blamed() == "rank 3 has left");
  Boards others;
  others.of(0).blame(std::string(5000, 'x'));
  CHECK(others.of(1).blamed() == std::string(999, 'x'));
}
