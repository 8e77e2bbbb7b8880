#include "core/text.h"
#include "course/progress.h"

namespace isobar {
namespace {

/// A spreadsheet computes what begins like a formula, so that it gets an apostrophe before it: at the begin
/// of a cell, and behind a semicolon, where cells begin in countries with a decimal comma, whatever is
/// quoted.
std::string without_formulas(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && std::string_view("=+-@\t\r").find(c) != std::string_view::npos) out += '\'';
    begins = c == ';' || (begins && (c == ' ' || c == '"'));
    out += c;
  }
  return out;
}

/// RFC 4180.
std::string csv_field(const std::string& raw) {
  const std::string text = without_formulas(printable(raw, raw.size()));
  if (text.find_first_of(",;\"\r\n'") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) out += ',';
    out += csv_field(field);
  }
  return out + "\r\n";
}

}  // namespace

std::string progress_csv(const CourseProgress& progress) {
  std::string out =
      csv_line({"time", "id", "lesson", "kind", "answer", "unit", "outcome", "truth", "source", "runs"});
  const StoredReveal none{};
  for (std::size_t i = 0; i < progress.answers.size(); ++i) {
    const StoredAnswer& answer = progress.answers[i];
    const StoredReveal* const found = progress.reveal_of(i);
    const StoredReveal& reveal = found == nullptr ? none : *found;
    out += csv_line({answer.time, answer.id, answer.lesson, answer.kind, answer.text, answer.unit,
                     reveal.outcome, reveal.truth, reveal.source, joined(reveal.runs, " ")});
  }
  return out;
}

}  // namespace isobar
