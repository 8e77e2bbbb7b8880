#include "cli/course_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "analyse/entity.h"
#include "core/find.h"
#include "core/text.h"
#include "course/curve_shape.h"
#include "draw/sketch.h"
#include "log/table.h"
#include "plot/lesson_view.h"

namespace isobar {

namespace {

constexpr const char* kFence = "```";

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Letters before the text of an item, "- " or "12. ", 0 = it is none.
std::size_t marker_length(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ")) return 2;
  std::size_t digits = 0;
  while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits])) != 0) ++digits;
  return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

/// "[words](target)" at `at`: the words, with the target where it is an address; `at` moves behind it.
bool take_link(std::string_view text, std::size_t& at, std::string& out) {
  const std::size_t middle = text.find("](", at);
  const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
  if (end == std::string_view::npos) return false;
  const bool picture = at > 0 && text[at - 1] == '!';
  const std::string target(text.substr(middle + 2, end - middle - 2));
  if (picture && !out.empty()) out.pop_back();
  const std::string words = without_marks(text.substr(at + 1, middle - at - 1));
  out += picture ? "[picture: " + words + "]" : words;
  if (!picture && target.starts_with("http")) out += " (" + target + ")";
  at = end + 1;
  return true;
}

std::vector<std::string> lines_of_table(const std::vector<std::string_view>& rows) {
  Table out;
  for (const std::string_view row : rows) {
    if (row.find_first_not_of("|-: ") == std::string_view::npos) continue;  // the rule below the head
    std::string_view inside = row.substr(1);
    if (inside.ends_with('|')) inside.remove_suffix(1);
    out.add({});
    for (const std::string& cell : split(inside, '|'))
      out.rows.back().push_back(without_marks(trimmed(cell)));
    out.left = std::max(out.left, out.rows.back().size());
  }
  return out.empty() ? std::vector<std::string>() : table_lines(out);
}

class PageLines {
 public:
  PageLines(std::string_view markdown, std::size_t columns)
      : text_(markdown), lines_(split(text_, '\n')), columns_(columns) {}

  std::vector<std::string> lines() {
    while (at_ < lines_.size()) take_block();
    while (!out_.empty() && out_.back().empty()) out_.pop_back();
    return std::move(out_);
  }

 private:
  std::string_view line() const { return lines_[at_]; }

  void take_block() {
    const std::string_view now = trimmed(line());
    if (now.empty()) {
      blank();
      ++at_;
    } else if (now.starts_with("<details")) {
      while (at_ < lines_.size() && line().find("</details>") == std::string_view::npos) ++at_;
      ++at_;
    } else if (now.starts_with(kFence)) {
      take_fenced();
    } else if (now.starts_with("#")) {
      out_.push_back(without_marks(trimmed(now.substr(std::min(now.find_first_not_of('#'), now.size())))));
      ++at_;
    } else if (now.starts_with("|")) {
      take_table();
    } else if (indent_of(line()) >= 4) {
      out_.push_back(std::string(line()));
      ++at_;
    } else {
      take_paragraph();
    }
  }

  void blank() {
    if (!out_.empty() && !out_.back().empty()) out_.emplace_back();
  }

  void take_fenced() {
    for (++at_; at_ < lines_.size() && !trimmed(line()).starts_with(kFence); ++at_)
      out_.push_back("    " + std::string(line()));
    ++at_;
  }

  void take_table() {
    std::vector<std::string_view> rows;
    for (; at_ < lines_.size() && trimmed(line()).starts_with("|"); ++at_) rows.push_back(trimmed(line()));
    for (std::string& row : lines_of_table(rows)) out_.push_back(std::move(row));
  }

  /// Takes the lines of a paragraph, or an item, up to where another block begins.
  void take_paragraph() {
    std::string_view first = trimmed(line());
    const std::size_t marker = marker_length(first);
    std::string all(first);
    for (++at_; at_ < lines_.size(); ++at_) {
      const std::string_view next = trimmed(line());
      if (next.empty() || next.starts_with("#") || next.starts_with("|") || next.starts_with(kFence) ||
          next.starts_with("<details") || marker_length(next) > 0)
        break;
      all += " " + std::string(next);
    }
    const std::string head = "  " + all.substr(0, marker);
    std::string before = head;
    for (const std::string& part : wrapped(without_marks(std::string_view(all).substr(marker)),
                                           columns_ - std::min(columns_, head.size()))) {
      out_.push_back(before + part);
      before.assign(head.size(), ' ');
    }
  }

  std::string text_;
  std::vector<std::string> lines_;
  std::size_t columns_;
  std::size_t at_ = 0;
  std::vector<std::string> out_;
};

}  // namespace

