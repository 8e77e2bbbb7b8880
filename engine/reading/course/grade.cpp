#include "course/grade.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/units.h"

namespace isobar {
namespace {

constexpr double kUsualTolerance = 0.25;
constexpr double kRounding = 1e-9;  // rounding of what was computed and typed in decimals

struct RightInterval {
  double low = 0;
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// "12-14" or "12".
std::optional<RightInterval> interval_in(const std::string& text) {
  if (const std::optional<double> number = number_of<double>(text)) return RightInterval{*number, *number};
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const std::optional<double> low = number_of<double>(text.substr(0, dash));
  const std::optional<double> high = number_of<double>(text.substr(dash + 1));
  return low && high ? std::optional(RightInterval{*low, *high}) : std::nullopt;
}

/// What is right, without tolerance.
std::vector<RightInterval> right_intervals(const Truth& truth) {
  std::vector<RightInterval> out;
  for (const std::string& text : truth.accepted) {
    if (const std::optional<RightInterval> interval = interval_in(text)) out.push_back(*interval);
  }
  if (std::isfinite(truth.low) && std::isfinite(truth.high)) out.push_back({truth.low, truth.high});
  if (std::isfinite(truth.number)) out.push_back({truth.number, truth.number});
  return out;
}

RightInterval with_tolerance(const RightInterval& interval, const Question& question) {
  const double relative = question.tolerance.value_or(kUsualTolerance) + kRounding;
  const auto room = [&](double bound) {
    return std::max(relative * std::abs(bound), question.tolerance_abs);
  };
  return {interval.low - room(interval.low), interval.high + room(interval.high)};
}

bool is_right(const Question& question, const Answer& answer, const Truth& truth) {
  if (question.kind == AnswerKind::make) return !truth.accepted.empty();
  if (question.kind == AnswerKind::number || question.kind == AnswerKind::find) {
    const bool is_line = question.kind == AnswerKind::find;
    const double value = is_line ? static_cast<double>(answer.line) : answer.number;
    for (const RightInterval& interval : right_intervals(truth)) {
      if ((is_line ? interval : with_tolerance(interval, question)).holds(value)) return true;
    }
    return false;
  }
  return holds(truth.accepted, answer.text);
}

/// Numbers that are right each by itself.
std::vector<double> accepted_numbers(const Question& question, const Truth& truth) {
  std::vector<double> out;
  if (question.kind != AnswerKind::number) return out;
  for (const std::string& text : truth.accepted) {
    if (const std::optional<double> number = number_of<double>(text)) out.push_back(*number);
  }
  return out;
}

std::string truth_words(const Question& question, const Truth& truth) {
  if (const std::vector<double> numbers = accepted_numbers(question, truth); !numbers.empty()) {
    std::string before;
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i)
      before += short_number(numbers[i]) + (i + 2 < numbers.size() ? ", " : " or ");
    return before + with_unit(numbers.back(), question.unit);
  }
  std::vector<std::string> words;
  for (const std::string& text : truth.accepted) {
    if (question.kind == AnswerKind::choice) {
      words.push_back(choice_words(question, text));
    } else if (question.kind == AnswerKind::find) {
      words.push_back((text.find('-') == std::string::npos ? "line " : "lines ") + text);
    } else if (question.kind == AnswerKind::direction) {
      words.push_back(text);
    }
  }
  if (!words.empty()) return joined(words, " or ");
  if (question.kind != AnswerKind::number) return truth.text;
  const bool is_interval = std::isfinite(truth.low) && std::isfinite(truth.high) && truth.low < truth.high;
  const std::string number = with_unit(std::isfinite(truth.number) ? truth.number : truth.low, question.unit);
  if (!is_interval) return number;
  return fmt::format("{} ({} to {})", number, short_number(truth.low), short_number(truth.high));
}

/// A choice whose answer the question does not offer cannot be graded; "" = it does.
std::string why_not_offered(const Question& question, const Truth& truth) {
  const bool is_offered =
      truth.accepted.empty() || std::ranges::any_of(truth.accepted, [&](const std::string& key) {
        return question.choice(key) != nullptr;
      });
  if (question.kind != AnswerKind::choice || is_offered) return "";
  return "what was measured (`" + joined(truth.accepted, "`, `") + "`) is not among the choices";
}

/// The right number that lies nearest.
double nearest_number(const Answer& answer, const Truth& truth) {
  double best = truth.number;
  for (const RightInterval& interval : right_intervals(truth)) {
    const double near = std::clamp(answer.number, interval.low, interval.high);
    if (!std::isfinite(best) || std::abs(near - answer.number) < std::abs(best - answer.number)) best = near;
  }
  return best;
}

/// "2.4", "23".
std::string times_text(double factor) {
  return short_number(factor < 10 ? std::round(factor * 10) / 10 : std::round(factor));
}

std::string off_by_words(const Question& question, const Answer& answer, const Truth& truth) {
  if (question.kind != AnswerKind::number) return "";
  const char* const what = truth.source.starts_with("measured")   ? "what was measured"
                           : truth.source.starts_with("recorded") ? "what was recorded"
                                                                  : "the right value";
  const double right = std::isfinite(truth.number) ? truth.number : nearest_number(answer, truth);
  const double tolerance = question.tolerance.value_or(kUsualTolerance);
  const std::string within = tolerance > 0 ? fmt::format(" (right within {:.2g} %)", 100 * tolerance) : "";
  if (answer.number > 0 && right > 0) {
    const double factor = answer.number / right;
    if (std::abs(factor - 1) < 0.005) return std::string("the same as ") + what;
    if (factor > 0.5 && factor < 2) {
      const double percent = std::abs(factor - 1) * 100;
      return fmt::format("{:.2g} % {} {}{}", percent, factor > 1 ? "above" : "below", what, within);
    }
    return fmt::format("a factor of {} {} {}{}", times_text(std::max(factor, 1 / factor)),
                       factor > 1 ? "above" : "below", what, within);
  }
  const double difference = answer.number - right;
  if (difference == 0) return std::string("the same as ") + what;
  return fmt::format("{} {} than {}", with_unit(std::abs(difference), question.unit),
                     difference > 0 ? "more" : "less", what);
}

/// The misconception of this very answer, else that of what lies below or above.
const Misconception* misconception(const Question& question, const Answer& answer, const Truth& truth) {
  const bool is_number = question.kind == AnswerKind::number;
  const double value = is_number ? answer.number : static_cast<double>(answer.line);
  const auto is_side = [](const Misconception& one) {
    return one.answer == "below" || one.answer == "above";
  };
  for (const Misconception& one : question.wrong) {
    if (is_side(one)) continue;
    const std::optional<double> number = number_of<double>(one.answer);
    const bool is_same = is_number && number ? std::abs(*number - value) <= kRounding * std::abs(value)
                                             : one.answer == answer.text;
    if (is_same) return &one;
  }
  const std::vector<RightInterval> right = right_intervals(truth);
  if ((!is_number && question.kind != AnswerKind::find) || right.empty()) return nullptr;
  const bool is_below = std::ranges::all_of(right, [&](const RightInterval& one) { return value < one.low; });
  const bool is_above =
      std::ranges::all_of(right, [&](const RightInterval& one) { return value > one.high; });
  for (const Misconception& one : question.wrong) {
    if ((is_below && one.answer == "below") || (is_above && one.answer == "above")) return &one;
  }
  return nullptr;
}

}  // namespace

const char* outcome_name(Outcome outcome) {
  static constexpr const char* kNames[] = {"right", "not right", "cannot answer", "provisional"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string filled(const std::string& text, const std::map<std::string, std::string>& figures,
                   const std::string& origin) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    out += text.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) {
      throw Error("a placeholder is not closed: " + printable(text.substr(open), 40), origin,
                  "placeholders look like {step_ms}");
    }
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto figure = figures.find(name);
    if (figure == figures.end()) {
      std::vector<std::string> known;
      for (const auto& [key, value] : figures) known.push_back(key);
      throw Error("there is no figure for {" + printable(name, 60) + "}", origin,
                  did_you_mean(name, known, "figures: " + joined(known)));
    }
    out += figure->second;
    at = close + 1;
  }
  return out;
}

