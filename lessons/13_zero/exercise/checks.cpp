// What is asked of my/13_owner_map.cpp, easy things first. Ranks are threads of one process.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "13_zero/exercise/part.h"
#include "13_zero/exercise/sharded_jobs.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

/// What else it may be, by a mistake that the value shows.
template <class Value>
struct Other {
  Value value;
  const char* look;
};

template <class Value>
void expect_is(const Value& came, const Value& wanted, const std::string& what, const char* look,
               const std::vector<Other<Value>>& others) {
  if (came == wanted) return;
  for (const auto& [value, of_it] : others)
    if (came == value) {
      look = of_it;
      break;
    }
  not_yet({fmt::format("{} to be {}", what, wanted), fmt::format("{}", came), look});
}

void check_padding(const Part& part) {
  for (const auto& [values, ranks] :
       {std::pair{std::int64_t{71}, 2}, {32, 2}, {1, 4}, {100, 3}, {0, 2}, {50, 1}, {4'000'000'001, 8}}) {
    const std::int64_t unit = ranks * kShareUnit, wanted = right_length(values, ranks);
    expect_is(part.padded_length(values, ranks), wanted,
              fmt::format("the padded length of {} values on {} ranks", values, ranks),
              "padded_length(): the next multiple of ranks times kShareUnit",
              {{values, "padding: all shares are equally long"},
               {values / unit * unit, "what rounding down leaves over: it would belong to no rank"},
               {(values / unit + 1) * unit, "a bucket that needs no padding"},
               {(values + ranks - 1) / ranks * ranks, "kShareUnit: a share is a multiple of it"},
               {(values + kShareUnit - 1) / kShareUnit * kShareUnit,
                "what is a multiple of kShareUnit: each share, not only the bucket"},
               {wanted / ranks, "whose length it is: the bucket's, not a share's"}});
  }
}

std::string words(const ValueRange& range) {
  return fmt::format("{} values from {} on", range.count, range.begin);
}

void check_share(const Part& part) {
  for (const auto& [padded, ranks] :
       {std::pair{std::int64_t{96}, 3}, {64, 1}, {256, 4}, {4'000'000'000, 2}}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t count = padded / ranks, begin = rank * count;
      expect_is(words(part.share_of(padded, ranks, rank)), words({begin, count}),
                fmt::format("the share of rank {} of {} in {} values", rank, ranks, padded),
                "share_of(): equal shares, one behind the other",
                {{words({begin, padded}), "how long a share is: not as long as the bucket"},
                 {words({begin, begin + count}), "count: how many, not where the share ends"},
                 {words({rank, count}), "where a share begins: behind all values of the ranks before"},
                 {words({0, count}), "which share it is: each rank has its own"},
                 {words({padded - begin - count, count}), "the order of shares: rank 0 has the first"}});
    }
  }
}

void check_owner(const Part& part) {
  for (const auto& [sizes, ranks] :
       {std::pair{Sizes{20, 50, 7}, 2}, {Sizes{16, 16, 16, 16}, 4}, {Sizes{5}, 4}, {Sizes{100, 1, 30}, 3}}) {
    const std::int64_t share = right_length(values_of(sizes), ranks) / ranks;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); begin += sizes[i], ++i) {
      for (const std::int64_t value : {std::int64_t{0}, sizes[i] / 2, sizes[i] - 1}) {
        const int by_parameter = static_cast<int>(i) % ranks;
        expect_is(part.owner_of(sizes, ranks, i, value), static_cast<int>((begin + value) / share),
                  fmt::format("the owner of value {} of parameter {}, of {} values on {} ranks,", value, i,
                              joined(sizes), ranks),
                  "owner_of(): the place in the bucket, and the share that holds it",
                  {{static_cast<int>(value / share), "what stands before the parameter in the bucket"},
                   {static_cast<int>(begin / share), "which value it is: a parameter may have two owners"},
                   {by_parameter, "who shares out whole parameters: values are shared out"}});
      }
    }
  }
}

std::string words(const std::vector<OwnedPart>& parts) {
  std::vector<std::string> out;
  for (const OwnedPart& part : parts)
    out.push_back(fmt::format("{} of parameter {} from {} on, at {}", part.values.count, part.parameter,
                              part.values.begin, part.in_share));
  return out.empty() ? "nothing" : joined(out, "; ");
}

struct PartsOf {
  Sizes sizes;
  int ranks;
  int rank;

  std::int64_t count() const { return right_length(values_of(sizes), ranks) / ranks; }
  /// All of them, empty ones as well if wanted, each changed by `change`.
  std::string parts(const std::function<void(OwnedPart& part, std::int64_t begin)>& change,
                    bool with_empty = false) const {
    std::vector<OwnedPart> out;
    const std::int64_t first = rank * count();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); begin += sizes[i], ++i) {
      const std::int64_t from = std::max(begin, first), to = std::min(begin + sizes[i], first + count());
      if (from >= to && !with_empty) continue;
      out.push_back({i, {from - begin, std::max<std::int64_t>(0, to - from)}, from - first});
      change(out.back(), begin);
    }
    return words(out);
  }
};

