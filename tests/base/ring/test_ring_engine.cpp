#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/clock.h"
#include "core/random.h"
#include "ring/ring_world.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

constexpr std::int64_t kPatience_us = 30'000'000;

/// What rank `rank` holds at `i`, and their sum over the ranks.
std::int64_t value_at(int rank, std::int64_t i) { return (i * 7 + 3) % 1000 + 1000 * rank; }
std::int64_t sum_at(int size, std::int64_t i) {
  std::int64_t sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += value_at(rank, i);
  return sum;
}

template <typename Value>
std::vector<Value> values_of(int rank, std::int64_t n) {
  std::vector<Value> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<Value>(value_at(rank, i));
  return out;
}

template <typename Value>
void check_sums(int size, std::int64_t n, CombineType type) {
  INFO(size << " ranks, " << n << " values of type " << static_cast<int>(type));
  RingWorld world(size);
  std::vector<std::vector<Value>> buffers;
  for (int rank = 0; rank < size; ++rank) buffers.push_back(values_of<Value>(rank, n));
  std::atomic<int> done = 0;
  world.run([&](RingEngine& engine) {
    auto& mine = buffers[static_cast<std::size_t>(engine.rank())];
    const auto job = engine.start(all_reduce_of(mine, type));
    done += engine.wait(*job, kPatience_us) ? 1 : 0;
  });
  REQUIRE(done == size);
  std::int64_t wrong = 0;
  for (const auto& buffer : buffers) {
    for (std::int64_t i = 0; i < n; ++i)
      wrong += buffer[static_cast<std::size_t>(i)] != static_cast<Value>(sum_at(size, i)) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("all ranks get the sum, of every length") {
  const int size = GENERATE(2, 3, 4);
  for (const std::int64_t n : {0, 1, size - 1, size, 17, 1000, 16'385, 300'001}) {
    check_sums<std::int32_t>(size, n, CombineType::i32);
    check_sums<float>(size, n, CombineType::f32);
  }
  for (const std::int64_t n : {5, 70'003}) {
    check_sums<std::int64_t>(size, n, CombineType::i64);
    check_sums<std::uint8_t>(size, n, CombineType::u8);
    check_sums<double>(size, n, CombineType::f64);
  }
}

TEST_CASE("bits are equal on all ranks, whatever the order of additions gave") {
  const int size = GENERATE(2, 3, 4);
  const auto type = GENERATE(CombineType::f32, CombineType::f16, CombineType::bf16);
  constexpr std::int64_t kValues = 50'021;
  RingWorld world(size);
  std::vector<std::vector<std::byte>> buffers;
  const std::size_t bytes = kValues * bytes_of(type);
  for (int rank = 0; rank < size; ++rank) {
    buffers.emplace_back(bytes);
    const std::uint64_t key = stream_key(7, "ring " + std::to_string(rank));
    for (std::size_t i = 0; i < static_cast<std::size_t>(kValues); ++i) {
      const auto value = static_cast<float>(uniform_at(key, i) - 0.5);
      // Of 16 bits: some pattern whose exponent is neither all ones nor large.
      const auto half =
          static_cast<std::uint16_t>(0x3000U + static_cast<std::uint32_t>((value + 0.5F) * 2000));
      std::byte* const place = buffers.back().data() + i * bytes_of(type);
      if (type == CombineType::f32) std::memcpy(place, &value, 4);
      if (type != CombineType::f32) std::memcpy(place, &half, 2);
    }
  }
  const auto before = buffers;
  world.run([&](RingEngine& engine) {
    std::byte* const mine = buffers[static_cast<std::size_t>(engine.rank())].data();
    const auto job =
        engine.start({.type = type, .divides = true, .elements = kValues, .in = mine, .out = mine});
    engine.wait(*job, kPatience_us);
  });
  CHECK(buffers.front() != before.front());
  for (const auto& buffer : buffers) CHECK(buffer == buffers.front());
}

TEST_CASE("a mean is the sum, rounded, and then divided") {
  RingWorld world(3);
  std::vector<std::vector<float>> buffers = {{0.1F, 1, 7}, {0.2F, 1, 1}, {0.4F, 5, 2}};
  const auto first = buffers;
  world.run([&](RingEngine& engine) {
    auto request = all_reduce_of(buffers[static_cast<std::size_t>(engine.rank())], CombineType::f32);
    request.divides = true;
    engine.wait(*engine.start(request), kPatience_us);
  });
  for (std::size_t i = 0; i < 3; ++i) {
    // Chunk i starts at rank i and goes round: i, i + 1, i + 2.
    float sum = first[i][i] + first[(i + 1) % 3][i];
    sum += first[(i + 2) % 3][i];
    for (const auto& buffer : buffers) CHECK(buffer[i] == sum / 3.0F);
  }
}

TEST_CASE("the largest wins, and a NaN is not lost") {
  RingWorld world(2);
  const float nan = std::nanf("");
  std::vector<std::vector<float>> buffers = {{1, -5, nan, 2}, {0, -3, 4, nan}};
  world.run([&](RingEngine& engine) {
    auto request = all_reduce_of(buffers[static_cast<std::size_t>(engine.rank())], CombineType::f32);
    request.takes_larger = true;
    engine.wait(*engine.start(request), kPatience_us);
  });
  for (const auto& buffer : buffers) {
    CHECK(buffer[0] == 1);
    CHECK(buffer[1] == -3);
    CHECK(std::isnan(buffer[2]));
    CHECK(std::isnan(buffer[3]));
  }
}

TEST_CASE("broadcast, all-gather and reduce-scatter bring every part to its place") {
  const int size = GENERATE(2, 3, 4);
  const std::int64_t part = GENERATE(1, 1001, 100'000);
  const std::int64_t whole = part * size;
  INFO(size << " ranks, " << part << " values a part");
  RingWorld world(size);
  std::atomic<int> wrong = 0;
  world.run([&](RingEngine& engine) {
    const int rank = engine.rank();
    for (int root = 0; root < size; ++root) {
      auto values = values_of<std::int32_t>(rank, part);
      auto request = all_reduce_of(values, CombineType::i32);
      request.kind = RingKind::broadcast;
      request.root = root;
      engine.wait(*engine.start(request), kPatience_us);
      wrong += values == values_of<std::int32_t>(root, part) ? 0 : 1;
    }
    const auto mine = values_of<std::int32_t>(rank, part);
    std::vector<std::int32_t> all(static_cast<std::size_t>(whole));
    engine.wait(*engine.start({.kind = RingKind::all_gather,
                               .type = CombineType::i32,
                               .elements = whole,
                               .in = reinterpret_cast<const std::byte*>(mine.data()),
                               .out = reinterpret_cast<std::byte*>(all.data())}),
                kPatience_us);
    for (std::int64_t i = 0; i < whole; ++i)
      wrong += all[static_cast<std::size_t>(i)] == value_at(static_cast<int>(i / part), i % part) ? 0 : 1;
    const auto given = values_of<std::int32_t>(rank, whole);
    std::vector<std::int32_t> sums(static_cast<std::size_t>(part));
    engine.wait(*engine.start({.kind = RingKind::reduce_scatter,
                               .type = CombineType::i32,
                               .elements = whole,
                               .in = reinterpret_cast<const std::byte*>(given.data()),
                               .out = reinterpret_cast<std::byte*>(sums.data())}),
                kPatience_us);
    for (std::int64_t i = 0; i < part; ++i)
      wrong += sums[static_cast<std::size_t>(i)] == sum_at(size, rank * part + i) ? 0 : 1;
    wrong += given == values_of<std::int32_t>(rank, whole) ? 0 : 1;  // the input is not touched
  });
  CHECK(wrong == 0);
}

TEST_CASE("an all-to-all takes each message to its rank, whatever each is long, between other collectives") {
  const int size = GENERATE(2, 3, 4);
  const std::int64_t scale = GENERATE(1, 7001, 200'000);
  RingWorld world(size);
  if (size > 2) world.connect_pairs();
  std::atomic<int> wrong = 0;
  const auto count = [&](int from, int to) { return (from + to) % 3 * scale; };
  world.run([&](RingEngine& engine) {
    const int rank = engine.rank();
    std::vector<std::int32_t> in, expected;
    std::vector<std::int64_t> sends, receives;
    for (int other = 0; other < size; ++other) {
      sends.push_back(count(rank, other));
      receives.push_back(count(other, rank));
      in.insert(in.end(), static_cast<std::size_t>(sends.back()), 10 * rank + other);
      expected.insert(expected.end(), static_cast<std::size_t>(receives.back()), 10 * other + rank);
    }
    std::vector<std::int32_t> out(expected.size());
    auto values = values_of<std::int32_t>(rank, 1000);
    const auto before = engine.start(all_reduce_of(values, CombineType::i32));
    const auto job = engine.start({.kind = RingKind::all_to_all,
                                   .type = CombineType::i32,
                                   .elements = static_cast<std::int64_t>(std::max(in.size(), out.size())),
                                   .in = reinterpret_cast<const std::byte*>(in.data()),
                                   .out = reinterpret_cast<std::byte*>(out.data()),
                                   .sends = sends,
                                   .receives = receives});
    engine.wait(*job, kPatience_us);
    wrong += out == expected && before->is_done() ? 0 : 1;
    engine.wait(*engine.start(all_reduce_of(values, CombineType::i32)), kPatience_us);
    wrong += values.back() == size * sum_at(size, 999) ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("what an all-to-all needs comes behind a collective that is under way") {
  constexpr int kSize = 3;
  RingWorld world(kSize);
  const SharedMemory made = SharedMemory::make(PairLinks::bytes(kSize));
  std::atomic<int> right = 0;
  world.run([&](RingEngine& engine) {
    auto values = values_of<std::int32_t>(engine.rank(), 3'000'000);
    const auto before = engine.start(all_reduce_of(values, CombineType::i32));
    engine.connect_pairs(SharedMemory::open(made.address(), made.bytes()));
    right += before->is_done() ? 1 : 0;
    const std::vector<std::int32_t> in = {10 * engine.rank(), 10 * engine.rank() + 1, 10 * engine.rank() + 2};
    std::vector<std::int32_t> out(in.size());
    const auto job = engine.start({.kind = RingKind::all_to_all,
                                   .type = CombineType::i32,
                                   .elements = kSize,
                                   .in = reinterpret_cast<const std::byte*>(in.data()),
                                   .out = reinterpret_cast<std::byte*>(out.data()),
                                   .sends = {1, 1, 1},
                                   .receives = {1, 1, 1}});
    engine.wait(*job, kPatience_us);
    right += out == std::vector<std::int32_t>{engine.rank(), 10 + engine.rank(), 20 + engine.rank()} ? 1 : 0;
    right += values.back() == sum_at(kSize, 2'999'999) ? 1 : 0;
  });
  CHECK(right == 3 * kSize);
}

TEST_CASE("2 (N - 1) steps of S / N bytes are recorded, in the order of the plan") {
  const int size = GENERATE(2, 3, 4);
  constexpr std::int64_t kEach = 200'000;
  RingWorld world(size);
  std::vector<std::vector<CollectiveStep>> steps(static_cast<std::size_t>(size));
  world.run([&](RingEngine& engine) {
    auto values = values_of<float>(engine.rank(), kEach * size);
    const auto job = engine.start(all_reduce_of(values, CombineType::f32));
    engine.wait(*job, kPatience_us);
    steps[static_cast<std::size_t>(engine.rank())] = job->steps();
  });
  for (int rank = 0; rank < size; ++rank) {
    const auto& mine = steps[static_cast<std::size_t>(rank)];
    REQUIRE(mine.size() == static_cast<std::size_t>(2 * (size - 1)));
    std::int64_t bytes = 0;
    for (const CollectiveStep& step : mine) {
      const int k = step.step;
      const int first = step.phase == CollectivePhase::reduce ? rank : rank + 1;
      CHECK(step.sent_chunk == ((first - k) % size + size) % size);
      CHECK(step.received_chunk == ((first - k - 1) % size + size) % size);
      CHECK(step.bytes == kEach * 4);
      CHECK(step.begin_us > 0);
      CHECK(step.end_us >= step.begin_us);
      CHECK(step.waited_us >= 0);
      bytes += step.bytes;
    }
    CHECK(bytes == 2 * (size - 1) * kEach * 4);
    CHECK(mine.front().phase == CollectivePhase::reduce);
    CHECK(mine.back().phase == CollectivePhase::spread);
  }
}

TEST_CASE("many are under way at once, and ranks come in any order") {
  const int size = GENERATE(2, 4);
  constexpr int kJobs = 60;
  RingWorld world(size);
  std::atomic<int> wrong = 0;
  world.run([&](RingEngine& engine) {
    const std::uint64_t key = stream_key(3, "order " + std::to_string(engine.rank()));
    std::vector<std::vector<std::int64_t>> buffers;
    std::vector<std::shared_ptr<RingJob>> jobs;
    for (int k = 0; k < kJobs; ++k)
      buffers.push_back(values_of<std::int64_t>(engine.rank() + k, 1 + k * 997));
    for (int k = 0; k < kJobs; ++k) {
      const double chance = uniform_at(key, static_cast<std::uint64_t>(k));
      if (chance < 0.3)
        std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(chance * 3000)));
      jobs.push_back(engine.start(all_reduce_of(buffers[static_cast<std::size_t>(k)], CombineType::i64)));
      if (chance > 0.8) engine.wait(*jobs[static_cast<std::size_t>(k / 2)], kPatience_us);
    }
    for (int k = kJobs - 1; k >= 0; --k)
      wrong += engine.wait(*jobs[static_cast<std::size_t>(k)], kPatience_us) ? 0 : 1;
    for (int k = 0; k < kJobs; ++k) {
      for (std::int64_t i = 0; i < 1 + k * 997; ++i) {
        const std::int64_t expected = sum_at(size, i) + 1000 * k * size;
        wrong += buffers[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)] == expected ? 0 : 1;
      }
    }
    for (int k = 1; k < kJobs; ++k)
      wrong += jobs[static_cast<std::size_t>(k)]->end_us() >= jobs[static_cast<std::size_t>(k - 1)]->end_us()
                   ? 0
                   : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a rank that does not come keeps nobody longer than asked for, and may come later") {
  RingWorld world(2);
  std::vector<std::vector<float>> buffers = {std::vector<float>(100'000, 1), std::vector<float>(100'000, 2)};
  const auto first = world.at(0).start(all_reduce_of(buffers[0], CombineType::f32));
  CHECK_FALSE(world.at(0).wait(*first, 20'000));
  CHECK_FALSE(first->is_done());
  CHECK(first->end_us() == 0);
  const auto second = world.at(1).start(all_reduce_of(buffers[1], CombineType::f32));
  CHECK(world.at(0).wait(*first, kPatience_us));
  CHECK(world.at(1).wait(*second, kPatience_us));
  CHECK(buffers[0] == std::vector<float>(100'000, 3));
  CHECK(buffers[0] == buffers[1]);
}

TEST_CASE("who gives up frees everybody, and nothing works afterwards") {
  RingWorld world(3);
  std::vector<std::vector<float>> buffers(3, std::vector<float>(500'000, 1));
  std::atomic<int> told = 0;
  world.run([&](RingEngine& engine) {
    if (engine.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return engine.abort();
    }
    const auto job =
        engine.start(all_reduce_of(buffers[static_cast<std::size_t>(engine.rank())], CombineType::f32));
    try {
      engine.wait(*job, kPatience_us);
    } catch (const Error& error) {
      told += std::string(error.what()) == "rank 2 gave up" ? 1 : 0;
    }
  });
  CHECK(told == 2);
  CHECK_THAT(failure_of([&] {
               const auto job = world.at(0).start(all_reduce_of(buffers[0], CombineType::f32));
               world.at(0).wait(*job, kPatience_us);
             }),
             says("rank 2 gave up"));
}

TEST_CASE("a rank that left is told, once what it had sent is used up") {
  RingWorld world(2);
  std::vector<std::vector<float>> buffers(2, std::vector<float>(3, 1));
  world.run([&](RingEngine& engine) {
    engine.wait(
        *engine.start(all_reduce_of(buffers[static_cast<std::size_t>(engine.rank())], CombineType::f32)),
        kPatience_us);
  });
  const auto job = world.at(0).start(all_reduce_of(buffers[0], CombineType::f32));
  const std::int64_t begin_us = steady_us();
  world.leave(1);
  CHECK_THAT(failure_of([&] { world.at(0).wait(*job, kPatience_us); }), says("rank 1 has left"));
  CHECK(steady_us() - begin_us < kPatience_us / 2);
}

TEST_CASE("who waits for one leaves those behind it to the thread, which moves them") {
  RingWorld world(2);
  world.run([&](RingEngine& engine) {
    for (int k = 0; k < 100; ++k) {
      std::vector<float> values(100'000, 1), behind(100'000, 1);
      const auto first = engine.start(all_reduce_of(values, CombineType::f32));
      const auto second = engine.start(all_reduce_of(behind, CombineType::f32));
      engine.wait(*first, kPatience_us);
      while (!second->is_done())
        std::this_thread::yield();  // the Deadline of the world ends what never comes
    }
  });
}