void take_nearest(const Question& question, const Answer& answer, Truth& truth) {
  const std::vector<double> numbers = accepted_numbers(question, truth);
  if (numbers.size() < 2) return;
  truth.number = *std::ranges::min_element(
      numbers, [&](double a, double b) { return std::abs(a - answer.number) < std::abs(b - answer.number); });
}

Graded grade(const Question& question, const Answer& answer, const Truth& truth) {
  Graded out;
  out.said = answer_words(question, answer);
  out.source = truth.source;
  out.cannot = truth.cannot.empty() ? why_not_offered(question, truth) : truth.cannot;
  if (!out.cannot.empty()) return out;
  const bool is_number = question.kind == AnswerKind::number || question.kind == AnswerKind::find;
  if (question.kind != AnswerKind::make &&
      (is_number ? right_intervals(truth).empty() : truth.accepted.empty())) {
    throw Error("the rule " + question.rule + " gives no truth for " + question.id, question.origin,
                "this is a mistake in Isobar", Exit::failed);
  }
  out.outcome = is_right(question, answer, truth) ? Outcome::right : Outcome::not_right;
  out.truth = truth_words(question, truth);
  out.off_by = off_by_words(question, answer, truth);
  std::map<std::string, std::string> figures = truth.figures;
  figures["you"] = out.said;
  figures["truth"] = out.truth;
  out.reveal = filled(question.reveal, figures, question.origin);
  const Misconception* const wrong = misconception(question, answer, truth);
  if (out.outcome == Outcome::not_right && wrong != nullptr) {
    out.says = filled(wrong->says, figures, question.origin);
    out.about = wrong->about;
  }
  return out;
}

}  // namespace isobar
