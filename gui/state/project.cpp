#include "state/project.h"

#include <algorithm>

#include "config/key_comments.h"
#include "config/load.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/nvidia.h"
#include "core/text.h"
#include "course/page_section.h"
#include "course/question.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::error_code code;
  return fs::exists(file, code) ? read_text_file(file, kMostPageBytes) : "";
}

/// Of the page that is kept back the sections that belong to no question; none where the questions cannot be
/// read, since then nobody knows what they would tell.
std::vector<MarkdownBlock> rest_of_reveal(const fs::path& home, const std::string& lesson) {
  std::vector<Question> questions;
  try {
    questions = read_questions(home, lesson);
  } catch (const Error&) {
    return {};  // the course says why
  }
  const auto is_answer = [&](const std::string& title) {
    return std::ranges::any_of(questions, [&](const Question& question) {
      return question.id.substr(question.id.find('.') + 1) == title;
    });
  };
  std::vector<MarkdownBlock> out;
  bool wanted = false;
  for (MarkdownBlock& block : parse_markdown(text_of(home / "lessons" / lesson / "reveal.md"))) {
    if (block.kind == MarkdownBlock::Kind::heading && block.level <= 2)
      wanted = block.level == 2 && !is_answer(words_of(block.spans));
    if (wanted) out.push_back(std::move(block));
  }
  return out;
}

LessonCard read_card(const fs::path& home, const std::string& name, const GlossaryWords& glossary) {
  LessonCard card;
  card.info = read_lesson(home, name);
  card.number = name.substr(0, name.find('_'));
  card.short_title = card.info.title.substr(0, card.info.title.find(':'));
  const fs::path folder = home / "lessons" / name;
  card.readme = read_lesson_page(text_of(folder / "README.md"), glossary);
  card.reveal_rest = rest_of_reveal(home, name);
  card.page = text_of(folder / "main.cpp");
  const std::string& previous = card.info.previous;
  card.code = code_page(previous.empty() ? card.page : text_of(home / "lessons" / previous / "main.cpp"),
                        card.page, /*is_cpp=*/true);
  std::error_code code;
  if (card.info.needs == "cuda" && !fs::exists("/dev/nvidiactl", code)) {
    card.cannot_run = "needs an NVIDIA GPU; this machine has no driver for one";
    card.recorded = recorded_runs(home, name);
  }
  return card;
}

/// A page is read without them as well.
Glossary known_words(const fs::path& home, std::vector<std::string>& problems) {
  try {
    return read_glossary(home);
  } catch (const Error& error) {
    problems.push_back("glossary: " + printable(error.what(), 300));
    return {};
  }
}

}  // namespace

const LessonCard* Project::find(const std::string& name) const {
  return find_where(lessons, [&](const LessonCard& card) { return card.info.name == name; });
}

Project read_project(const fs::path& home) {
  Project project;
  project.home = home;
  project.device_kind = likely_device_kind();
  project.presets = preset_names(home);
  project.comments = key_comments(home);
  const GlossaryWords glossary(known_words(home, project.problems));
  for (const std::string& name : lesson_names(home)) {
    try {
      project.lessons.push_back(read_card(home, name, glossary));
    } catch (const Error& error) {
      project.problems.push_back(name + ": " + printable(error.what(), 300));
    }
  }
  return project;
}

}  // namespace isobar
