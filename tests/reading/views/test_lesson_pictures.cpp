// The pictures of lessons: drawn for any width, readable, and what they say is what the formulas say.
#include <set>

#include "config/lesson.h"
#include "config/load.h"
#include "core/files.h"
#include "formula/model_shape.h"
#include "plot/bars.h"
#include "plot/lesson_view.h"
#include "support/catch.h"
#include "support/recording_canvas.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// Draws the picture and checks that it keeps to its box, and that no text covers another.
void check_drawing(const LessonPicture& picture, float width, float scale) {
  RecordingCanvas canvas(scale);
  const float height = drawing_height(canvas, picture.drawing, width);
  const Box box = {40, 30, 40 + width, 30 + height};
  paint_drawing(canvas, theme_of(true), box, picture.drawing);
  INFO(picture.lesson << " " << picture.name << " " << width << " x " << scale);
  CHECK(canvas.reached().x0 >= box.x0);
  CHECK(canvas.reached().y0 >= box.y0);
  CHECK(canvas.reached().x1 <= box.x1);
  CHECK(canvas.reached().y1 <= box.y1);
  CHECK(canvas.texts().size() > 5);
  CHECK(covered_texts(canvas.texts()) == std::vector<std::string>{});
}

VitShape shape_of_preset(const std::string& preset) {
  Settings settings;
  settings.preset = preset;
  return vit_shape(
      read_config(project_home(), read_lesson(project_home(), "01_baseline"), settings, "cpu").config);
}

bool same_shape(const VitShape& one, const VitShape& other) {
  return one.height == other.height && one.width == other.width && one.channels == other.channels &&
         one.patch == other.patch && one.embed == other.embed && one.depth == other.depth &&
         one.heads == other.heads;
}

}  // namespace

TEST_CASE("every lesson has a picture of its idea, and names are unique") {
  std::set<std::string> names, ideas;
  for (const LessonPicture& picture : all_lesson_pictures()) {
    CHECK(names.insert(picture.lesson + "/" + picture.name).second);
    if (picture.name == "idea") ideas.insert(picture.lesson);
    CHECK(find_lesson_picture(picture.lesson, picture.name) == &picture);
    CHECK(picture.drawing.alt.size() > 100);
  }
  CHECK(ideas.size() == lesson_names(project_home()).size());
  CHECK(find_lesson_picture("01_baseline", "no such") == nullptr);
}

TEST_CASE("pictures keep to their box at every width, and no text covers another") {
  for (const LessonPicture& picture : all_lesson_pictures()) {
    for (const float width : {360.0F, 480.0F, 700.0F, 840.0F, 960.0F, 1400.0F})
      check_drawing(picture, width, 1);
    check_drawing(picture, 960, 2);
  }
}

TEST_CASE("a picture's file has a ground of its own and says what it shows, in both themes") {
  for (const LessonPicture& picture : all_lesson_pictures()) {
    for (const bool dark : {false, true}) {
      const std::string svg = drawing_svg(picture.drawing, dark);
      CHECK_THAT(svg,
                 says("role=\"img\"") && says("<title>") && says("<desc>") &&
                     says("<rect width=\"100%\" height=\"100%\" fill=\"" + hex_text(theme_of(dark).panel)));
      CHECK_THAT(svg, !says("nan") && !says("inf\""));
    }
  }
}

TEST_CASE("the shapes of pictures are those of their presets") {
  CHECK(same_shape(kTinyShape, shape_of_preset("cpu_tiny")));
  CHECK(same_shape(kBaseShape, shape_of_preset("base")));
}

TEST_CASE("a stacked bar leaves out what takes nothing") {
  const Theme& theme = theme_of(false);
  RecordingCanvas canvas;
  Sketch sketch(canvas, theme);
  StackedBar bar;
  bar.title = "A step";
  bar.axis = "time in ms";
  bar.parts = {stage_part(theme, "forward", 3000), stage_part(theme, "comm", 0)};
  const float end = paint_stacked_bar(sketch, bar, {0, 0}, 300);
  std::set<std::string> words;
  for (const WrittenText& text : canvas.texts()) words.insert(text.words);
  CHECK(words.contains("forward"));
  CHECK(words.contains("3.00 ms"));
  CHECK_FALSE(words.contains("comm"));
  bar.parts.clear();
  CHECK(paint_stacked_bar(sketch, bar, {0, 0}, 300) < end);
}
