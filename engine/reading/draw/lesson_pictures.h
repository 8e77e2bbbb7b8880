#pragma once
// The pictures that carry the ideas of the lessons. lessons/make_pictures.sh writes them into
// lessons/NN_name/pictures/NAME.svg; the window draws them itself.
#include <string>
#include <string_view>
#include <vector>

#include "draw/drawing.h"

namespace isobar {

struct LessonPicture {
  std::string lesson;  ///< "02_workers"
  std::string name;    ///< of its file, "idea"
  Drawing drawing;
};

/// In the order of the lessons; of each lesson `idea` first.
const std::vector<LessonPicture>& all_lesson_pictures();

/// Null where there is none of this name.
const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name);

/// Height at this width, in the pixels of `canvas`.
float lesson_picture_height(const Canvas& canvas, const LessonPicture& picture, float width);

/// Draws from the top of the box, as wide as it is, without a ground.
void paint_lesson_picture(Canvas& canvas, const Theme& theme, const Box& box, const LessonPicture& picture);

}  // namespace isobar
