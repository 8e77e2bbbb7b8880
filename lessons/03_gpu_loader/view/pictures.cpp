// Picture: the path of a batch's bytes.

#include <algorithm>
#include <array>
#include <string>

#include "plot/lesson_view.h"

namespace isobar::lesson_03 {
namespace {

constexpr float kStation = 46;

struct PathArrow {
  std::string words;   ///< what moves the bytes
  std::string passes;  ///< over the host's memory, by their numbers; "" = none
};

struct BytePath {
  std::string title;
  std::array<std::string, 4> stations;
  std::array<PathArrow, 3> arrows;
  PathArrow inside;  ///< what happens within the third station; without words nothing does
};

const std::array<BytePath, 2>& byte_paths() {
  static const std::array<BytePath, 2> kPaths = {{
      {"Lesson 02, a worker fills a batch: 5 passes",
       {"disk", "page cache", "batch", "device"},
       {{{"once", ""}, {"pread", "read 1, write 2"}, {"upload", "read 5"}}},
       {"normalised in place", "read 3, write 4"}},
      {"Lesson 03, threads fill a slot field by field: 3 passes",
       {"disk", "page cache", "slot", "device"},
       {{{"once", ""},
         {"pread, a piece at a time", "read 1, write 2"},
         {"upload beside computing", "read 3"}}},
       {}},
  }};
  return kPaths;
}

/// Where the four stations stand.
struct PathPlaces {
  float x = 0, station = 0, between = 0, y = 0, height = 0;
  Box box(std::size_t i) const {
    const float left = x + static_cast<float>(i) * (station + between);
    return {left, y, left + station, y + height};
  }
};

/// Gives the y where its words end.
float paint_path_arrow(Sketch& sketch, const PathArrow& arrow, const PathPlaces& places, std::size_t i) {
  const Box box = places.box(i);
  const float inset = sketch.px(4), room = places.between - 2 * inset, middle = (box.y0 + box.y1) / 2;
  sketch.arrow({box.x1 + sketch.px(2), middle}, {box.x1 + places.between - sketch.px(2), middle},
               sketch.theme().text, 2);
  const float high = sketch.words_height(arrow.words, Face::small, room);
  sketch.words({box.x1 + inset, middle - high - inset}, room, arrow.words, {.across = 0.5F});
  if (arrow.passes.empty()) return box.y1;
  return sketch.words({box.x1 + inset, middle + sketch.px(5)}, room, arrow.passes,
                      {.face = Face::bold, .across = 0.5F});
}

/// A loop below the third station.
float paint_inside(Sketch& sketch, const PathArrow& inside, const PathPlaces& places) {
  const Box box = places.box(2);
  const float left = box.x0 + box.width() * 0.3F, right = box.x0 + box.width() * 0.7F;
  const float bottom = box.y1 + sketch.px(12), wide = places.station + places.between * 0.9F;
  sketch.line({left, box.y1}, {left, bottom}, sketch.theme().text, 1.5F);
  sketch.line({left, bottom}, {right, bottom}, sketch.theme().text, 1.5F);
  sketch.arrow({right, bottom}, {right, box.y1}, sketch.theme().text);
  const float x = (box.x0 + box.x1 - wide) / 2;
  const float y = sketch.words({x, bottom + sketch.px(16)}, wide, inside.words, {.across = 0.5F});
  return sketch.words({x, y}, wide, inside.passes, {.face = Face::bold, .across = 0.5F});
}

float paint_path(Sketch& sketch, const BytePath& path, PlotPoint at, float width) {
  static constexpr std::array<std::size_t, 4> kSeries = {7, 0, 1, 2};
  at.y = sketch.words(at, width, path.title, {.face = Face::bold}) + sketch.px(8);
  PathPlaces places{at.x, width * 0.13F, 0, at.y, sketch.px(kStation)};
  places.between = (width - 4 * places.station) / 3;
  for (const PathArrow& arrow : path.arrows) {
    const float high = sketch.words_height(arrow.words, Face::small, places.between - sketch.px(8));
    places.y = std::max(places.y, at.y + high + sketch.px(4) - places.height / 2);
  }
  float bottom = places.y + places.height;
  for (std::size_t i = 0; i < path.stations.size(); ++i) {
    sketch.pale(places.box(i), sketch.theme().series[kSeries[i]]);
    sketch.words_in(places.box(i), std::array{path.stations[i]}, sketch.theme().text);
    if (i < path.arrows.size())
      bottom = std::max(bottom, paint_path_arrow(sketch, path.arrows[i], places, i));
  }
  if (!path.inside.words.empty()) bottom = std::max(bottom, paint_inside(sketch, path.inside, places));
  return bottom + sketch.px(18);
}

float paint_batch_path(Sketch& sketch, PlotPoint at, float width) {
  for (const BytePath& path : byte_paths()) at.y = paint_path(sketch, path, at, width);
  return sketch.words(
      at, width,
      "A pass reads or writes all bytes of a batch in the host's memory. The first read of a file, from the "
      "disk, is not counted. Lesson 03 normalises without a pass of its own: with a GPU the device does it "
      "behind the upload; without one, each piece on its way from the page cache to the slot, while it lies "
      "in the processor's cache. Nothing is uploaded then, and the last pass is that of the model, which "
      "reads the batch where it lies.");
}

std::vector<LessonPicture> pictures() {
  return {
      {"idea",
       {"The path of a batch's bytes",
        "passes over the host's memory, counted from the code of the two loaders",
        "Two paths from disk over page cache and memory to the device. In lesson 02 pread reads the page "
        "cache and writes the batch, normalising reads and writes it again, and the upload reads it: five "
        "passes over memory. In lesson 03 pieces go from the page cache to a slot, and from there to the "
        "device: three passes.",
        paint_batch_path}}};
}

const AddLessonView kView{{"03_gpu_loader", pictures, own_loaders}};

}  // namespace
}  // namespace isobar::lesson_03
