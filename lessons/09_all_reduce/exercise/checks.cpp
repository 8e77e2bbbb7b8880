// What is asked of my/09_ring.cpp, easy things first.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "09_all_reduce/exercise/codes.h"
#include "09_all_reduce/exercise/part.h"
#include "09_all_reduce/exercise/watched_ring.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

using Links = WatchedRing::Links;

/// Of rings. In one of 3, left and right are different ranks.
const std::vector<int> kSizes = {3, 2, 4, 5, 6, 7, 8};

std::vector<Chunk> chunks_of(const Part& part, std::int64_t count, int chunks) {
  std::vector<Chunk> out;
  for (int index = 0; index < chunks; ++index) out.push_back(part.chunk_of(count, chunks, index));
  return out;
}

std::string in_words(const std::vector<Chunk>& chunks) {
  std::vector<std::int64_t> counts;
  for (const Chunk& chunk : chunks) counts.push_back(chunk.count);
  return fmt::format("chunks of {}", joined(counts));
}

void reduce_scatter(const Part& part, WatchedRing& ring, Buffers& buffers) {
  ring.run(
      [&](Ring& place) { part.reduce_scatter(place, buffers[static_cast<std::size_t>(place.place())]); });
}

void all_gather(const Part& part, WatchedRing& ring, Buffers& buffers) {
  ring.run([&](Ring& place) { part.all_gather(place, buffers[static_cast<std::size_t>(place.place())]); });
}

void all_reduce(const Part& part, WatchedRing& ring, Buffers& buffers) {
  ring.run([&](Ring& place) {
    Buffer& values = buffers[static_cast<std::size_t>(place.place())];
    part.reduce_scatter(place, values);
    part.all_gather(place, values);
  });
}

/// Of each place, the chunks in which all numbers are the sum over all ranks.
std::vector<std::vector<int>> complete_chunks(const Buffers& buffers, const std::vector<Chunk>& chunks) {
  std::vector<std::vector<int>> out;
  for (const Buffer& values : buffers) {
    std::vector<int>& complete = out.emplace_back();
    for (int index = 0; index < static_cast<int>(chunks.size()); ++index)
      if (are_all(values, chunks[static_cast<std::size_t>(index)],
                  sum_of_codes(static_cast<int>(chunks.size()))))
        complete.push_back(index);
  }
  return out;
}

// ---- Checks ----

