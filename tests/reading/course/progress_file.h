#pragma once
// What tests of the progress file write and read.
#include <filesystem>
#include <fstream>
#include <string>

#include "core/files.h"
#include "course/progress.h"
#include "reading/course/asked.h"

namespace isobar {

inline Answer typed(const Question& question, const std::string& text) {
  return parse_answer(question, text);
}

inline std::string text_of_file(const std::filesystem::path& file) { return read_text_file(file, 1 << 24); }

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// The newest answer to a question, as a reveal takes it.
inline StoredAnswer newest(const std::filesystem::path& file, const Question& question) {
  const CourseProgress progress = read_progress(file);
  REQUIRE(progress.answer(question.id) != nullptr);
  return *progress.answer(question.id);
}

inline Graded right_grade() {
  Graded out;
  out.outcome = Outcome::right;
  out.truth = "4 workers";
  out.source = "measured here";
  return out;
}

inline Truth measured(double number) {
  Truth out;
  out.number = number;
  return out;
}

}  // namespace isobar
