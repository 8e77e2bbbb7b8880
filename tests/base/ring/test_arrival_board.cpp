// Ranks are threads here, each with a view of its own of the same memory, so that the sanitizer sees them
// all.
#include <thread>
#include <vector>

#include "ring/arrival_board.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

std::vector<ArrivalBoard> boards_of(int size) {
  SharedMemory made = SharedMemory::make(ArrivalBoard::bytes(size));
  const std::string address = made.address();
  std::vector<ArrivalBoard> out;
  for (int rank = 1; rank < size; ++rank)
    out.emplace_back(SharedMemory::open(address, ArrivalBoard::bytes(size)), rank, size);
  out.emplace(out.begin(), std::move(made), 0, size);
  return out;
}

}  // namespace

TEST_CASE("the last to come is known once all came, to every rank") {
  std::vector<ArrivalBoard> boards = boards_of(3);
  boards[2].arrive(0, 500);
  boards[0].arrive(0, 100);
  CHECK_FALSE(boards[0].latest(0).has_value());
  CHECK(boards[0].has_come(2, 0));
  CHECK_FALSE(boards[0].has_come(1, 0));
  boards[1].arrive(0, 300);
  for (const ArrivalBoard& board : boards) {
    REQUIRE(board.latest(0).has_value());
    CHECK(board.latest(0)->rank == 2);
    CHECK(board.latest(0)->time_us == 500);
    CHECK_FALSE(board.latest(1).has_value());
  }
}

TEST_CASE("what was forgotten is not known, and never another's") {
  std::vector<ArrivalBoard> boards = boards_of(2);
  for (std::int64_t number = 0; number <= ArrivalBoard::kRemembered; ++number) {
    boards[0].arrive(number, 10 + number);
    boards[1].arrive(number, 20 + number);
  }
  CHECK_FALSE(boards[0].latest(0).has_value());
  CHECK(boards[0].latest(1)->time_us == 21);
  CHECK(boards[0].latest(ArrivalBoard::kRemembered)->rank == 1);
}

TEST_CASE("who looks while others write sees whole entries") {
  std::vector<ArrivalBoard> boards = boards_of(2);
  constexpr std::int64_t kCollectives = 20'000;
  constexpr std::int64_t kAhead = ArrivalBoard::kRemembered / 2;
  std::jthread other([&] {
    for (std::int64_t number = 0; number < kCollectives; ++number) {
      while (number >= kAhead && !boards[1].has_come(0, number - kAhead)) std::this_thread::yield();
      boards[1].arrive(number, 2 * number + 1);
    }
  });
  for (std::int64_t number = 0; number < kCollectives; ++number) {
    boards[0].arrive(number, 2 * number);
    std::optional<RankArrival> last;
    while (!(last = boards[0].latest(number)).has_value()) std::this_thread::yield();
    REQUIRE(last->rank == 1);
    REQUIRE(last->time_us == 2 * number + 1);
  }
}

TEST_CASE("shared memory that is not there, or not what is asked for, is refused in words") {
  CHECK_THAT(failure_of([] { SharedMemory::make(std::uint64_t{1} << 50); }),
             says("shared memory are wanted") && says("are free") && says("comm.backend=gloo"));
  SharedMemory made = SharedMemory::make(4096);
  const std::string address = made.address();
  CHECK_THAT(failure_of([&] { SharedMemory::open(address, 8192); }), says("has 4096 bytes, not 8192"));
  CHECK_THAT(failure_of([&] { SharedMemory::open(address + "0", 4096); }),
             says("do not see the same processes"));
  const SharedMemory opened = SharedMemory::open(address, 4096);
  made.data()[7] = std::byte{9};
  CHECK(opened.data()[7] == std::byte{9});
  made.close_door();
  CHECK_THAT(failure_of([&] { SharedMemory::open(address, 4096); }), says("cannot open the memory"));
}
