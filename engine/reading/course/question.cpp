#include "course/question.h"

#include <algorithm>

#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "foreign/toml_limits.h"

namespace isobar {

namespace fs = std::filesystem;

const char* kind_name(AnswerKind kind) { return kAnswerKinds[static_cast<std::size_t>(kind)]; }

std::string Question::argument(std::string_view name, const std::string& otherwise) const {
  const auto found = with.find(std::string(name));
  return found == with.end() || found->second.empty() ? otherwise : found->second.front();
}

std::vector<std::string> Question::arguments(std::string_view name) const {
  const auto found = with.find(std::string(name));
  return found == with.end() ? std::vector<std::string>{} : found->second;
}

const NeededRun* Question::run(std::string_view name) const { return find_by(runs, &NeededRun::name, name); }

const QuestionChoice* Question::choice(std::string_view key) const {
  return find_by(choices, &QuestionChoice::key, key);
}

std::vector<Question> read_questions(const fs::path& home, const std::string& lesson) {
  const fs::path file = home / "lessons" / lesson / "questions.toml";
  if (!fs::exists(file)) return {};
  return parse_questions(read_text_file(file, kMostTomlBytes), file.string(), lesson);
}

CourseQuestions all_questions(const fs::path& home) {
  CourseQuestions out;
  for (const std::string& lesson : lesson_names(home)) {
    try {
      for (Question& question : read_questions(home, lesson)) out.questions.push_back(std::move(question));
    } catch (const Error& error) {
      out.problems.emplace(lesson, error);
    }
  }
  return out;
}

std::vector<Question> opening_questions(const std::vector<Question>& all, const std::string& lesson) {
  std::vector<Question> out;
  for (const Question& question : all) {
    if (holds(question.again, lesson) && out.size() < kMostOpeningQuestions) out.push_back(question);
  }
  return out;
}

Question find_question(const fs::path& home, const std::string& id) {
  CourseQuestions all = all_questions(home);
  std::vector<std::string> like, ids;
  for (Question& question : all.questions) {
    if (question.id == id) return std::move(question);
    ids.push_back(question.id);
    if (question.id.substr(question.id.find('.') + 1) == id) like.push_back(question.id);
  }
  if (like.size() == 1) return find_question(home, like[0]);
  if (!like.empty()) {
    throw Error("\"" + printable(id, 80) + "\" matches several questions", (home / "lessons").string(),
                "name one of them: " + joined(like));
  }
  for (const auto& [lesson, problem] : all.problems) {
    const bool is_of_it = id.starts_with(lesson.substr(0, lesson.find('_')) + ".");
    if (is_of_it || id.find('.') == std::string::npos) throw problem;
  }
  throw Error("there is no question \"" + printable(id, 80) + "\"", (home / "lessons").string(),
              did_you_mean(id, ids, "./isobar quiz --list names them all"));
}

}  // namespace isobar