void check_cut(const Part& part) {
  const std::vector<std::pair<std::int64_t, int>> cuts = {
      {12, 3}, {10, 4}, {7, 3}, {2, 4}, {0, 3}, {1, 8}, {61, 8}, {5, 1}, {6'000'000'000, 7}};
  for (const auto& [count, size] : cuts) {
    const std::vector<Chunk> chunks = chunks_of(part, count, size);
    const std::string cut = fmt::format("{} numbers in {} chunks", count, size);
    std::int64_t end = 0;
    for (int index = 0; index < size; ++index) {
      const Chunk& chunk = chunks[static_cast<std::size_t>(index)];
      expect(chunk.begin == end && chunk.count >= 0,
             {fmt::format("{}: chunk {} to begin at {}, where the one before ends", cut, index, end),
              fmt::format("begin {}, count {}", chunk.begin, chunk.count),
              "begin and count: a chunk ends where the next one begins"});
      end += chunk.count;
    }
    expect(end == count, {fmt::format("{}: the last one to end behind all {}", cut, count),
                          fmt::format("{}, which end behind {}", in_words(chunks), end),
                          end == 0 ? "chunk_of, which gives no chunk a number so far"
                                   : "the numbers that are left over by the division"});
    const auto [least, most] =
        std::minmax_element(chunks.begin(), chunks.end(), [](auto& a, auto& b) { return a.count < b.count; });
    expect(most->count - least->count <= 1, {cut + ": sizes that differ by at most one", in_words(chunks),
                                             "who takes what the division leaves over: one number more for "
                                             "each of the first few, not all for one"});
  }
}

std::string look_at_sums(const Buffers& buffers, int size) {
  int most = 0, ranks = 0;
  for (const Buffer& values : buffers) {
    for (const float value : values) {
      const std::vector<int> times = times_in(value, size);
      most = std::max(most, *std::max_element(times.begin(), times.end()));
      ranks = std::max(ranks, size - static_cast<int>(std::count(times.begin(), times.end(), 0)));
    }
  }
  if (most > 1)
    return "what is added twice: N - 1 steps are enough, and a chunk that was sent on gets nothing more here";
  if (ranks < 2) return "reduce_scatter: nowhere have numbers of two ranks been added";
  return "which chunk goes in step k: the one that step k - 1 has added to, so that it has one rank more "
         "each time";
}

void check_reduce(const Part& part) {
  for (const int size : kSizes) {
    const std::int64_t count = 2 * size;
    const std::vector<Chunk> chunks = chunks_of(part, count, size);
    WatchedRing ring(size);
    Buffers buffers = codes(size, count);
    reduce_scatter(part, ring, buffers);
    const std::vector<std::vector<int>> complete = complete_chunks(buffers, chunks);
    std::vector<bool> is_somewhere(chunks.size());
    for (int rank = 0; rank < size; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      expect(!complete[at].empty(),
             {fmt::format("on rank {} of {} a chunk with the numbers of all ranks", rank, size),
              ranks_in_chunks(buffers[at], chunks), look_at_sums(buffers, size)});
      for (const int index : complete[at]) is_somewhere[static_cast<std::size_t>(index)] = true;
    }
    const auto none = std::find(is_somewhere.begin(), is_somewhere.end(), false);
    expect(none == is_somewhere.end(),
           {fmt::format("each of {} chunks to be complete on some rank", size),
            fmt::format("chunk {} on none, and {} on rank 0", none - is_somewhere.begin(), complete[0][0]),
            "with which chunk a rank begins: each with another one, by its place"});

    Buffers same(static_cast<std::size_t>(size), places(count));
    reduce_scatter(part, ring, same);
    for (std::size_t rank = 0; rank < same.size(); ++rank) {
      const Chunk& own = chunks[static_cast<std::size_t>(complete[rank][0])];
      for (std::int64_t i = own.begin; i < own.begin + own.count; ++i) {
        const float wanted = static_cast<float>(size) * static_cast<float>(i + 1);
        const float came = same[rank][static_cast<std::size_t>(i)];
        expect(came == wanted, {fmt::format("{} times {} at {} on rank {}, where all ranks had {}", size,
                                            i + 1, i, rank, i + 1),
                                fmt::format("{:g}", came),
                                "what is added to what: the chunk that comes is the one that the left "
                                "neighbour sends, and in order"});
      }
    }
  }
}

void check_owner(const Part& part) {
  for (const int size : kSizes) {
    const std::int64_t count = 2 * size;
    WatchedRing ring(size);
    Buffers buffers = codes(size, count);
    reduce_scatter(part, ring, buffers);
    const std::vector<std::vector<int>> complete = complete_chunks(buffers, chunks_of(part, count, size));
    std::vector<int> owned;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<int>& own = complete[static_cast<std::size_t>(rank)];
      owned.push_back(part.owned_chunk(rank, size));
      const bool is_one = owned.back() >= 0 && owned.back() < size;
      expect(std::find(own.begin(), own.end(), owned.back()) != own.end(),
             {fmt::format("owned_chunk({}, {}) to be what reduce_scatter completes there: {}", rank, size,
                          joined(own)),
              fmt::format("{}{}", owned.back(), is_one ? "" : ", which is none of the chunks"),
              "the last step of reduce_scatter: which chunk does it add to?"});
    }
    std::sort(owned.begin(), owned.end());
    expect(std::adjacent_find(owned.begin(), owned.end()) == owned.end(),
           {fmt::format("each of {} ranks to own another chunk", size),
            fmt::format("chunks {}", joined(owned)), "owned_chunk: two ranks own the same one"});
  }
}

constexpr float kBefore = -1024;  // in chunks that are still to come

/// What is wrong with a chunk whose numbers should tell their places.
Finding wrong_chunk(const Buffer& values, const std::vector<Chunk>& chunks, int index, std::string expected) {
  const Chunk& chunk = chunks[static_cast<std::size_t>(index)];
  const float* const first = values.data() + chunk.begin;
  const auto is = [&](std::int64_t begin, float added) {
    for (std::int64_t i = 0; i < chunk.count; ++i)
      if (first[i] != static_cast<float>(begin + i + 1) + added) return false;
    return true;
  };
  for (int often = 1; often < static_cast<int>(chunks.size()); ++often)
    if (is(chunk.begin, static_cast<float>(often) * kBefore))
      return {std::move(expected), "them added to what was there",
              "what is done with what comes: it is complete, and takes the place of what is there"};
  for (std::size_t other = 0; other < chunks.size(); ++other)
    if (is(chunks[other].begin, 0))
      return {std::move(expected), fmt::format("those of chunk {}", other),
              "which chunk comes in step k: the one that the left neighbour sends"};
  return {std::move(expected), "numbers that are not complete",
          "which chunk goes first, how many steps there are, and where what comes is kept"};
}

void check_gather(const Part& part) {
  for (const int size : kSizes) {
    const std::int64_t count = 2 * size;
    const std::vector<Chunk> chunks = chunks_of(part, count, size);
    const Buffer wanted = places(count);
    Buffers buffers(static_cast<std::size_t>(size), Buffer(static_cast<std::size_t>(count), kBefore));
    for (int rank = 0; rank < size; ++rank) {
      const Chunk& own = chunks[static_cast<std::size_t>(part.owned_chunk(rank, size))];
      std::copy_n(wanted.begin() + own.begin, own.count,
                  buffers[static_cast<std::size_t>(rank)].begin() + own.begin);
    }
    WatchedRing ring(size);
    all_gather(part, ring, buffers);
    for (int rank = 0; rank < size; ++rank) {
      const Buffer& values = buffers[static_cast<std::size_t>(rank)];
      const int owned = part.owned_chunk(rank, size);
      for (int i = 0; i < size; ++i) {
        const int index = (owned + i) % size;
        const Chunk& chunk = chunks[static_cast<std::size_t>(index)];
        if (std::equal(values.begin() + chunk.begin, values.begin() + chunk.begin + chunk.count,
                       wanted.begin() + chunk.begin))
          continue;
        not_yet(wrong_chunk(
            values, chunks, index,
            fmt::format("rank {} of {} to have the complete numbers of chunk {} (it began with {})", rank,
                        size, index, part.owned_chunk(rank, size))));
      }
    }
  }
}

/// All-reduces of whole numbers, whose sums are exact.
void check_sums(const Part& part, WatchedRing& ring, std::int64_t count) {
  const int size = ring.size();
  Buffers who, where(static_cast<std::size_t>(size), places(count));
  for (int place = 0; place < size; ++place) who.emplace_back(count, code_of(ring.rank_at(place)));
  all_reduce(part, ring, who);
  all_reduce(part, ring, where);
  for (int place = 0; place < size; ++place) {
    const Buffer &by_rank = who[static_cast<std::size_t>(place)],
                 &by_place = where[static_cast<std::size_t>(place)];
    for (std::size_t i = 0; i < by_rank.size(); ++i) {
      const std::string wanted = fmt::format("number {} of {} on rank {} to have the numbers of all {} ranks",
                                             i, count, ring.rank_at(place), size);
      expect(by_rank[i] == sum_of_codes(size),
             {wanted, "those of " + ranks_in(by_rank[i], size),
              "chunks of unequal size: each step takes the size of the chunk that goes, or comes"});
      expect(by_place[i] == static_cast<float>(size) * static_cast<float>(i + 1),
             {wanted, "numbers from other places in the buffer", "where a chunk begins"});
    }
  }
}

void check_sizes(const Part& part) {
  for (const int size : kSizes) {
    WatchedRing ring(size);
    for (const std::int64_t count : {2 * size + 1, 3 * size - 1, size - 1, 1, 0, 61})
      check_sums(part, ring, count);
  }
}

void check_alone(const Part& part) {
  WatchedRing ring(1);
  Buffers buffers = {places(5)};
  all_reduce(part, ring, buffers);
  expect(buffers[0] == places(5), {"the numbers of a rank that is alone to stay", "others",
                                   "what is done where there is no step to take"});
}

void check_bits(const Part& part) {
  constexpr std::int64_t kCount = 61;
  for (const int size : kSizes) {
    WatchedRing ring(size);
    Buffers buffers;
    for (int rank = 0; rank < size; ++rank) {
      Buffer& values = buffers.emplace_back();
      for (int i = 0; i < kCount; ++i)
        values.push_back(std::sin(static_cast<float>(1 + 37 * rank + 11 * i)) * std::ldexp(1.0F, rank % 3));
    }
    all_reduce(part, ring, buffers);
    for (std::size_t rank = 1; rank < buffers.size(); ++rank) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(kCount); ++i) {
        const float first = buffers[0][i], here = buffers[rank][i];
        expect(std::bit_cast<std::uint32_t>(first) == std::bit_cast<std::uint32_t>(here),
               {fmt::format("number {} of rank {} as rank 0 has it, to the last bit: {:.9g}", i, rank, first),
                fmt::format("{:.9g}", here),
                "all_gather: a sum is made once, on the rank that owns it, and all others take it as it is"});
      }
    }
  }
}

