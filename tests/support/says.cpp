#include "support/says.h"

#include <algorithm>
#include <utility>

namespace isobar {

Says::Says(std::string_view part) : part_(part) {}
Says::Says(Kind kind, std::vector<Says> parts) : kind_(kind), parts_(std::move(parts)) {}
Says::Says(const Says& other) = default;
Says::~Says() = default;

bool Says::match(const std::string& text) const {
  const auto matches = [&](const Says& part) { return part.match(text); };
  switch (kind_) {
    case Kind::part:
      return text.find(part_) != std::string::npos;
    case Kind::all:
      return std::all_of(parts_.begin(), parts_.end(), matches);
    case Kind::any:
      return std::any_of(parts_.begin(), parts_.end(), matches);
    case Kind::none:
      return std::none_of(parts_.begin(), parts_.end(), matches);
  }
  return false;
}

std::string Says::describe() const {
  if (kind_ == Kind::part) return "contains: " + Catch::Detail::stringify(part_);
  if (kind_ == Kind::none) return "not " + parts_.front().toString();
  std::string out;
  for (const Says& part : parts_)
    out += (out.empty() ? "( " : kind_ == Kind::all ? " and " : " or ") + part.toString();
  return out + " )";
}

Says operator&&(const Says& left, const Says& right) { return {Says::Kind::all, {left, right}}; }
Says operator||(const Says& left, const Says& right) { return {Says::Kind::any, {left, right}}; }
Says operator!(const Says& other) { return {Says::Kind::none, {other}}; }

Says says(std::string_view part) { return Says(part); }

}  // namespace isobar