void check_parts(const Part& part) {
  for (const auto& [sizes, ranks] : {std::pair{Sizes{20, 50, 7}, 2},
                                     {Sizes{16, 16, 16, 16}, 4},
                                     {Sizes{5}, 3},
                                     {Sizes{100, 1, 30}, 3},
                                     {Sizes{3, 5, 2, 4}, 1}}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const PartsOf own{sizes, ranks, rank};
      const std::int64_t first = rank * own.count(), end = first + own.count();
      const auto in_bucket = [](OwnedPart& one, std::int64_t begin) { one.values.begin += begin; };
      const auto at_bucket = [&](OwnedPart& one, std::int64_t) { one.in_share += first; };
      const auto to_end = [](OwnedPart& one, std::int64_t) { one.values.count += one.values.begin; };
      const auto from_0 = [](OwnedPart& one, std::int64_t) { one.values.begin = 0; };
      const auto at_0 = [](OwnedPart& one, std::int64_t) { one.in_share = 0; };
      const auto whole = [&](OwnedPart& one, std::int64_t) { one.values = {0, sizes[one.parameter]}; };
      const auto padded = [&, last = sizes.size() - 1](OwnedPart& one, std::int64_t begin) {
        if (one.parameter == last) one.values.count = end - std::max(begin, first);
      };
      const auto as_it_is = [](OwnedPart&, std::int64_t) {};
      expect_is(words(part.owned_parts(sizes, ranks, rank)), own.parts(as_it_is),
                fmt::format("what rank {} of {} owns of parameters of {} values", rank, ranks, joined(sizes)),
                "owned_parts(): what a parameter and the share have in common",
                {{own.parts(in_bucket), "from where values are counted: from the first of the parameter"},
                 {own.parts(at_bucket), "from where in_share is counted: from the first of the share"},
                 {own.parts(to_end), "values.count: how many, not where they end"},
                 {own.parts(from_0), "a share that begins in the middle of a parameter"},
                 {own.parts(at_0), "where the second part of a share stands: behind the first"},
                 {own.parts(whole), "a share that ends in the middle of a parameter"},
                 {own.parts(padded), "padding: it belongs to no parameter"},
                 {own.parts(as_it_is, true), "a parameter of which the rank owns nothing"}});
    }
  }
}

// ---- Ranks that meet ----

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::max(1e-2, std::abs(b)); }
bool are_near(const Row& a, const Row& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return is_near(x, y); });
}

Row times(Row row, double factor) {
  for (float& value : row) value = static_cast<float>(value * factor);
  return row;
}

using Others = std::vector<Other<Row>>;

/// The first value that differs, or the lengths.
void expect_row(const Row& came, const Row& wanted, const std::string& what, const char* look,
                const std::function<Others()>& others) {
  expect(came.size() == wanted.size(), {fmt::format("{} to have {} values", what, wanted.size()),
                                        fmt::format("{}", came.size()), "how long a share is"});
  if (are_near(came, wanted)) return;
  for (const auto& [value, of_it] : others())
    if (are_near(came, value)) {
      look = of_it;
      break;
    }
  std::size_t at = 0;
  while (is_near(came[at], wanted[at])) ++at;
  not_yet({fmt::format("value {} of {} to be {:.5g}", at, what, wanted[at]), fmt::format("{:.5g}", came[at]),
           look});
}

std::size_t ranks_of(const ShareJob& job) { return static_cast<std::size_t>(job.ranks); }

