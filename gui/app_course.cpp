// What the learner asked for, and where links lead.
#include <imgui.h>

#include <algorithm>
#include <cstdlib>

#include "app.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "state/links.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostFileBytes = 1U << 20;

bool is_cpp_file(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".cpp" || ending == ".h" || ending == ".cu" || ending == ".cuh";
}

/// The line of the heading "## ..." of a Markdown text that a link names; 0 where there is none.
std::int64_t line_of_section(const std::string& text, const std::string& section) {
  std::int64_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::size_t words = line.find_first_not_of('#');
    if (words == 0 || words == std::string::npos) continue;
    if (section_name(line.substr(words)) == section) return number;
  }
  return 0;
}

/// As typed in a shell without quotes: "code -n".
std::vector<std::string> editor_words(const fs::path& named) {
  std::string words = named.string();
  for (const char* const variable : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(variable);
    if (words.empty() && value != nullptr) words = value;
  }
  std::vector<std::string> out = split(words, ' ');
  std::erase(out, "");
  return out;
}

}  // namespace

void App::act_on_course(const Requests& ask, const Data& data) {
  if (!ask.look_at.empty()) look_at(ask.look_at, data);
  if (ask.link) follow_link(*ask.link);
  if (!ask.edit.empty()) open_editor(ask.edit);
  if (!ask.changes.empty()) show_changes(ask.changes);
  if (!ask.course) return;
  const CourseRequest& asked = *ask.course;
  switch (asked.kind) {
    case CourseRequest::Kind::commit:
      return worker_.commit(asked.id, asked.answer, asked.seen, asked.again);
    case CourseRequest::Kind::reveal:
      return worker_.reveal(asked.id);
    case CourseRequest::Kind::done:
      return worker_.part_done(asked.id, asked.part);
  }
}

/// Runs that a reveal rests on may lie anywhere, such as beside a lesson.
void App::look_at(const std::vector<std::string>& folders, const Data& data) {
  state_.compared.clear();
  for (const std::string& folder : folders) {
    const auto& runs = data.feed.runs->runs;
    std::error_code code;
    const auto known = std::ranges::find_if(runs, [&](const auto& run) {
      return run->id == folder || fs::equivalent(run->folder, folder, code);
    });
    if (known == runs.end()) feed_.add_place(folder);
    state_.compared.insert(known == runs.end() ? folder : (*known)->id);
    if (folder == folders.front()) state_.run = known == runs.end() ? folder : (*known)->id;
  }
  state_.follow_new = false;
  state_.watch.link.fit_x = true;
}

void App::follow_link(const LinkRequest& link) {
  std::vector<std::string> lessons;
  for (const LessonCard& card : project_.lessons) lessons.push_back(card.info.name);
  const LinkTarget target =
      link_target(project_.home, project_.home / "lessons" / link.lesson, lessons, link.link);
  switch (target.kind) {
    case LinkTarget::Kind::web:
      return open_web(target.text);
    case LinkTarget::Kind::lesson:
      choose_lesson(target.text);
      state_.course.parts[target.text] = 0;
      state_.course.section = target.section;
      return;
    case LinkTarget::Kind::reveal:
      return open_reveal(target.text);
    case LinkTarget::Kind::file:
      return open_file(target.text, target.line, target.section);
    case LinkTarget::Kind::folder:
      ImGui::SetClipboardText(target.text.c_str());
      return say("a folder of the project: " + target.text + " (copied)");
    case LinkTarget::Kind::section:
      state_.course.section = target.section;
      return;
    case LinkTarget::Kind::nowhere:
      return say(target.text);
  }
}

/// A program that goes on by itself, by an argument list, never through a shell.
std::unique_ptr<ChildProcess> App::start_beside(const std::vector<std::string>& words, const char* log) {
  const fs::path logs = options_.logs.empty() ? cache_prefix() / "window" : options_.logs;
  fs::create_directories(logs);
  return std::make_unique<ChildProcess>(words, project_.home, logs / log);
}

void App::open_web(const std::string& address) {
  if (options_.visit) return options_.visit(address);
  ImGui::SetClipboardText(address.c_str());
  try {
    browser_ = start_beside({options_.browser.string(), address}, "browser.log");
    say("opened in the browser, and copied: " + printable(address, 120));
  } catch (const std::exception&) {
    say("copied: " + printable(address, 120));
  }
}

/// An editor of a terminal has none here, so that the path is copied too.
void App::open_editor(const std::string& file) {
  ImGui::SetClipboardText(file.c_str());
  if (options_.visit) return say("copied: " + printable(file, 120));
  std::vector<std::string> words = editor_words(options_.editor);
  if (words.empty()) return say("no editor is named by VISUAL or EDITOR; copied: " + printable(file, 120));
  const std::string editor = words.front();
  words.push_back(file);
  try {
    editor_ = start_beside(words, "editor.log");
    say("opened by " + printable(editor, 60) + ", and copied: " + printable(file, 120));
  } catch (const std::exception& error) {
    say("not opened: " + printable(error.what(), 120) + "; copied: " + printable(file, 120));
  }
}

/// The learner's file of a lesson beside the skeleton.
void App::show_changes(const std::string& lesson) {
  const auto course = worker_.view();
  const auto* const own = find_in(course->exercises, lesson);
  if (own == nullptr) return;
  const MyFile& mine = (*own)->mine;
  CodeState code{.file = as_typed(mine.path).string(), .is_diff = true};
  code.text = printable_lines(mine.text);
  code.page = code_page(printable_lines(mine.given), code.text, /*is_cpp=*/true);
  state_.code = std::move(code);
  state_.view = View::code;
}

void App::open_file(const std::string& file, std::int64_t line, const std::string& section) {
  const fs::path path(file);
  const std::string lesson = path.parent_path().filename().string();
  CodeState code{.line = line};
  if (path.filename() == "main.cpp" && project_.find(lesson) != nullptr) {
    choose_lesson(lesson);
  } else {
    try {
      code.file = file;
      code.text = printable_lines(read_text_file(project_.home / path, kMostFileBytes));
      code.page = code_page(code.text, code.text, is_cpp_file(path));
      if (!section.empty()) code.line = line_of_section(code.text, section);
    } catch (const Error& error) {
      ImGui::SetClipboardText(file.c_str());
      return say("not shown: " + printable(error.what(), 160) + "; its path was copied");
    }
  }
  code.scroll = code.line > 0;
  state_.code = std::move(code);
  state_.view = View::code;
}

void App::open_reveal(const std::string& lesson) {
  const std::shared_ptr<const CourseView> course = worker_.view();
  const bool any = std::ranges::any_of(course->of_lesson(lesson), [&](const Question& one) {
    return course->of(one.id)->state != QuestionState::open;
  });
  if (!any) return say("this page opens once you have committed to an answer");
  choose_lesson(lesson);
  const std::vector<LessonPart>& parts = course->lessons.at(lesson).parts;
  const auto begun = std::ranges::find_if(parts, [](const LessonPart& part) { return part.so_far > 0; });
  state_.course.parts[lesson] = begun == parts.end() ? 1 : static_cast<std::size_t>(begun - parts.begin());
}

}  // namespace isobar