std::string without_marks(std::string_view markdown) {
  std::string out;
  bool code = false;
  for (std::size_t at = 0; at < markdown.size();) {
    const char c = markdown[at];
    const char next = at + 1 < markdown.size() ? markdown[at + 1] : ' ';
    if (c == '`') {
      code = !code;
      ++at;
    } else if (!code && c == '\\' && std::ispunct(static_cast<unsigned char>(next)) != 0) {
      out += next;
      at += 2;
    } else if (!code && c == '*' && (next == '*' || next != ' ' || (!out.empty() && out.back() != ' '))) {
      at += next == '*' ? 2 : 1;
    } else if (const std::string_view entity = entity_at(markdown.substr(at)); !code && !entity.empty()) {
      std::string decoded;
      append_entity(decoded, entity);
      out += printable(decoded);
      at += entity.size();
    } else if (code || c != '[' || !take_link(markdown, at, out)) {
      out += c;
      ++at;
    }
  }
  return out;
}

std::vector<std::string> plain_lines(std::string_view markdown, std::size_t columns) {
  return PageLines(markdown, columns).lines();
}

void add_page_part(Report& out, std::string_view markdown, const std::string& lesson) {
  std::string text;
  const auto add_text = [&] {
    out.lines(plain_lines(text, text_columns()));
    text.clear();
  };
  for (const std::string& line : split(std::string(markdown), '\n')) {
    const std::size_t begin = line.find("](pictures/"), end = line.find(".svg)");
    const bool is_picture = line.starts_with("![") && begin != std::string::npos && end != std::string::npos;
    const std::size_t name = begin + std::string_view("](pictures/").size();
    const LessonPicture* const picture =
        is_picture ? find_lesson_picture(lesson, line.substr(name, end - name)) : nullptr;
    if (picture == nullptr) {
      text += line + "\n";
      continue;
    }
    add_text();
    out.line("");
    out.drawn(drawing_lines(picture->drawing, terminal_style()));
    out.line("");
  }
  add_text();
}

void add_page(Report& out, const std::string& page, std::size_t columns) {
  const std::vector<std::string> lines = plain_lines(page, columns);
  if (lines.empty()) return;
  out.line("");
  out.line("The page, with figures of its author's machine:");
  out.lines(lines);
}

namespace {

constexpr const char* kCurveRule = "curve";

char letter_of(std::size_t index) { return static_cast<char>('a' + index); }

/// Shapes side by side, as many as fit, each above its letter.
void add_shapes(Report& out, const Question& question, std::size_t columns) {
  constexpr std::size_t kWide = 22, kHigh = 5, kApart = 4;
  const TextStyle style = terminal_style();
  if (style.glyphs == TextStyle::Glyphs::words) return;  // the choices have words
  const std::size_t across = std::max<std::size_t>(1, (columns + kApart) / (kWide + kApart));
  for (std::size_t first = 0; first < question.choices.size(); first += across) {
    const std::size_t end = std::min(first + across, question.choices.size());
    std::vector<std::string> rows(kHigh, "  ");
    std::string letters = "  ";
    for (std::size_t i = first; i < end; ++i) {
      const CurveShape* const shape = curve_shape(question.choices[i].key);
      const std::vector<std::string> drawn = shape == nullptr
                                                 ? std::vector<std::string>(kHigh, std::string(kWide, ' '))
                                                 : curve_lines(*shape, kWide, kHigh, style);
      for (std::size_t row = 0; row < kHigh; ++row) rows[row] += drawn[row] + std::string(kApart, ' ');
      letters += fmt::format("{:<{}}", letter_of(i), kWide + kApart);
    }
    out.line("");
    out.drawn(rows);
    out.line(letters);
  }
  out.line("  (dotted: the run without the mistake; a cross: the run stops)");
}

Json head_json(const Question& question) {
  const char* const kind = kind_name(question.kind);
  const Json choices = json_list(question.choices, [](const QuestionChoice& choice) {
    const std::string text = choice.asked_as();
    return ISOBAR_NAMED(choice.key, text);
  });
  return ISOBAR_NAMED(question.id, question.lesson, kind, question.beat, question.unit, question.from,
                      question.ask, choices);
}

/// Whether the reveal begins with what is true, so that it stands once.
bool begins_with_truth(const Question& question, const Graded& graded) {
  const QuestionChoice* const choice = find_where(
      question.choices, [&](const QuestionChoice& one) { return graded.truth.ends_with(one.text); });
  const std::string truth = choice == nullptr ? graded.truth : choice->text;
  const std::string number = truth.substr(0, truth.find(' ')) + ":";  // its unit may be left out
  const std::string reveal = lowered(graded.reveal);
  return !truth.empty() && (reveal.starts_with(lowered(truth)) || reveal.starts_with(number));
}

Report outcome_report(const Question& question, const StoredAnswer& answer, const std::string& outcome,
                      std::size_t columns) {
  const std::string said = printable(answer_words(question, answer), 400);
  Report out;
  out.json = head_json(question);
  out.json["answer"] = answer.text;
  add_members(out.json, ISOBAR_NAMED(said, outcome));
  out.line(question.id + ": " + printable(outcome, 40));
  out.headed("you said", said, columns);
  return out;
}

}  // namespace

