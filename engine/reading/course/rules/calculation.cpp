// A number worked out from what the question gives: no run is needed.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

/// Sums, products and functions: "2 * (8 - 1) * 100 / 8", "max(60 / 4, 25)".
class Calculation {
 public:
  Calculation(const Question& question, const std::string& text) : question_(question), text_(text) {}

  double value() {
    const double out = sum();
    if (at_ != text_.size()) refuse("something follows at \"" + printable(text_.substr(at_), 20) + "\"");
    if (!std::isfinite(out)) refuse("it has no value");
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    wrong_question(question_, fmt::format("\"{}\" cannot be worked out: {}", printable(text_, 80), what),
                   "numbers, + - * / ( ), and sqrt, log2, ceil, floor, min, max");
  }

  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    next();
    return true;
  }

  double sum() {
    double out = product();
    for (;;) {
      if (take('+')) {
        out += product();
      } else if (take('-')) {
        out -= product();
      } else {
        return out;
      }
    }
  }
  double product() {
    double out = factor();
    for (;;) {
      if (take('*')) {
        out *= factor();
      } else if (take('/')) {
        out /= factor();
      } else {
        return out;
      }
    }
  }
  double factor() {
    if (take('-')) return -factor();
    if (take('(')) return in_brackets().front();
    const std::size_t begin = at_;
    const bool is_name = std::isalpha(static_cast<unsigned char>(next())) != 0;
    const auto goes_on = [&](std::size_t at) {  // "4.1e+11" is one number
      const bool is_sign = text_[at] == '+' || text_[at] == '-';
      const bool is_exponent = is_sign && !is_name && at > begin && text_[at - 1] == 'e';
      return is_exponent || std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '.';
    };
    while (at_ < text_.size() && goes_on(at_)) ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (is_name && take('(')) return function(word, in_brackets());
    const std::optional<double> number = number_of<double>(word);
    if (!number) refuse(word.empty() ? "it ends too early" : "\"" + printable(word, 20) + "\" is no number");
    next();
    return *number;
  }
  std::vector<double> in_brackets() {
    if (++deep_ > kDeepest) refuse("it has too many brackets");
    std::vector<double> out = {sum()};
    while (take(',')) out.push_back(sum());
    if (!take(')')) refuse("a bracket is not closed");
    --deep_;
    return out;
  }
  double function(const std::string& name, const std::vector<double>& values) const {
    if (name == "min") return *std::ranges::min_element(values);
    if (name == "max") return *std::ranges::max_element(values);
    if (name == "sqrt") return std::sqrt(values.front());
    if (name == "log2") return std::log2(values.front());
    if (name == "ceil") return std::ceil(values.front());
    if (name == "floor") return std::floor(values.front());
    refuse("there is no function " + printable(name, 20));
  }

  static constexpr int kDeepest = 20;
  const Question& question_;
  const std::string& text_;
  std::size_t at_ = 0;
  int deep_ = 0;
};

}  // namespace

double calculated(const Question& question, const std::string& text) {
  return Calculation(question, text).value();
}

std::vector<KeyedValue> keyed_values(const Question& question, std::string_view argument) {
  std::vector<KeyedValue> out;
  for (const std::string& one : question.arguments(argument)) {
    const std::size_t end = std::min(one.find(' '), one.size());
    out.push_back({one.substr(0, end), calculated(question, one.substr(std::min(end + 1, one.size())))});
  }
  return out;
}

void check_calculation(const Question& question) {
  const std::string formula = question.argument("is");
  Calculation(question, formula).value();
  keyed_values(question, "beside");
}

Truth calculation_truth(const RuleInput& input) {
  const std::string formula = input.argument("is");
  Truth out;
  out.number = out.low = out.high = Calculation(input.question, formula).value();
  out.figures["value"] = figure_text(out.number);
  for (const KeyedValue& one : keyed_values(input.question, "beside"))
    out.figures[one.key] = figure_text(one.value);
  out.text = fmt::format("{} {}", out.figures["value"], input.question.unit);
  out.source = "by formula";
  return out;
}

}  // namespace isobar
