#include "course/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_case.h"
#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/units.h"

namespace isobar {
namespace {

/// Words for each direction; its name begins the list.
struct DirectionWords {
  const char* name;
  const char* words;
};
constexpr DirectionWords kDirectionWords[] = {
    {"down", "down|-|less|lower|fewer|smaller|shorter|falls|decreases|decrease"},
    {"same", "same|the same|=|0|equal|equally|unchanged|no change|no difference"},
    {"up", "up|+|more|higher|larger|greater|longer|rises|increases|increase"},
};

/// "slower" and "faster" are a direction of speeds alone: a time that is longer is slower.
bool asks_speed(const Question& question) {
  return question.rule == "direction" && question.argument("of", "samples_per_s") == "samples_per_s";
}

constexpr std::size_t kMostTyped = 4096;

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// What is wanted, for the hint.
std::string wanted(const Question& question) {
  std::vector<std::string> keys;
  switch (question.kind) {
    case AnswerKind::choice:
      for (const QuestionChoice& choice : question.choices) keys.push_back(choice.key);
      return "one of: " + joined(keys) + ", or its letter";
    case AnswerKind::direction:
      return "up, same or down";
    case AnswerKind::number:
      return "a number in " + question.unit + ", such as 12 or 1.5e3";
    case AnswerKind::find:
      return "the number of a line of the page, such as 42 or main.cpp:42";
    case AnswerKind::make:
      return "the folders of runs, such as  last  or  runs/02_...";
  }
  return "";
}

Answer of_text(const Question& question, std::string text) {
  Answer out;
  out.kind = question.kind;
  out.text = std::move(text);
  return out;
}

/// The numbers that a text holds: "1" and "16" of "1 of 16".
std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> out;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !inside) out.emplace_back();
    if (digit) out.back() += c;
    inside = digit;
  }
  return out;
}

/// Where choices hold numbers, a typed one is meant as such a number and not as a place: "2" is "chunk 2".
std::optional<std::size_t> choice_of_number(const Question& question, std::size_t number) {
  std::vector<std::size_t> meant;
  bool any = false;
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    const std::vector<std::string> held = numbers_in(question.choices[i].key);
    any = any || !held.empty() || !numbers_in(question.choices[i].text).empty();
    if (held.size() == 1 && number_of<std::size_t>(held.front()) == number) meant.push_back(i);
  }
  if (!any && number > 0) return number - 1;
  return meant.size() == 1 ? std::optional(meant.front()) : std::nullopt;
}

Answer parse_choice(const Question& question, const std::string& typed) {
  if (question.choice(typed) != nullptr) return of_text(question, typed);
  const std::string small = lower_case(typed);
  std::vector<std::string> keys;
  for (const QuestionChoice& choice : question.choices) {
    if (lower_case(choice.key) == small || lower_case(choice.text) == small)
      return of_text(question, choice.key);
    keys.push_back(choice.key);
  }
  std::size_t place = question.choices.size();
  if (small.size() == 1 && small[0] >= 'a' && small[0] <= 'z')
    place = static_cast<std::size_t>(small[0] - 'a');
  if (const std::optional<std::size_t> number = number_of<std::size_t>(small))
    place = choice_of_number(question, *number).value_or(place);
  if (place < question.choices.size()) return of_text(question, question.choices[place].key);
  throw Error("\"" + printable(typed, 60) + "\" is none of the choices", question.id,
              did_you_mean(typed, keys, wanted(question)));
}

Answer parse_direction(const Question& question, const std::string& typed) {
  const std::string small = lower_case(typed);
  if (asks_speed(question) && small == "slower") return of_text(question, "down");
  if (asks_speed(question) && small == "faster") return of_text(question, "up");
  for (const DirectionWords& direction : kDirectionWords) {
    for (const std::string& word : split(direction.words, '|')) {
      if (small == word) return of_text(question, direction.name);
    }
  }
  throw Error("\"" + printable(typed, 60) + "\" is not a direction", question.id, wanted(question));
}