const char* state_name(QuestionState state) {
  constexpr const char* kNames[] = {"open", "committed", "revealed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string answers_text(const Question& question) {
  switch (question.kind) {
    case AnswerKind::choice:
      return question.choices.empty()
                 ? "a choice"
                 : fmt::format("a letter, a to {}", letter_of(question.choices.size() - 1));
    case AnswerKind::direction:
      return "up, same or down";
    case AnswerKind::number:
      return question.unit == "x" ? "a number of times" : "a number, in " + question.unit;
    case AnswerKind::find:
      return "a line of lessons/" + question.lesson +
             "/main.cpp: its number, or text that only it has; l lists the code";
    case AnswerKind::make:
      return "names of your runs that show it, or last";
  }
  return "";
}

Report question_report(const Question& question, std::size_t columns) {
  Report out;
  out.json = head_json(question);
  out.line(question.id + (question.from.empty() ? "" : "  (" + question.from + ")"));
  out.wrapped("", question.ask, columns);
  if (question.rule == kCurveRule) add_shapes(out, question, columns);
  if (const std::optional<Drawing> pictures = lettered_panels(question.lesson, question.pictures())) {
    out.line("");
    out.drawn(drawing_lines(*pictures, terminal_style()));
    return out;
  }
  if (!question.choices.empty()) out.line("");
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    const QuestionChoice& choice = question.choices[i];
    out.wrapped(fmt::format("{}  ", letter_of(i)), choice.text.empty() ? choice.key : choice.text, columns);
  }
  return out;
}

Report reveal_report(const Question& question, const Revealed& revealed, const std::string& page,
                     std::size_t columns) {
  const Graded& graded = revealed.graded;
  Report out = outcome_report(question, revealed.answer, outcome_name(graded.outcome), columns);
  const std::string& measured = revealed.truth.text;
  add_members(out.json, ISOBAR_NAMED(graded.truth, graded.off_by, graded.says, graded.reveal, question.why,
                                     graded.source, measured, graded.cannot, revealed.truth.missing,
                                     revealed.command, revealed.instead, revealed.runs));

  if (graded.outcome == Outcome::cannot_answer) {
    out.headed("why not", graded.cannot, columns);
    if (!revealed.command.empty()) out.line("  makes it   " + revealed.command);
    out.wrapped("Your prediction is stored; ./isobar quiz " + question.id + " continues from here.", columns);
    return out;
  }
  const bool says_more = question.kind != AnswerKind::number && revealed.truth.text != graded.truth;
  if (graded.outcome != Outcome::right || !begins_with_truth(question, graded))
    out.headed("it is", graded.truth, columns);
  out.headed("off by", graded.off_by, columns);
  if (!revealed.instead.empty())
    out.headed("instead",
               "what was recorded elsewhere: " + revealed.instead +
                   (graded.outcome == Outcome::provisional
                        ? ". Your number is graded by runs of yours: ./isobar quiz --when-quiet"
                        : ""),
               columns);
  if (says_more && graded.reveal.empty()) out.headed("found", revealed.truth.text, columns);
  out.headed("because", graded.says, columns);
  out.headed("source", graded.source, columns);
  out.line("");
  out.wrapped("", graded.reveal, columns);
  out.headed("matters", question.why, columns);
  add_page(out, page, columns);
  return out;
}

Report stored_report(const Question& question, const StoredReveal& reveal, const StoredAnswer& answer,
                     const std::string& page, std::size_t columns) {
  Report out = outcome_report(question, answer, reveal.outcome, columns);
  add_members(out.json, ISOBAR_NAMED(reveal.truth, reveal.source, reveal.runs));
  out.headed("it was", printable(reveal.truth), columns);
  out.headed("source", printable(reveal.source), columns);
  add_page(out, page, columns);
  return out;
}

std::string guesses_text(const std::vector<Question>& questions, const CourseProgress& progress) {
  std::int64_t stored = 0, revealed = 0, right = 0;
  for (const Question& question : questions) {
    const QuestionState state = state_of(question, progress);
    stored += state == QuestionState::committed;
    revealed += state == QuestionState::revealed;
    right += state == QuestionState::revealed &&
             progress.reveal(question.id)->outcome == outcome_name(Outcome::right);
  }
  std::vector<std::string> parts;
  if (stored + revealed == 0) parts.emplace_back("no prediction here yet");
  if (revealed > 0)
    parts.push_back(fmt::format("{} of {} answers in this lesson were right", right, revealed));
  if (stored > 0) parts.push_back(counted(stored, "prediction") + " not revealed yet");
  parts.push_back(numbers_sentence(calibrate(progress)));
  std::erase(parts, "");
  return joined(parts, "; ");
}

void add_problems(Report& out, const CourseProgress& progress,
                  const std::map<std::string, Error>& of_lessons) {
  for (const std::string& problem : progress.problems) out.wrapped("! " + printable(problem, 400));
  for (const auto& [lesson, problem] : of_lessons)
    out.wrapped("! " + lesson + ": " + printable(problem.what(), 400) + " (" +
                printable(problem.where(), 400) + ")");
}

void add_scores(Report& out, const Calibration& calibration) {
  const std::string sentence = calibration_sentence(calibration);
  if (!sentence.empty()) out.wrapped("", sentence + ".", text_columns());
}

}  // namespace isobar
