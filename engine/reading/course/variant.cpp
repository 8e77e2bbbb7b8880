#include "course/variant.h"

#include <algorithm>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kLeastVariants = 3, kMostVariants = 60;

void fill_in(std::string& text, const DrawnValues& values) {
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) return;
    if (const std::string* const value = find_in(values, text.substr(at + 1, end - at - 1)))
      text.replace(at, end + 1 - at, *value);
  }
}

void fill_in(std::vector<std::string>& texts, const DrawnValues& values) {
  for (std::string& text : texts) fill_in(text, values);
}

/// Index of the last reveal of this variant; nullopt: there is none.
std::optional<std::size_t> last_reveal(const CourseProgress& progress, const std::string& id,
                                       const std::string& drawn) {
  for (std::size_t i = progress.reveals.size(); i-- > 0;) {
    if (progress.reveals[i].id == id && progress.answers[progress.reveals[i].of].drawn == drawn) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DrawnValues> drawn_values(const Question& question,
                                      const std::map<std::string, std::vector<std::string>>& draws) {
  std::map<std::size_t, std::vector<std::string>> by_length;
  for (const auto& [name, values] : draws) by_length[values.size()].push_back(name);
  std::vector<DrawnValues> out = {{}};
  for (const auto& [length, names] : by_length) {
    std::vector<DrawnValues> longer;
    for (std::size_t i = 0; i < length; ++i) {
      for (DrawnValues values : out) {
        for (const std::string& name : names) values[name] = draws.at(name)[i];
        longer.push_back(std::move(values));
      }
    }
    out = std::move(longer);
    if (out.size() > kMostVariants) break;
  }
  if (out.size() < kLeastVariants || out.size() > kMostVariants)
    throw Error(question.id + ": draw has " + counted(static_cast<std::int64_t>(out.size()), "variant"),
                question.origin, "3 to 60 are wanted; lists of one length go together");
  return out;
}

Question variant(const Question& question, std::size_t n) {
  if (!question.form) return question;
  Question out = *question.form;
  out.form = question.form;
  out.drawn = question.form->variants.at(n);
  for (std::string* const text : {&out.ask, &out.why, &out.reveal}) fill_in(*text, out.drawn);
  fill_in(out.hints, out.drawn);
  fill_in(out.giveaway, out.drawn);
  for (auto& [name, values] : out.with) fill_in(values, out.drawn);
  for (Misconception& one : out.wrong) {
    fill_in(one.answer, out.drawn);
    fill_in(one.says, out.drawn);
  }
  for (QuestionChoice& one : out.choices) fill_in(one.text, out.drawn);
  for (NeededRun& run : out.runs) fill_in(run.sets, out.drawn);
  std::vector<QuestionChoice> ordered;  // in the order of `question`
  for (const QuestionChoice& one : question.choices) ordered.push_back(*out.choice(one.key));
  out.choices = std::move(ordered);
  return out;
}

std::optional<Question> variant_of(const Question& question, const std::string& drawn) {
  if (!question.form) return drawn.empty() ? std::optional(question) : std::nullopt;
  if (drawn.empty()) return variant(question, 0);  // an answer of before anything was drawn
  for (std::size_t n = 0; n < question.variants.size(); ++n) {
    if (drawn_text(question.variants[n]) == drawn) return variant(question, n);
  }
  return std::nullopt;
}

Question as_asked(const Question& question, const CourseProgress& progress, bool again) {
  const StoredAnswer* const newest = progress.answer(question.id);
  if (newest != nullptr && !again) return variant_of(question, newest->drawn).value_or(question);
  if (!question.form || newest == nullptr) return variant(question, 0);
  std::size_t best = 0;
  std::optional<std::size_t> oldest = last_reveal(progress, question.id, drawn_text(question.variants[0]));
  for (std::size_t n = 1; n < question.variants.size() && oldest; ++n) {
    const auto last = last_reveal(progress, question.id, drawn_text(question.variants[n]));
    if (last && *last > *oldest) continue;
    best = n;
    oldest = last;
  }
  return variant(question, best);
}

bool has_new(const Question& question, const CourseProgress& progress) {
  if (question.kind == AnswerKind::make || progress.reveal(question.id) == nullptr) return true;
  return std::ranges::any_of(question.variants, [&](const DrawnValues& values) {
    return !last_reveal(progress, question.id, drawn_text(values));
  });
}

bool is_new_answer(const CourseProgress& progress, std::size_t index) {
  const StoredAnswer& answer = progress.answers[index];
  for (std::size_t i = 0; i < index; ++i) {
    const StoredAnswer& before = progress.answers[i];
    const bool is_same = before.id == answer.id && before.drawn == answer.drawn && before.runs == answer.runs;
    if (is_same && progress.reveal_of(i) != nullptr) return false;
  }
  return true;
}

}  // namespace isobar
