#include "plot/lesson_view.h"

#include <algorithm>

#include "core/find.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

std::vector<LessonView>& views() {
  static std::vector<LessonView> out;
  return out;
}

std::vector<LessonPicture> collected() {
  std::vector<LessonPicture> out;
  for (const LessonView& view : views()) {
    for (LessonPicture& picture : view.pictures()) {
      picture.lesson = view.lesson;
      out.push_back(std::move(picture));
    }
  }
  std::ranges::stable_sort(out, {}, [](const LessonPicture& picture) {
    return std::pair(picture.lesson, picture.name != "idea");
  });
  return out;
}

/// "measured here: NN_name, cpu_micro, on cpu, 2026-11-25, run NAME"
std::string own_note(const fs::path& folder, const RunView& view) {
  const std::string where = provenance_text(view).empty() ? "measured here" : provenance_text(view);
  std::string out = where + ": " + printable(view.lesson, 40);
  if (!view.preset.empty()) out += ", " + printable(view.preset, 40);
  if (view.is_measured_here() && !view.device.empty()) out += ", on " + printable(view.device, 60);
  for (const std::string& mark : marks_of(view)) out += ", " + printable(mark, 80);
  return out + ", run " + printable(folder.filename().string(), 60);
}

}  // namespace

AddLessonView::AddLessonView(const LessonView& view) { views().push_back(view); }

const std::vector<LessonPicture>& all_lesson_pictures() {
  static const std::vector<LessonPicture> kPictures = collected();
  return kPictures;
}

std::vector<LessonPlot> plots_of(std::string_view lesson) {
  const LessonView* const found = find_by(views(), &LessonView::lesson, lesson);
  return found == nullptr ? std::vector<LessonPlot>{} : found->plots;
}

const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name) {
  return find_where(all_lesson_pictures(), [&](const LessonPicture& picture) {
    return picture.lesson == lesson && picture.name == name;
  });
}

Drawing drawn_together(std::string_view rule, const std::vector<ShownRun>& runs) {
  if (runs.empty()) return {};
  const std::string& lesson = runs.front().run->view().lesson;
  const LessonView* const found = find_by(views(), &LessonView::lesson, std::string_view(lesson));
  return found == nullptr || found->together == nullptr ? Drawing{} : found->together(rule, runs);
}

std::vector<Drawing> choice_panels(std::string_view lesson, const std::vector<PanelSettings>& choices) {
  const LessonView* const found = find_by(views(), &LessonView::lesson, lesson);
  return found == nullptr || found->panels == nullptr ? std::vector<Drawing>{} : found->panels(choices);
}

std::optional<Drawing> lettered_panels(std::string_view lesson, const std::vector<PanelSettings>& choices) {
  std::vector<Drawing> panels = choices.empty() ? std::vector<Drawing>{} : choice_panels(lesson, choices);
  if (panels.empty()) return std::nullopt;
  for (std::size_t i = 0; i < panels.size(); ++i)
    panels[i].title = std::string(1, static_cast<char>('a' + i));
  constexpr float kLeastWidth = 130;  // three beside each other in the column of a lesson
  return beside_each_other(std::move(panels), kLeastWidth);
}

OwnPicture nothing_to_draw(const std::string& why, const std::string& hint) { return {{}, why, hint}; }

OwnPicture own_picture(const fs::path& run) {
  OwnRun own{run, std::make_shared<RunReader>(run, /*keep_series=*/true), {}, ""};
  own.reader->read_all();
  const std::string& lesson = own.view().lesson;
  const LessonView* const mine = find_by(views(), &LessonView::lesson, std::string_view(lesson));
  if (mine == nullptr)
    return nothing_to_draw(lesson.empty() ? "the run does not say of which lesson it is"
                                          : printable(lesson, 40) + " has no picture of its own",
                           "./isobar show RUN shows what it recorded");
  own.steady = steady_figures(own.view(), own.reader->series(), std::nullopt);
  own.note = own_note(run, own.view());
  return mine->own(own);
}

}  // namespace isobar
