#include <fmt/format.h>

#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "core/utf8.h"
#include "draw/text_style.h"
#include "panels/lesson_parts.h"
#include "widgets/places.h"

namespace isobar {
namespace {

constexpr std::size_t kMostTold = 1200;

RunRequest check_request(const std::string& lesson, const std::vector<std::string>& options = {}) {
  RunRequest out{.lesson = lesson, .words = {"check", lesson}};
  out.words.insert(out.words.end(), options.begin(), options.end());
  return out;
}

bool is_braille(std::uint32_t code) { return (code & ~0xffU) == braille_of(0); }

void draw_told(Ui& ui, const char* head, const std::string& text) {
  const float begin = ImGui::GetCursorPosX();
  ui.dim(head);
  ui.at_x(begin + ui.px(64)).sentence(printable(text, kMostTold));
}

/// Why the check does not hold, unless it was not begun, and the hints that were asked for.
void draw_why(Ui& ui, const OwnExercise& own, bool is_begun) {
  const CheckFinding& finding = own.verdict->finding;
  if (is_begun) {
    draw_told(ui, "expected", finding.expected);
    draw_told(ui, "came", finding.came);
    draw_told(ui, "look at", finding.look);
  }
  for (std::size_t i = 0; i < own.hints.size(); ++i)
    draw_told(ui, fmt::format("hint {}", i + 1).c_str(), own.hints[i]);
  ui.record("why " + own.verdict->failed);
}

void draw_checks(Ui& ui, const OwnExercise& own) {
  const bool is_first_step = own.verdict && has_first_step_alone(own.exercise, own.mine, *own.verdict);
  for (const ExerciseCheck& check : own.exercise.checks) {
    const bool held = own.verdict && own.verdict->holds(check);
    const bool is_next = own.verdict && own.verdict->fails(check), failed = is_next && !is_first_step;
    draw_check(ui, held ? CheckMark::held : failed ? CheckMark::failed : CheckMark::open);
    ui.record((held ? "held " : failed ? "failed " : "open ") + check.name);
    ImGui::Indent(ui.px(26));
    ui.wrapped(check.says, Face::text, failed ? ui.theme().text : ui.theme().dim);
    if (is_next) draw_why(ui, own, failed);
    ImGui::Unindent(ui.px(26));
  }
}

/// A row of characters; braille, which no font here has, dot by dot.
void paint_letters(Ui& ui, const std::vector<std::uint32_t>& row, const Box& box, float dot) {
  ImGuiCanvas canvas = ui.canvas();
  PlotPoint at = {box.x0, box.y0};
  for (const std::uint32_t code : row) {
    for (unsigned i = 0; i < 8 && is_braille(code); ++i) {
      const float x = at.x + dot * static_cast<float>(i % 2), y = at.y + dot * static_cast<float>(i / 2);
      if ((code & braille_of(1U << i) & 0xffU) != 0) canvas.fill({x, y, x + dot, y + dot}, ui.theme().dim);
    }
    std::string letter;
    append_utf8(letter, code);
    if (code == mark_letter(Mark::ring, /*ascii=*/false))
      canvas.mark({at.x + dot, at.y + 2 * dot}, Mark::ring, dot, ui.theme().text);
    else if (!is_braille(code))
      canvas.text(at.x, at.y, letter, Face::mono_small, ui.theme().text);
    at.x += 2 * dot;
  }
}

/// What the first step does, as a terminal shows it: a picture, and sentences.
void draw_first_step(Ui& ui, const OwnExercise& own) {
  if (!own.verdict || own.verdict->picture.empty() || own.is_old) return;
  if (has_first_step_alone(own.exercise, own.mine, *own.verdict)) ui.text("First step done.", Face::bold);
  const float dot = std::min(ui.canvas().text_width("0", Face::mono_small) / 2,
                             ImGui::GetContentRegionAvail().x / 160);  // two for each of 80 columns
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (const std::string& row : split(own.verdict->picture, '\n')) {
    const std::vector<std::uint32_t> letters = letters_of(row);
    const bool is_drawn = row.find("  ") != std::string::npos || std::ranges::any_of(letters, is_braille);
    if (is_drawn) paint_letters(ui, letters, ui.space(4 * dot, "picture of the first step"), dot);
    if (!is_drawn) ui.note(row);
  }
  ImGui::PopStyleVar();
}

/// What was found before any check, or that the file is another by now.
void draw_state_of_file(Ui& ui, const OwnExercise& own) {
  if (own.mine.is_of_older_edition)
    ui.warning("The exercise has changed since you began; ./isobar check says what is different.");
  if (!own.verdict)
    return ui.dim("Not checked yet. A skeleton is meant to fail: the first check says where to begin.");
  if (own.is_old) {
    ui.warning("You have changed the file since it was checked.");
    ui.record("changed since");
  }
  const std::optional<CompileProblem>& problem = own.verdict->problem;
  if (!problem) return;
  ui.wrapped(printable(problem->what, kMostTold), Face::text, ui.theme().bad);
  ui.wrapped_readable(printable(problem->where, kMostTold), Face::mono_small, ui.theme().dim);
  ui.record("exercise problem");
}

void draw_buttons(Ui& ui, const Data& data, const OwnExercise& own, Requests& ask) {
  const std::string& lesson = own.exercise.lesson;
  if (ui.button("Check", ButtonKind::primary, !data.starting, "check the exercise"))
    ask.start = check_request(lesson);
  ui.tip(data.starting ? "Something is running" : "./isobar check " + lesson);
  ImGui::SameLine(0, ui.px(8));
  const bool fails = own.verdict && !own.verdict->failed.empty();
  if (ui.button("One more hint", ButtonKind::plain, fails && !data.starting))
    ask.start = check_request(lesson, {"--hint"});
  if (ui.beside(8).button("Open in editor", ButtonKind::plain)) ask.edit = own.mine.path.string();
  ui.tip("By $VISUAL or $EDITOR");
  if (ui.beside(8).button("What I changed", ButtonKind::quiet)) ask.changes = lesson;
  ui.tip("Your file beside the skeleton");
}

}  // namespace

void draw_exercise(Ui& ui, const Data& data, const std::string& lesson, Requests& ask) {
  const auto* const found = find_in(data.course->exercises, lesson);
  if (found == nullptr) return ui.dim("This lesson has no exercise.");
  const OwnExercise& own = **found;
  const CardBox box(ui, "exercise", ui.theme().ground);
  if (!own.problem.empty()) return ui.problem(own.problem);
  ui.text(own.exercise.title, Face::bold);
  ui.dim(fmt::format("about {} minutes", own.exercise.minutes));
  if (!own.exercise.first.empty()) ui.sentence(sentence_case(own.exercise.first_step()));
  ui.sentence(own.exercise.text);
  ui.gap(2);
  if (!own.mine.is_there) {
    if (ui.button("Put the skeleton into my/", ButtonKind::primary, !data.starting, "begin the exercise"))
      ask.start = RunRequest{.lesson = lesson, .words = {"exercise", lesson}};
    ui.tip("./isobar exercise " + lesson + "; a file of yours is never overwritten");
    return draw_checks(ui, own);
  }
  ui.wrapped_readable(as_typed(own.mine.path).string(), Face::mono_small, ui.theme().dim);
  draw_buttons(ui, data, own, ask);
  ui.gap(2);
  draw_state_of_file(ui, own);
  draw_checks(ui, own);
  draw_first_step(ui, own);
  if (own.verdict && own.verdict->passed() && !own.is_old) {
    ui.gap(2);
    ui.text("All of it holds.", Face::bold);
    ui.sentence(own.exercise.after);
    ui.note(own.exercise.run_command() + " trains with your part.");
  }
}

void draw_tour(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const auto* const found = find_in(data.course->tours, state.lesson);
  if (found == nullptr || found->empty()) return;
  ui.gap(4);
  ui.text("Tour of the code", Face::bold);
  for (const PlacedStop& placed : *found) {
    const TourStop& stop = placed.stop;
    if (placed.is_asked || placed.line == 0) {
      ui.note(stop.asks +
              (placed.is_asked ? " A question asks for this line." : " It is not there any more."));
      continue;
    }
    if (ui.link(stop.asks, "stop " + stop.name)) {
      ask.link = LinkRequest{state.lesson, fmt::format("../../{}#L{}", stop.file, placed.line)};
      ask.say = stop.says;
    }
    ui.tip(fmt::format("{}:{}\n{}", stop.file, placed.line, stop.says));
  }
}

}  // namespace isobar
