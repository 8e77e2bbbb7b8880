#pragma once
// What is asked of short lists again and again.
#include <algorithm>
#include <functional>
#include <iterator>

namespace isobar {

/// The first element for which `is` holds; null without one.
template <class List, class Is>
auto find_where(List& list, Is is) -> decltype(&*std::begin(list)) {
  const auto found = std::find_if(std::begin(list), std::end(list), is);
  return found == std::end(list) ? nullptr : &*found;
}

/// The first element whose member is `value`; null without one.
template <class List, class Member, class Value>
auto find_by(List& list, Member member, const Value& value) {
  return find_where(list, [&](const auto& one) { return std::invoke(member, one) == value; });
}

/// What a map has of this key; null where it has nothing.
template <class Map, class Key>
auto find_in(Map& map, const Key& key) -> decltype(&map.begin()->second) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

template <class List, class Value>
bool holds(const List& list, const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

}  // namespace isobar
