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

using Choices = std::vector<std::string>;

/// "4 2" as {"4", "2"}: choices that belong together.
inline Choices words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// The product of `lists`, the last one running fastest.
inline std::vector<Choices> products(const std::vector<Choices>& lists) {
  std::vector<Choices> out = {{}};
  for (const Choices& list : lists) {
    std::vector<Choices> longer;
    for (const Choices& begun : out) {
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
inline std::vector<Choices> pairs(const std::vector<Choices>& lists) {
  std::vector<Choices> all = products(lists);
  if (std::getenv("ISOBAR_PRODUCTS") != nullptr) return all;
  using Pair = std::tuple<std::size_t, std::string, std::size_t, std::string>;
  const auto pairs_of = [](const Choices& choices) {
    std::set<Pair> out;
    for (std::size_t i = 0; i < choices.size(); ++i)
      for (std::size_t j = i + 1; j < choices.size(); ++j) out.insert({i, choices[i], j, choices[j]});
    return out;
  };
  std::set<Pair> left;
  for (const Choices& choices : all) left.merge(pairs_of(choices));
  std::vector<Choices> out;
  while (!left.empty()) {
    const Choices* best = nullptr;
    std::size_t most = 0;
    for (const Choices& choices : all) {
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
inline std::vector<Choices> cases_of(const Choices& some, const std::vector<Choices>& every) {
  if (std::getenv("ISOBAR_PRODUCTS") != nullptr) return every;
  std::vector<Choices> out;
  for (const std::string& text : some) out.push_back(words_of(text));
  return out;
}

/// Of a second list: all of it in the nightly tier, else one that changes with `turn`.
inline Choices all_or_one(const Choices& list, std::size_t turn) {
  return std::getenv("ISOBAR_PRODUCTS") != nullptr ? list : Choices{list[turn % list.size()]};
}

}  // namespace isobar
