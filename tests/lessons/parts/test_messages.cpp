// Messages between ranks: what arrives, and who is named where nothing does.
#include <array>
#include <atomic>
#include <cmath>

#include "lessons/parts/met_messages.h"
#include "support/set_clock.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

// Values: more than three times what the slots between two ranks hold.
constexpr std::size_t kLarge = 400'001;

}  // namespace

TEST_CASE("a message arrives as it was sent, of every size and between any two ranks") {
  constexpr int kRanks = 3;
  Met met(same(kRanks));
  const std::vector<std::size_t> sizes = {0, 1, 3, 16'367, 16'368, 16'369, kLarge};
  std::atomic<int> wrong = 0;
  const auto said = at_once(met, kRanks, [&](Messages& own) {
    for (const std::size_t size : sizes) {
      for (int from = 0; from < kRanks; ++from) {
        for (int to = 0; to < kRanks; ++to) {
          if (from == to) continue;
          if (own.rank() == from) own.send(to, message_of(from, to, size));
          if (own.rank() != to) continue;
          std::vector<float> into(size, -1);
          own.receive(from, into);
          if (into != message_of(from, to, size)) ++wrong;
        }
      }
    }
  });
  CHECK(said == std::vector<std::string>(kRanks));
  CHECK(wrong == 0);
  std::int64_t values = 0;
  for (const std::size_t size : sizes) values += static_cast<std::int64_t>(size);
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK(met[rank].sent_messages() == static_cast<std::int64_t>(2 * sizes.size()));
    CHECK(met[rank].sent_bytes() == 2 * 4 * values);
    CHECK_FALSE(met.followed(rank));
  }
}

TEST_CASE("ranks exchange around a ring what is larger than all slots") {
  for (const int size : {2, 3, 5}) {
    Met met(same(size));
    std::atomic<int> wrong = 0;
    const auto said = at_once(met, size, [&](Messages& own) {
      const int right = (own.rank() + 1) % size, left = (own.rank() + size - 1) % size;
      for (int turn = 0; turn < 3; ++turn) {
        std::vector<float> into(kLarge, -1);
        own.exchange(right, message_of(own.rank(), turn, kLarge), left, into);
        if (into != message_of(left, turn, kLarge)) ++wrong;
      }
    });
    CHECK(said == std::vector<std::string>(static_cast<std::size_t>(size)));
    CHECK(wrong == 0);
    CHECK(met[0].sent_messages() == 3);
    CHECK(met[0].sent_bytes() == static_cast<std::int64_t>(3 * 4 * kLarge));
  }
}

TEST_CASE("an exchange sends on while what it takes hangs on what it sends") {
  Met met(same(3));
  std::atomic<int> wrong = 0;
  const auto said = at_once(met, 3, [&](Messages& own) {
    std::vector<float> into(kLarge);
    if (own.rank() == 0) own.exchange(1, message_of(0, 1, kLarge), 2, into);
    if (own.rank() == 1) own.receive(0, into), own.send(2, into);
    if (own.rank() == 2) own.receive(1, into), own.send(0, into);
    if (into != message_of(0, 1, kLarge)) ++wrong;
  });
  CHECK(said == std::vector<std::string>(3));
  CHECK(wrong == 0);
}

TEST_CASE("an exchange takes on while there is no room for what it sends") {
  Met met(same(3));
  std::atomic<int> wrong = 0;
  const auto said = at_once(met, 3, [&](Messages& own) {
    std::vector<float> into(kLarge), word(1);
    if (own.rank() == 0) own.exchange(1, message_of(0, 1, kLarge), 2, into);
    if (own.rank() == 1) own.receive(2, word), own.receive(0, into);
    if (own.rank() == 2) own.send(0, message_of(2, 0, kLarge)), own.send(1, word);
    if (own.rank() == 0 && into != message_of(2, 0, kLarge)) ++wrong;
    if (own.rank() == 1 && into != message_of(0, 1, kLarge)) ++wrong;
  });
  CHECK(said == std::vector<std::string>(3));
  CHECK(wrong == 0);
}

TEST_CASE("a meeting lets nobody go on before all have come, and is no message") {
  constexpr int kRanks = 4;
  Met met(same(kRanks));
  std::atomic<int> come = 0, early = 0;
  const auto said = at_once(met, kRanks, [&](Messages& own) {
    for (int turn = 1; turn <= 50; ++turn) {
      ++come;
      own.meet();
      if (come < turn * kRanks) ++early;
      own.meet();
    }
  });
  CHECK(said == std::vector<std::string>(kRanks));
  CHECK(early == 0);
  CHECK(met[1].sent_messages() == 0);
}

TEST_CASE("one rank alone meets nobody and has nobody to send to") {
  Messages alone({.file = "/nowhere/meeting"}, kNoLink);
  alone.meet();
  CHECK(alone.size() == 1);
  CHECK_THAT(failure_of([&] { alone.send(0, {}); }), says("rank 0 has no link to rank 0"));
  Met met(same(2));
  CHECK_THAT(failure_of([&] { met[1].receive(2, {}); }), says("rank 1 has no link to rank 2"));
  CHECK_THAT(failure_of([&] { met[1].receive(-1, {}); }), says("rank 1 has no link to rank -1"));
}

