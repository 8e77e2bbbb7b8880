#include "draw/lesson_pictures.h"

#include <algorithm>

#include "draw/pictures/pictures.h"

namespace isobar {

const std::vector<LessonPicture>& all_lesson_pictures() {
  static const std::vector<LessonPicture> pictures = {
      {"02_workers", "idea", loop_and_loaders_picture()},
  };
  return pictures;
}

const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name) {
  const std::vector<LessonPicture>& all = all_lesson_pictures();
  const auto found = std::find_if(all.begin(), all.end(), [&](const LessonPicture& picture) {
    return picture.lesson == lesson && picture.name == name;
  });
  return found == all.end() ? nullptr : &*found;
}

float lesson_picture_height(const Canvas& canvas, const LessonPicture& picture, float width) {
  return drawing_height(canvas, picture.drawing, width);
}

void paint_lesson_picture(Canvas& canvas, const Theme& theme, const Box& box, const LessonPicture& picture) {
  paint_drawing(canvas, theme, box, picture.drawing);
}

}  // namespace isobar