Answer parse_number(const Question& question, const std::string& typed) {
  const double number = parse_quantity(typed, question.unit, question.id);
  Answer out = of_text(question, fmt::format("{}", number));
  out.number = number;
  return out;
}

Answer parse_line(const Question& question, const std::string& typed, std::int64_t page_lines) {
  const std::string file = "main.cpp";
  std::string digits = typed;
  if (const std::size_t colon = typed.rfind(':'); colon != std::string::npos) {
    const std::string before = typed.substr(0, colon);
    if (!before.empty() && std::filesystem::path(before).filename() != file) {
      throw Error("\"" + printable(before, 80) + "\" is another file", question.id,
                  "a line of " + file + " is asked for");
    }
    digits = typed.substr(colon + 1);
  } else if (lower_case(typed).starts_with("line")) {
    digits = trimmed(std::string_view(typed).substr(4));
  }
  const std::optional<std::int64_t> line = number_of<std::int64_t>(digits);
  if (!line)
    throw Error("\"" + printable(typed, 60) + "\" is not a line number", question.id, wanted(question));
  if (*line < 1 || (page_lines > 0 && *line > page_lines)) {
    throw Error(fmt::format("there is no line {}", *line), question.id,
                page_lines > 0 ? fmt::format("{} has lines 1 to {}", file, page_lines) : "lines begin at 1");
  }
  Answer out = of_text(question, std::to_string(*line));
  out.line = *line;
  return out;
}

Answer of_runs(const Question& question, std::vector<std::string> runs) {
  if (runs.empty() || runs.size() > kMostRunRepeats) {
    throw Error(counted(static_cast<std::int64_t>(runs.size()), "run") + " were named", question.id,
                fmt::format("name one to {} runs", kMostRunRepeats));
  }
  Answer out = of_text(question, joined(runs, " "));
  out.runs = std::move(runs);
  return out;
}

Answer parse_made(const Question& question, const std::string& typed) {
  std::string blanks = typed;
  std::replace_if(
      blanks.begin(), blanks.end(), [](char c) { return c == ',' || c == '\t' || c == '\n' || c == '\r'; },
      ' ');
  std::vector<std::string> runs = split(blanks, ' ');
  std::erase(runs, "");
  return of_runs(question, std::move(runs));
}

}  // namespace

Answer parse_answer(const Question& question, const std::string& typed, std::int64_t page_lines) {
  const std::string text(trimmed(typed));
  if (text.empty()) throw Error("no answer was given", question.id, wanted(question));
  if (text.size() > kMostTyped)
    throw Error(fmt::format("the answer is {} bytes long", text.size()), question.id, wanted(question));
  switch (question.kind) {
    case AnswerKind::choice:
      return parse_choice(question, text);
    case AnswerKind::direction:
      return parse_direction(question, text);
    case AnswerKind::number:
      return parse_number(question, text);
    case AnswerKind::find:
      return parse_line(question, text, page_lines);
    case AnswerKind::make:
      return parse_made(question, text);
  }
  return {};
}

Answer answer_of_runs(const Question& question, const std::vector<std::filesystem::path>& runs) {
  std::vector<std::string> folders;
  for (const std::filesystem::path& run : runs)
    folders.push_back(std::filesystem::absolute(run).lexically_normal().string());
  return of_runs(question, std::move(folders));
}

std::string choice_words(const Question& question, const std::string& key) {
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    if (question.choices[i].key != key) continue;
    return std::string(1, static_cast<char>('a' + i % 26)) + ": " + question.choices[i].asked_as();
  }
  return key;
}

std::string answer_words(const Question& question, const Answer& answer) {
  if (question.kind == AnswerKind::number) return with_unit(answer.number, question.unit);
  if (question.kind == AnswerKind::find) return "line " + answer.text;
  if (question.kind == AnswerKind::choice) return choice_words(question, answer.text);
  return answer.text;
}

}  // namespace isobar
