#pragma once
#pragma GCC system_header  // claims compare a size with an int, and macros write Claims() <= a == b
// Catch2, version 3 or 2: what a system has. What CHECK and its kin do is ours: theirs make some ten
// functions of each pair of types that a file compares, and of each length of a literal, which was a third of
// what a test cost to compile. Here each pair makes one, and what does not depend on types is compiled once.
// Reports are as ever.
#include <iosfwd>
#include <optional>
#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Generators::from_range;
using CatchListener = Catch::EventListenerBase;
namespace isobar {
using TextMatcher = Catch::Matchers::MatcherBase<std::string>;
}
#else
#include <catch2/catch.hpp>
using Catch::Generators::from_range;
#ifdef CATCH_CONFIG_RUNNER
using CatchListener = Catch::TestEventListenerBase;
#endif
namespace isobar {
using TextMatcher = Catch::Matchers::Impl::MatcherBase<std::string>;
}
#endif

namespace isobar {

/// A value in a claim, and how a report writes it.
struct ClaimPart {
  const void* value = nullptr;
  std::string (*text)(const void* value) = nullptr;
};

template <typename Value>
std::string claim_text(const void* value) {
  return Catch::Detail::stringify(*static_cast<const Value*>(value));
}

template <typename Value>
ClaimPart claim_part(const Value& value) {
  return {__builtin_addressof(value), &claim_text<Value>};
}

/// What it points to outlives the pointer.
ClaimPart claim_part(const char* text);

/// A comparison, or a value alone, that holds or does not.
class Claimed final : public Catch::ITransientExpression {
 public:
  Claimed(bool holds, ClaimPart value);
  Claimed(bool holds, ClaimPart left, const char* sign, ClaimPart right);
  ~Claimed();

 private:
  void streamReconstructedExpression(std::ostream& out) const override;

  ClaimPart left_, right_;
  const char* sign_ = "";
};

/// The left side of a claim. A literal on the right is a pointer, whatever its length.
template <typename Left>
struct Claim {
  const Left& left;

#define ISOBAR_SIGN(sign)                          \
  template <typename Right>                        \
  Claimed operator sign(const Right& right) const; \
  Claimed operator sign(const char* right) const;
  ISOBAR_SIGN(==) ISOBAR_SIGN(!=) ISOBAR_SIGN(<) ISOBAR_SIGN(>) ISOBAR_SIGN(<=) ISOBAR_SIGN(>=)
#undef ISOBAR_SIGN
};

#define ISOBAR_SIGN(sign)                                                                    \
  template <typename Left>                                                                   \
  template <typename Right>                                                                  \
  Claimed Claim<Left>::operator sign(const Right& right) const {                             \
    return {static_cast<bool>(left sign right), claim_part(left), #sign, claim_part(right)}; \
  }                                                                                          \
  template <typename Left>                                                                   \
  Claimed Claim<Left>::operator sign(const char* right) const {                              \
    return {static_cast<bool>(left sign right), claim_part(left), #sign, claim_part(right)}; \
  }
ISOBAR_SIGN(==)
ISOBAR_SIGN(!=)
ISOBAR_SIGN(<)
ISOBAR_SIGN(>)
ISOBAR_SIGN(<=)
ISOBAR_SIGN(>=)
#undef ISOBAR_SIGN

struct Claims {
  template <typename Left>
  Claim<Left> operator<=(const Left& left) const;
};
template <typename Left>
Claim<Left> Claims::operator<=(const Left& left) const {
  return {left};
}

enum class Macro { check, check_false, require, require_false, check_that, require_that };

/// One CHECK or REQUIRE, from its begin to its end. One that holds is counted, and no more: some test
/// programs make a million.
class Assertion {
 public:
  Assertion(Macro macro, const char* file, int line, const char* text);
  ~Assertion();
  Assertion(const Assertion&) = delete;
  Assertion& operator=(const Assertion&) = delete;

  void take(const Claimed& claimed) { take_claim(claimed); }
  void take(Claim<bool> claim);
  template <typename Value>
  void take(Claim<Value> claim) {
    take(Claimed(static_cast<bool>(claim.left), claim_part(claim.left)));
  }
  void match(const std::string& text, const TextMatcher& matcher);
  /// Within a catch (...): what was claimed threw.
  void threw();
  /// Throws where a REQUIRE failed.
  void end();

 private:
  void take_claim(const Catch::ITransientExpression& claim);
  Catch::AssertionHandler& handler();

  Macro macro_;
  const char* file_;
  int line_;
  const char* text_;
  std::optional<Catch::AssertionHandler> handler_;
};

}  // namespace isobar

#include "support/claim_macros.h"
#include "support/made_once.h"