void check_waits(const Part& part) {
  for (const int size : kSizes) {
    WatchedRing ring(WatchedRing::in_order(size), Links{.have_room = false});
    check_sums(part, ring, 2 * size + 1);
  }
}

void check_neighbours(const Part& part) {
  const std::vector<std::vector<int>> orders = {
      {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 4, 2, 5}, {2, 0, 1}, {7, 5, 3, 1, 0, 2, 4, 6}};
  for (const std::vector<int>& order : orders) {
    WatchedRing ring(order, Links{.join_neighbours_only = true});
    check_sums(part, ring, 2 * ring.size() + 1);
  }
}

void check_messages(const Part& part) {
  for (const int size : kSizes) {
    const auto by_rank = [&](const WatchedRing& ring) {
      std::vector<int> out(static_cast<std::size_t>(size));
      for (const WatchedRing::Message& message : ring.sent()) ++out[static_cast<std::size_t>(message.from)];
      return out;
    };
    WatchedRing ring(size);
    Buffers buffers = codes(size, 3 * size + 1);
    reduce_scatter(part, ring, buffers);
    const std::vector<int> reducing = by_rank(ring);
    all_gather(part, ring, buffers);
    const std::vector<int> gathering = by_rank(ring);
    for (std::size_t rank = 0; rank < reducing.size(); ++rank)
      expect(reducing[rank] == size - 1 && gathering[rank] == size - 1,
             {fmt::format("rank {} of {} to send 2 (N - 1) = {} messages", rank, size, 2 * (size - 1)),
              fmt::format("{} in reduce_scatter and {} in all_gather", reducing[rank], gathering[rank]),
              "the loops: N - 1 steps each, and one message in a step"});
  }
}