void expect_asked(int came, std::size_t wanted, const char* what, const ShareJob& job, const char* look) {
  expect(came == static_cast<int>(wanted),
         {fmt::format("{} {} in {} {}", wanted, what, job.words(), wanted == 1 ? "" : "in all"),
          fmt::format("{}", came), look});
}

void check_mean(const Part& part) {
  for (const ShareJob& job : jobs()) {
    WatchedShares ranks(job.ranks);
    std::vector<std::vector<Row>> came(static_cast<std::size_t>(job.ranks));
    ranks.run([&](ShareRanks& own) {
      const HeldBuckets held(job, own.rank());
      came[static_cast<std::size_t>(own.rank())] = part.mean_shares(held.buckets, own);
    });
    for (int rank = 0; rank < job.ranks; ++rank) {
      const std::vector<Row>& shares = came[static_cast<std::size_t>(rank)];
      expect(shares.size() == job.values.size(),
             {fmt::format("mean_shares() to give {} shares", job.values.size()),
              fmt::format("{}", shares.size()), "mean_shares(): one for each bucket"});
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const Row wanted = job.own(job.mean(i), i, rank);
        expect_row(
            shares[i], wanted, fmt::format("rank {}'s share of bucket {}, of {},", rank, i, job.words()),
            "mean_shares(): reduce_scatter(), and what makes a mean of a sum", [&] {
              return Others{
                  {times(wanted, job.ranks), "what makes a mean of a sum"},
                  {times(wanted, 1.0 / job.ranks), "how often the sum is divided"},
                  {job.own(job.gradients(i, rank), i, rank), "whose gradients these are: this rank's alone"}};
            });
      }
    }
  }
}

void check_length(const Part& part) {
  constexpr double kShort = 3e-3;
  for (const int count : {2, 3, 1}) {
    std::vector<std::vector<Row>> shares;  // by rank; the lengths of these: 3 and 4, 6 and 8, 9 and 12
    double squares = 0, lengths = 0, first = 0;
    for (int rank = 0; rank < count; ++rank) {
      const auto scale = static_cast<float>(rank + 1);
      shares.push_back({{3 * scale, 0}, {0, 4 * scale, 0, 0}});
      squares += 25 * scale * scale;
      first += 9 * scale * scale;
      lengths += 5 * scale;
    }
    WatchedShares ranks(count);
    std::vector<double> came(static_cast<std::size_t>(count));
    ranks.run([&](ShareRanks& own) {
      const auto at = static_cast<std::size_t>(own.rank());
      came[at] = part.gradient_length(shares[at], own);
    });
    for (int rank = 0; rank < count; ++rank) {
      const double length = came[static_cast<std::size_t>(rank)], wanted = std::sqrt(squares);
      const char* look = "gradient_length(): the root of the sum of all squares";
      for (const auto& [value, of_it] :
           {std::pair{5.0 * (rank + 1), "whose squares these are: those of one share alone"},
            {lengths, "what is added up over the ranks: squares, not lengths"},
            {squares, "the root"},
            {std::sqrt(squares / count), "what is divided: the gradients are means already"},
            {std::sqrt(first), "all buckets, not the first alone"}})
        if (is_near(length, value) && count > 1) look = of_it;
      if (!is_near(length, wanted))
        not_yet({fmt::format("the length on rank {} of {}, whose shares have lengths of {:.3g}, to be {:.5g}",
                             rank, count, lengths / count, wanted),
                 fmt::format("{:.5g}", length), look});
    }
  }
  Row small(4096, 1.0F);
  small[0] = 1e4F;
  WatchedShares alone(1);
  alone.run([&](ShareRanks& own) {
    const double came = part.gradient_length({small}, own), wanted = std::sqrt(1e8 + 4095);
    expect(std::abs(came - wanted) < kShort,
           {fmt::format("the length of 10000 and 4095 times 1 to be {:.4f}", wanted),
            fmt::format("{:.4f}", came), "in which type squares are added up"});
  });
}

