// What is asked of my/15_one_f_one_b.cpp, easy things first. Orders are judged by what a clock of events
// makes of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "15_pipeline/exercise/part.h"
#include "15_pipeline/exercise/pipe_clock.h"
#include "check/check.h"

namespace isobar {
namespace exercise {
namespace {

/// Pipelines of 1 to 5 ranks, with more micro-batches than ranks, as many, fewer, and one.
std::vector<std::pair<int, int>> pipelines() {
  return {{4, 8}, {4, 4}, {2, 5}, {3, 1}, {5, 3}, {1, 4}, {1, 1}, {3, 16}};
}

std::vector<PipeRank> ranks_of_all() {
  std::vector<PipeRank> out;
  for (const auto& [ranks, parts] : pipelines())
    for (int rank = 0; rank < ranks; ++rank) out.push_back({ranks, rank, parts});
  return out;
}

/// What a function gives for each rank, or what a mistake would.
using OfRank = std::function<int(const PipeRank& at)>;

void expect_of_ranks(const OfRank& came, const OfRank& wanted, const char* what, const char* look,
                     const std::vector<std::pair<OfRank, const char*>>& others) {
  for (const auto& [ranks, parts] : pipelines()) {
    const auto listed = [ranks = ranks, parts = parts](const OfRank& of) {
      std::vector<std::string> out;
      for (int rank = 0; rank < ranks; ++rank) out.push_back(fmt::format("{}", of({ranks, rank, parts})));
      return joined(out);
    };
    const std::string values = listed(came);
    if (values == listed(wanted)) continue;
    for (const auto& [other, of_it] : others)
      if (values == listed(other)) {
        look = of_it;
        break;
      }
    not_yet({fmt::format("{} of rank 0 ... {} with {} micro-batches to be {}", what, ranks - 1, parts,
                         listed(wanted)),
             values, look});
  }
}

// ---- Arithmetic ----

void check_warm_up(const Part& part) {
  const auto behind = [](const PipeRank& at) { return at.ranks - at.rank - 1; };
  expect_of_ranks(part.warm_up, [&](const PipeRank& at) { return std::min(at.parts, behind(at)); },
                  "the warm-up", "warm_up(): one for each rank behind, of the micro-batches that there are",
                  {{behind, "a step with fewer micro-batches than ranks behind"},
                   {[&](const PipeRank& at) { return std::min(at.parts, behind(at) + 1); },
                    "the last rank: it begins with one F and one B in turn"},
                   {[](const PipeRank& at) { return std::min(at.parts, at.rank); },
                    "which end waits longest for its first gradient"},
                   {[](const PipeRank& at) { return std::min(at.parts, at.ranks - 1); },
                    "which rank it is: later ones need less of a warm-up"},
                   {[](const PipeRank& at) { return at.parts; },
                    "what the warm-up is for: only until the first gradient can be there"}});
}

void check_idle(const Part& part) {
  for (const auto& [ranks, parts] : pipelines()) {
    const double came = part.idle_of_step(ranks, parts), waits = ranks - 1, all = parts + waits;
    const auto is = [&](double value) { return std::abs(came - value) < 1e-9; };
    if (is(waits / all)) continue;
    const char* look = "idle_of_step(): waiting over all of the step";
    if (is(parts / all)) look = "which share: that of idle time";
    if (is(ranks / (all + 1)))
      look = "a micro-batch too much: the first one reaches the last rank behind p - 1 others";
    if (is(waits / (all + 1))) look = "the length of the step: it has no slot for a micro-batch more";
    if (is(0)) look = "whether it is written yet, else the division of whole numbers";
    if (is(waits / parts)) look = "what it is a share of: the step, in which waiting is part";
    not_yet({fmt::format("the idle share of {} ranks with {} micro-batches to be {:.4g}", ranks, parts,
                         waits / all),
             fmt::format("{:.4g}", came), look});
  }
}

void check_most(const Part& part) {
  const auto behind = [](const PipeRank& at) { return at.ranks - at.rank; };
  expect_of_ranks(
      part.most_kept, [&](const PipeRank& at) { return std::min(at.parts, behind(at)); },
      "the most that is kept", "most_kept(): what had its F and not yet its B",
      {{behind, "how many micro-batches there are to keep"},
       {[&](const PipeRank& at) { return std::min(at.parts, behind(at) - 1); },
        "the F of the steady state's first pair: it comes before B"},
       {[](const PipeRank& at) { return at.parts; }, "which order this is: GPipe keeps all of them"},
       {[](const PipeRank& at) { return std::min(at.parts, at.ranks); },
        "which rank it is: the last one keeps a single micro-batch"}});
}

// ---- The order of one rank ----

void expect_once(const PipeRow& row, const PipeRank& at, PipeWork work, const char* name) {
  for (int number = 0; number < at.parts; ++number) {
    const PipeAction one{work, number};
    const auto times = std::ranges::count(row, one);
    if (times == 1) continue;
    not_yet(
        {fmt::format("{} once in {}() of {}", words(one), name, words(at)),
         times == 0 ? "it is missing" : fmt::format("it is there {} times", times),
         fmt::format("{}, which is {}",
                     times == 0 ? "where the loops begin and end" : "which loop takes a micro-batch again",
                     words(row))});
  }
}

void expect_length(const PipeRow& row, const PipeRank& at, int works, const char* name) {
  const auto wanted = static_cast<std::size_t>(works * at.parts);
  expect(row.size() == wanted,
         {fmt::format("{} actions in {}() of {}", wanted, name, words(at)), fmt::format("{}", row.size()),
          fmt::format("what is no action of the step, in {}", words(row))});
}

std::ptrdiff_t place_of(const PipeRow& row, const PipeAction& action) {
  return std::ranges::find(row, action) - row.begin();
}

void expect_before(const PipeRow& row, const PipeRank& at, const PipeAction& first, const PipeAction& then,
                   const char* look) {
  expect(place_of(row, first) < place_of(row, then),
         {fmt::format("{} in front of {} on {}", words(first), words(then), words(at)), words(row), look});
}

void check_once(const Part& part) {
  for (const PipeRank& at : ranks_of_all()) {
    const PipeRow row = part.one_f_one_b(at);
    for (const PipeWork work : {PipeWork::forward, PipeWork::backward})
      expect_once(row, at, work, "one_f_one_b");
    expect_length(row, at, 2, "one_f_one_b");
  }
}

void check_order(const Part& part) {
  for (const PipeRank& at : ranks_of_all()) {
    const PipeRow row = part.one_f_one_b(at);
    for (int number = 0; number < at.parts; ++number) {
      expect_before(row, at, {PipeWork::forward, number}, {PipeWork::backward, number},
                    "what B goes back through: its own F");
      if (number == 0) continue;
      for (const PipeWork work : {PipeWork::forward, PipeWork::backward})
        expect_before(row, at, {work, number - 1}, {work, number},
                      "in which order micro-batches come back: as they went");
    }
  }
}

// ---- Messages ----

std::string words(const PipePartners& partners) {
  const auto rank = [](const std::optional<int>& one) {
    return one ? fmt::format("rank {}", *one) : std::string("nobody");
  };
  return fmt::format("a message from {} and one to {}", rank(partners.from), rank(partners.to));
}

void check_partners(const Part& part) {
  using enum PipeWork;
  for (const PipeRank& at : ranks_of_all()) {
    std::optional<int> before, behind;
    if (at.rank > 0) before = at.rank - 1;
    if (at.rank + 1 < at.ranks) behind = at.rank + 1;
    const int around_before = (at.rank + at.ranks - 1) % at.ranks, around = (at.rank + 1) % at.ranks;
    for (const PipeWork work : {forward, backward, input, weights}) {
      const bool goes_on = work == forward, travels = work != weights;
      const PipePartners there{before, behind}, back{behind, before}, none;
      const PipePartners wanted = !travels ? none : goes_on ? there : back;
      const PipePartners came = part.partners_of(at, work);
      if (came == wanted) continue;
      const char* look = "partners_of(): the neighbours, by the way that the work travels";
      if (came == PipePartners{at.rank - 1, at.rank + 1} || came == PipePartners{at.rank + 1, at.rank - 1})
        look = "the ends of the pipeline: no rank is there";
      if (came == PipePartners{around_before, around} || came == PipePartners{around, around_before})
        look = "a ring: the last stage has the loss, and the first one the images";
      if (travels && came == none)
        look = "what travels of this work: its result is what a neighbour waits for";
      if (!travels) look = "W: its gradients stay with the weights, on this rank";
      if (goes_on && came == back) look = "which way F travels: from the images to the loss";
      if (!goes_on && travels && came == there)
        look = "which way gradients travel: from the loss to the images";
      if (came.from == wanted.from && came.to && !wanted.to && came.to == at.rank)
        look = "a message to itself: what stays on the rank needs none";
      not_yet(
          {fmt::format("{} for {} on {}", words(wanted), "FBIW"[static_cast<std::size_t>(work)], words(at)),
           words(came), look});
    }
  }
}

// ---- All ranks ----

using RowMaker = std::vector<PipeAction> (*)(const PipeRank& at);

PipeClock clock_of(const Part& part, RowMaker row, int ranks, int parts) {
  std::vector<PipeRow> rows;
  for (int rank = 0; rank < ranks; ++rank) rows.push_back(row({ranks, rank, parts}));
  return PipeClock(part, parts, std::move(rows));
}

void check_clock(const Part& part) {
  for (const auto& [ranks, parts] : pipelines()) clock_of(part, part.one_f_one_b, ranks, parts);
}

void check_memory(const Part& part) {
  for (const PipeRank& at : ranks_of_all()) {
    const int wanted = part.most_kept(at), came = kept_by(part.one_f_one_b(at));
    const char* look = "how far ahead of its B an F is";
    if (came == wanted + 1) look = "an F that comes before its turn: B goes first";
    if (came == at.parts) look = "when the first B comes: as soon as its gradient can be there";
    expect(came <= wanted,
           {fmt::format("at most {} micro-batch{} kept by {}", wanted, wanted == 1 ? "" : "es", words(at)),
            fmt::format("{}, by {}", came, words(part.one_f_one_b(at))), look});
  }
}

void check_time(const Part& part) {
  for (const auto& [ranks, parts] : pipelines()) {
    const int busy = 3 * parts, wanted = busy + 3 * (ranks - 1);  // F takes 1, B takes 2
    const PipeClock clock = clock_of(part, part.one_f_one_b, ranks, parts);
    const char* look = "where ranks wait: a rank in its warm-up feeds those behind it";
    if (clock.units == busy * ranks)
      look = "ranks that wait for one another's whole micro-batch: nothing overlaps";
    expect(clock.units <= wanted,
           {fmt::format("a step of {} units with {} ranks and {} micro-batches", wanted, ranks, parts),
            fmt::format("{}", clock.units), look});
  }
  show(clock_of(part, part.one_f_one_b, 4, 4).picture());
}

// ---- The split backward pass ----

void check_split(const Part& part) {
  using enum PipeWork;
  for (const PipeRank& at : ranks_of_all()) {
    const PipeRow row = part.split_backward(at);
    expect(std::ranges::count(row, backward, &PipeAction::work) == 0,
           {fmt::format("no B in split_backward() of {}", words(at)), words(row),
            "what stands in place of B: I, and some time behind it W"});
    for (const PipeWork work : {forward, input, weights}) expect_once(row, at, work, "split_backward");
    expect_length(row, at, 3, "split_backward");
    for (int number = 0; number < at.parts; ++number) {
      expect_before(row, at, {forward, number}, {input, number}, "what I goes back through: its own F");
      if (number > 0)
        expect_before(row, at, {input, number - 1}, {input, number},
                      "in which order gradients come back: as micro-batches went");
      expect_before(row, at, {input, number}, {weights, number},
                    "what W takes: the gradients that I left inside of the stage");
    }
  }
}

/// Within the same memory on each rank, as long as W is put off and no longer.
void check_filled(const Part& part) {
  for (const auto& [ranks, parts] : pipelines()) {
    for (int rank = 0; rank < ranks; ++rank) {
      const PipeRank at{ranks, rank, parts};
      const PipeRow row = part.split_backward(at);
      const int wanted = std::min(parts, ranks), came = kept_by(row);
      const char* look = "how far W may be put off here: a rank that keeps less has room";
      if (came == parts) look = "how long W is put off: what it takes is kept until then";
      expect(came <= wanted, {fmt::format("at most {} kept until W by {}", wanted, words(at)),
                              fmt::format("{}, by {}", came, words(row)), look});
    }
    const PipeClock clock = clock_of(part, part.split_backward, ranks, parts);
    if (parts < ranks) continue;  // with fewer micro-batches than ranks not all idle time can be filled
    const int wanted = 3 * parts + ranks - 1;
    expect(clock.units <= wanted,
           {fmt::format("a step of {} units with {} ranks and {} micro-batches, backward in two", wanted,
                        ranks, parts),
            fmt::format("{}", clock.units), "where W stands: the ranks before wait for I, nobody for W"});
  }
  show(clock_of(part, part.split_backward, 4, 4).picture());
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"warm_up", exercise::check_warm_up},
                                           {"idle", exercise::check_idle},
                                           {"most", exercise::check_most},
                                           {"once", exercise::check_once},
                                           {"order", exercise::check_order},
                                           {"partners", exercise::check_partners},
                                           {"clock", exercise::check_clock},
                                           {"memory", exercise::check_memory},
                                           {"time", exercise::check_time},
                                           {"split", exercise::check_split},
                                           {"filled", exercise::check_filled}});
}

}  // namespace isobar
