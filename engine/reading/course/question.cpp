#include "course/question.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

#include "config/lesson.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/machine.h"
#include "core/random.h"
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

std::vector<std::vector<std::string>> Question::pictures() const {
  std::vector<std::vector<std::string>> out;
  for (const QuestionChoice& one : choices) {
    if (!one.shows.empty()) out.push_back(one.shows);
  }
  return out.size() == choices.size() ? out : std::vector<std::vector<std::string>>{};
}

std::string drawn_text(const DrawnValues& drawn) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : drawn) parts.push_back(name + "=" + value);
  return joined(parts, " ");
}

namespace {

/// Whether the words have a place of their own in a list.
bool has_place(const Question& question, const QuestionChoice& choice) {
  constexpr std::string_view kLast[] = {"both", "neither", "none", "all", "no"};
  const std::string text = choice.asked_as();
  const bool has_digit =
      std::ranges::any_of(text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return has_digit || choice.key.size() == 1 || holds(kLast, text.substr(0, text.find_first_of(" ,:"))) ||
         question.rule == "curve" || question.with.contains("classes");
}

}  // namespace

std::string learner_seed() {
  if (const char* const named = std::getenv("ISOBAR_LEARNER")) return named;
  return std::to_string(::getuid()) + "@" + host_name();
}

void shuffle_choices(Question& question, const std::string& learner) {
  const bool stays = std::ranges::any_of(question.choices,
                                         [&](const QuestionChoice& one) { return has_place(question, one); });
  if (stays) return;
  std::ranges::stable_sort(question.choices, {}, [&](const QuestionChoice& one) {
    return stream_key(0, learner + " " + question.id + " " + one.key);
  });
}

std::vector<Question> read_questions(const fs::path& home, const std::string& lesson, LessonForm* form) {
  const fs::path file = home / "lessons" / lesson / "questions.toml";
  if (!fs::exists(file)) return {};
  std::vector<Question> out =
      parse_questions(read_text_file(file, kMostTomlBytes), file.string(), lesson, form);
  if (const std::string learner = learner_seed(); learner != "0") {
    for (Question& question : out) shuffle_choices(question, learner);
  }
  return out;
}

namespace {

/// Error for an id that its lesson does not have. A lesson that is not here, or cannot be read, may have any.
void check_openings(const std::vector<std::string>& opens_with, const CourseQuestions& earlier,
                    const std::string& lesson) {
  std::vector<std::string> ids;
  for (const Question& question : earlier.questions) ids.push_back(question.id);
  for (const std::string& id : opens_with) {
    const std::string number = id.substr(0, id.find('.') + 1);
    const bool is_here =
        std::any_of(ids.begin(), ids.end(), [&](const std::string& one) { return one.starts_with(number); });
    if (is_here && !holds(ids, id))
      throw Error("no earlier lesson has the question " + printable(id, 80),
                  "lessons/" + lesson + "/questions.toml: opens_with",
                  did_you_mean(id, ids, "./isobar quiz --list"));
  }
}

}  // namespace

CourseQuestions all_questions(const fs::path& home) {
  CourseQuestions out;
  for (const std::string& lesson : lesson_names(home)) {
    try {
      LessonForm form;
      std::vector<Question> own = read_questions(home, lesson, &form);
      check_openings(form.opens_with, out, lesson);
      out.forms[lesson] = std::move(form);
      std::move(own.begin(), own.end(), std::back_inserter(out.questions));
    } catch (const Error& error) {
      out.problems.emplace(lesson, error);
    }
  }
  return out;
}

std::vector<Question> opening_questions(const CourseQuestions& all, const std::string& lesson) {
  std::vector<Question> out;
  const LessonForm* const form = find_in(all.forms, lesson);
  if (form == nullptr) return out;
  for (const std::string& id : form->opens_with) {
    if (const Question* const found = find_by(all.questions, &Question::id, id)) out.push_back(*found);
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