void expect_updates(const ShareJob& job, const SteppedRanks& came) {
  for (int rank = 0; rank < job.ranks; ++rank) {
    const auto& updates = came.updates[static_cast<std::size_t>(rank)];
    expect(updates.size() == job.values.size(),
           {fmt::format("{} updates on rank {}, of {}", job.values.size(), rank, job.words()),
            fmt::format("{}", updates.size()), "sharded_step(): one update for each bucket"});
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const auto& [bucket, weights, gradients] = updates[i];
      const auto share = static_cast<std::size_t>(job.share(i));
      const char* const look = bucket == i && weights == share
                                   ? "which gradients belong to the share: those of this bucket"
                                   : "what a rank updates: its share, for which alone it has moments";
      expect(bucket == i && weights == share && gradients == share,
             {fmt::format("update() of bucket {} with {} weights and {} gradients", i, share, share),
              fmt::format("bucket {} with {} and {}", bucket, weights, gradients), look});
    }
  }
}

void check_step(const Part& part) {
  for (const ShareJob& job : jobs()) {
    const SteppedRanks came(part, job, 0);
    expect_updates(job, came);
    for (int rank = 0; rank < job.ranks; ++rank) {
      for (std::size_t i = 0; i < job.values.size(); ++i) {
        const auto only = [&](int owner) {
          std::vector<double> out(ranks_of(job));
          out[static_cast<std::size_t>(owner)] = 1;
          return out;
        };
        expect_row(
            came.weights[static_cast<std::size_t>(rank)][i],
            stepped(job, i, std::vector<double>(ranks_of(job), 1)),
            fmt::format("the weights of bucket {} on rank {}, of {},", i, rank, job.words()),
            "sharded_step(): update() of the own share, and the gather behind it", [&] {
              return Others{
                  {job.weights(i), "what update() changes: weights in the bucket, not a copy of them"},
                  {stepped(job, i, only(rank)), came.ranks.asked(rank).all_gathers == 0
                                                    ? "who gives the other ranks what this one has updated"
                                                    : "when the gather goes: behind the update"},
                  {stepped(job, i, only(0)), "which share is updated: this rank's"}};
            });
      }
      expect_asked(came.ranks.asked(rank).reduce_scatters, job.values.size(), "reduce-scatters", job,
                   "how often gradients go over the network");
      expect_asked(came.ranks.asked(rank).all_gathers, job.values.size(), "all-gathers", job,
                   "how often weights go over the network");
    }
  }
}

void check_clip(const Part& part) {
  for (const ShareJob& job : jobs()) {
    const double length = job.length();
    for (const double most : {length / 4, length * 2}) {
      const double factor = std::min(1.0, most / length);
      const SteppedRanks came(part, job, most);
      for (int rank = 0; rank < job.ranks; ++rank) {
        for (std::size_t i = 0; i < job.values.size(); ++i) {
          const auto by = [&](double one) {
            return stepped(job, i, std::vector<double>(ranks_of(job), one));
          };
          const auto local = [&] {
            std::vector<double> out;
            for (int owner = 0; owner < job.ranks; ++owner)
              out.push_back(std::min(1.0, most / std::max(1e-12, job.length(owner))));
            return out;
          };
          expect_row(
              came.weights[static_cast<std::size_t>(rank)][i], by(factor),
              fmt::format("the weights of bucket {} on rank {}, of {}, with gradients of length {:.4g} "
                          "and at most {:.4g},",
                          i, rank, job.words(), length, most),
              "sharded_step(): one factor for all shares, most / length where that is below 1", [&] {
                return Others{
                    {by(1), "who shortens: nothing was"},
                    {by(most / length), "a gradient that is short enough: it stays as it is"},
                    {by(most), "the factor: what makes `length` become `most`"},
                    {by(length / most), "which of the two lengths is above the line"},
                    {stepped(job, i, local()), "which length it is: the whole gradient's, not this share's"}};
              });
        }
        const auto& updates = came.updates[static_cast<std::size_t>(rank)];
        expect(updates.size() == job.values.size(),
               {"one update for each bucket", fmt::format("{}", updates.size()),
                "sharded_step() where it shortens"});
      }
    }
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"padding", exercise::check_padding},
                                           {"share", exercise::check_share},
                                           {"owner", exercise::check_owner},
                                           {"parts", exercise::check_parts},
                                           {"mean", exercise::check_mean},
                                           {"length", exercise::check_length},
                                           {"step", exercise::check_step},
                                           {"clip", exercise::check_clip}});
}

}  // namespace isobar
