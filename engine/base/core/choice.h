#pragma once
// Enums whose values have names in configurations and messages. Such an enum has unsigned char below it,
// begins at 0, and stands beside one list, `choices_of`, of its values' names in their order.
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace isobar {

using Choices = std::span<const char* const>;

template <class Enum>
concept Choice = requires(Enum value) {
  { choices_of(value) } -> std::same_as<Choices>;
};

template <Choice Enum>
constexpr const char* name_of(Enum value) {
  return choices_of(value)[static_cast<std::size_t>(value)];
}

/// Where `name` stands in the list; none if it does not.
inline std::optional<unsigned char> index_of(Choices choices, std::string_view name) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == name) return static_cast<unsigned char>(i);
  }
  return std::nullopt;
}

template <Choice Enum>
std::optional<Enum> choice_named(std::string_view name) {
  const std::optional<unsigned char> index = index_of(choices_of(Enum{}), name);
  return index ? std::optional(static_cast<Enum>(*index)) : std::nullopt;
}

}  // namespace isobar
