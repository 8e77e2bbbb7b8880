#pragma once
// What a text says, for tests that read it as its reader would.
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace isobar {

/// A text that holds a part; or all, one or none of several.
class Says final : public TextMatcher {
 public:
  explicit Says(std::string_view part);
  Says(const Says& other);
  ~Says() override;

  bool match(const std::string& text) const override;
  std::string describe() const override;

  friend Says operator&&(const Says& left, const Says& right);
  friend Says operator||(const Says& left, const Says& right);
  friend Says operator!(const Says& other);

 private:
  enum class Kind { part, all, any, none };
  Says(Kind kind, std::vector<Says> parts);

  Kind kind_ = Kind::part;
  std::string part_;
  std::vector<Says> parts_;
};

Says says(std::string_view part);

}  // namespace isobar
