#include "support/catch.h"

#include <ostream>

namespace isobar {
namespace {

Catch::StringRef name_of(Macro macro) {
  switch (macro) {
    case Macro::check:
      return "CHECK";
    case Macro::check_false:
      return "CHECK_FALSE";
    case Macro::check_that:
      return "CHECK_THAT";
    case Macro::require:
      return "REQUIRE";
    case Macro::require_false:
      return "REQUIRE_FALSE";
    case Macro::require_that:
      return "REQUIRE_THAT";
  }
  return "";
}

Catch::ResultDisposition::Flags disposition_of(Macro macro) {
  const bool goes_on = macro == Macro::check || macro == Macro::check_false || macro == Macro::check_that;
  const auto flags = goes_on ? Catch::ResultDisposition::ContinueOnFailure : Catch::ResultDisposition::Normal;
  const bool is_false = macro == Macro::check_false || macro == Macro::require_false;
  return is_false ? flags | Catch::ResultDisposition::FalseTest : flags;
}

/// A text that is to match.
class Matched final : public Catch::ITransientExpression {
 public:
  Matched(const std::string& text, const TextMatcher& matcher)
      : Catch::ITransientExpression(true, matcher.match(text)), text_(text), matcher_(matcher) {}

 private:
  void streamReconstructedExpression(std::ostream& out) const override {
    out << Catch::Detail::stringify(text_) << ' ' << matcher_.toString();
  }

  const std::string& text_;
  const TextMatcher& matcher_;
};

}  // namespace

ClaimPart claim_part(const char* text) {
  return {text, [](const void* value) { return Catch::Detail::stringify(static_cast<const char*>(value)); }};
}

Claimed::Claimed(bool holds, ClaimPart value) : Catch::ITransientExpression(false, holds), left_(value) {}

Claimed::Claimed(bool holds, ClaimPart left, const char* sign, ClaimPart right)
    : Catch::ITransientExpression(true, holds), left_(left), right_(right), sign_(sign) {}

Claimed::~Claimed() = default;

void Claimed::streamReconstructedExpression(std::ostream& out) const {
  if (right_.text == nullptr) {
    out << left_.text(left_.value);
  } else {
    Catch::formatReconstructedExpression(out, left_.text(left_.value), sign_, right_.text(right_.value));
  }
}

Assertion::Assertion(Macro macro, const char* file, int line, const char* text)
    : handler_(name_of(macro), Catch::SourceLineInfo(file, static_cast<std::size_t>(line)), text,
               disposition_of(macro)) {}

Assertion::~Assertion() = default;

void Assertion::take(const Claimed& claimed) { handler_.handleExpr(claimed); }

void Assertion::take(Claim<bool> claim) { take(Claimed(claim.left, claim_part(claim.left))); }

void Assertion::match(const std::string& text, const TextMatcher& matcher) {
  handler_.handleExpr(Matched(text, matcher));
}

void Assertion::threw() { handler_.handleUnexpectedInflightException(); }

void Assertion::end() { handler_.complete(); }

}  // namespace isobar