void check_bytes(const Part& part) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  for (const int size : kSizes) {
    const std::int64_t count = 3 * size + 1, most = 4;
    WatchedRing ring(size);
    Buffers buffers = codes(size, count);
    all_reduce(part, ring, buffers);
    std::int64_t sent = 0;
    for (const WatchedRing::Message& message : ring.sent()) {
      expect(message.numbers <= most,
             {fmt::format("no message of more than {} bytes, the largest of {} chunks", most * kFloat, size),
              fmt::format("one of {} bytes", message.numbers * kFloat),
              "what is sent: one chunk, not the buffer"});
      sent += message.numbers;
    }
    const std::int64_t wanted = 2 * (size - 1) * count;
    expect(sent == wanted, {fmt::format("{} ranks to send 2 (N - 1) times the {} bytes of a buffer: {}", size,
                                        count * kFloat, wanted * kFloat),
                            fmt::format("{} bytes", sent * kFloat),
                            "the length of each message: that of its chunk, and no more"});
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"cut", exercise::check_cut},
                                           {"reduce", exercise::check_reduce},
                                           {"owner", exercise::check_owner},
                                           {"gather", exercise::check_gather},
                                           {"sizes", exercise::check_sizes},
                                           {"bits", exercise::check_bits},
                                           {"waits", exercise::check_waits},
                                           {"neighbours", exercise::check_neighbours},
                                           {"messages", exercise::check_messages},
                                           {"bytes", exercise::check_bytes},
                                           {"alone", exercise::check_alone}});
}

}  // namespace isobar