TEST_CASE("memory that is not there is refused with both figures, and links that cannot be") {
  const TempFolder folder;
  const std::string file = (folder / "meeting").string();
  const std::string said = failure_of([&] { Messages({.file = file, .size = 100'000}, kNoLink); });
  CHECK_THAT(said, says("of shared memory are wanted"));
  CHECK_THAT(said, says("are free"));
  CHECK_THAT(said, !says("gloo"));
  for (const MessageLink& link : {MessageLink{.link = {.latency_us = -1}},
                                  {.link = {.bytes_per_us = -1}},
                                  {.link = {.bytes_per_us = NAN}},
                                  {.slower = 0}})
    CHECK_THAT(error_of([&] { Messages({.file = file}, link); }), says("emulated link"));
}

TEST_CASE("a rank that does not come is named") {
  const TempFolder folder;
  const auto alone = [&](int rank) {
    return failure_of([&] {
      Messages({.file = (folder / "meeting").string(), .rank = rank, .size = 2, .timeout_us = 0}, kNoLink);
    });
  };
  CHECK_THAT(alone(1), says("rank 0 did not come"));
  CHECK_THAT(alone(0), says("rank 1 did not come"));
}

TEST_CASE("a rank that left is named by all, and what it had sent before arrives") {
  constexpr int kRanks = 4;
  Met met(same(kRanks));
  met[2].send(3, message_of(2, 3, 5));
  met.leave(2);
  std::vector<float> into(5);
  met[3].receive(2, into);
  CHECK(into == message_of(2, 3, 5));
  const auto said = at_once(met, kRanks, [&](Messages& own) {
    std::vector<float> taken(kLarge);
    for (;;) own.exchange((own.rank() + 1) % kRanks, taken, (own.rank() + 3) % kRanks, taken);
  });
  for (const int rank : {0, 1, 3}) {
    CHECK_THAT(said[static_cast<std::size_t>(rank)], says("rank 2 has left"));
    CHECK(met.followed(rank));
  }
  CHECK_THAT(failure_of([&] { met[0].meet(); }), says("rank 2 has left"));
}

TEST_CASE("who sends to a rank that left is told so, whatever that rank had sent") {
  Met met(same(2));
  met[1].send(0, message_of(1, 0, 5));
  met.leave(1);
  CHECK_THAT(failure_of([&] { met[0].send(1, message_of(0, 1, kLarge)); }), says("rank 1 has left"));
}

TEST_CASE("who is sent another number of values than it takes says both, and so does the sender") {
  Met met(same(2));
  met[1].send(0, message_of(1, 0, 12));
  std::vector<float> into(10);
  CHECK_THAT(failure_of([&] { met[0].receive(1, into); }),
             says("rank 1 sent 12 numbers, and rank 0 takes 10"));
  CHECK_THAT(failure_of([&] { met[1].send(0, into); }), says("rank 1 sent 12 numbers, and rank 0 takes 10"));
}

TEST_CASE("a rank that sends or takes nothing is named when the time is over") {
  const auto met = [] {
    const SetClock still;  // so that all meet in time
    return std::make_unique<Met>(same(2), 1);
  };
  std::vector<float> into(kLarge);
  CHECK_THAT(failure_of([&] { (*met())[0].receive(1, into); }),
             says("rank 1 did not send its next message for "));
  CHECK_THAT(failure_of([&] { (*met())[1].send(0, into); }), says("rank 0 did not take a message for "));
  CHECK_THAT(failure_of([&] { (*met())[1].exchange(0, into, 0, into); }),
             says("rank 0 did not send its next message for "));
  CHECK_THAT(failure_of([&] { (*met())[0].meet(); }), says("rank 1 did not come for "));
}

TEST_CASE("a message that is dropped is counted, and all ranks name who did not send it") {
  constexpr int kRanks = 3;
  SetClock clock;
  Met met(same(kRanks), 2'000'000);
  std::array<std::atomic<int>, kRanks> steps = {};
  std::atomic<int> ended = 0;
  std::jthread hand([&] {
    // Rank 2 hears nothing in its first step, so rank 0 nothing in its second, and rank 1 in its third.
    while (steps[2] < 1 || steps[0] < 2 || steps[1] < 3) std::this_thread::yield();
    while (ended < kRanks) clock.advance_us(100'000);
  });
  met[1].drop_next();
  const auto said = at_once(met, kRanks, [&](Messages& own) {
    std::vector<float> into(10);
    try {
      for (;;) {
        clock.advance_us(1);
        ++steps[static_cast<std::size_t>(own.rank())];
        own.exchange((own.rank() + 1) % kRanks, message_of(0, 0, 10), (own.rank() + 2) % kRanks, into);
      }
    } catch (const Error&) {
      ++ended;
      throw;
    }
  });
  for (const std::string& text : said) {
    CHECK_THAT(text, says("rank 1 did not send its next message for "));
    CHECK_THAT(text, says("rank 2, message from rank 1"));
  }
  CHECK(met[1].sent_messages() == 3);
  CHECK(met[1].sent_bytes() == 3 * 40);
}
