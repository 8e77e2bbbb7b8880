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

bool wants_false(Macro macro) { return macro == Macro::check_false || macro == Macro::require_false; }

Catch::ResultDisposition::Flags disposition_of(Macro macro) {
  const bool goes_on = macro == Macro::check || macro == Macro::check_false || macro == Macro::check_that;
  const auto flags = goes_on ? Catch::ResultDisposition::ContinueOnFailure : Catch::ResultDisposition::Normal;
  return wants_false(macro) ? flags | Catch::ResultDisposition::FalseTest : flags;
}

/// Counts an assertion that holds, where this Catch2 can do that alone.
template <typename Capture>
bool counts_passed(Capture& capture) {
  if constexpr (requires { capture.assertionPassed(); }) {
    capture.assertionPassed();
    return true;
  }
  return false;
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
    : macro_(macro), file_(file), line_(line), text_(text) {}

Assertion::~Assertion() = default;

Catch::AssertionHandler& Assertion::handler() {
  if (!handler_)
    handler_.emplace(name_of(macro_), Catch::SourceLineInfo(file_, static_cast<std::size_t>(line_)), text_,
                     disposition_of(macro_));
  return *handler_;
}

void Assertion::take_claim(const Catch::ITransientExpression& claim) {
  static const bool reports_all = Catch::getCurrentContext().getConfig()->includeSuccessfulResults();
  if (claim.getResult() == wants_false(macro_) || reports_all || !counts_passed(Catch::getResultCapture()))
    handler().handleExpr(claim);
}

void Assertion::take(Claim<bool> claim) { take(Claimed(claim.left, claim_part(claim.left))); }

void Assertion::match(const std::string& text, const TextMatcher& matcher) {
  take_claim(Matched(text, matcher));
}

void Assertion::threw() { handler().handleUnexpectedInflightException(); }

void Assertion::end() {
  if (handler_) handler_->complete();
}

}  // namespace isobar
