#pragma once
// Cases out of several lists of choices: so many that any two choices of two lists meet in one of them, and
// in the nightly tier (ISOBAR_PRODUCTS is set) every combination.
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace isobar {

using Picks = std::vector<std::string>;

/// "4 2" as {"4", "2"}: choices that belong together.
inline Picks words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The product of `lists`, the last one running fastest.
inline std::vector<Picks> products(const std::vector<Picks>& lists) {
  std::vector<Picks> out = {{}};
  for (const Picks& list : lists) {
    std::vector<Picks> longer;
    for (const Picks& begun : out) {
      for (const std::string& choice : list) {
        longer.push_back(begun);
        longer.back().push_back(choice);
      }
    }
    out = std::move(longer);
  }
  return out;
}

/// Of that, greedily, what brings the most pairs that have not met.
inline std::vector<Picks> pairs(const std::vector<Picks>& lists) {
  std::vector<Picks> all = products(lists);
  if (std::getenv("ISOBAR_PRODUCTS") != nullptr) return all;
  using Pair = std::tuple<std::size_t, std::string, std::size_t, std::string>;
  const auto pairs_of = [](const Picks& choices) {
    std::set<Pair> out;
    for (std::size_t i = 0; i < choices.size(); ++i)
      for (std::size_t j = i + 1; j < choices.size(); ++j) out.insert({i, choices[i], j, choices[j]});
    return out;
  };
  std::set<Pair> left;
  for (const Picks& choices : all) left.merge(pairs_of(choices));
  std::vector<Picks> out;
  while (!left.empty()) {
    const Picks* best = nullptr;
    std::size_t most = 0;
    for (const Picks& choices : all) {
      std::size_t met = 0;
      for (const Pair& pair : pairs_of(choices)) met += left.count(pair);
      if (met > most) best = &choices, most = met;
    }
    for (const Pair& pair : pairs_of(*best)) left.erase(pair);
    out.push_back(*best);
  }
  return out;
}

/// These cases, or in the nightly tier all of `every`.
inline std::vector<Picks> cases_of(const Picks& some, const std::vector<Picks>& every) {
  if (std::getenv("ISOBAR_PRODUCTS") != nullptr) return every;
  std::vector<Picks> out;
  for (const std::string& text : some) out.push_back(words_of(text));
  return out;
}

/// Of a second list: all of it in the nightly tier, else one that changes with `turn`.
inline Picks all_or_one(const Picks& list, std::size_t turn) {
  return std::getenv("ISOBAR_PRODUCTS") != nullptr ? list : Picks{list[turn % list.size()]};
}

}  // namespace isobar
