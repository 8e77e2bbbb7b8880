#include <algorithm>

#include "core/find.h"
#include "draw/pictures/pictures.h"

namespace isobar {

const std::vector<LessonPicture>& all_lesson_pictures() {
  static const std::vector<LessonPicture> kPictures = [] {
    std::vector<LessonPicture> out;
    for (const auto& pictures_of :
         {descent_pictures, baseline_pictures, workers_pictures, rooflines_pictures, fusion_pictures,
          replicas_pictures, buckets_pictures, graph_pictures, all_reduce_pictures})
      std::ranges::move(pictures_of(), std::back_inserter(out));
    std::ranges::stable_sort(out, {}, [](const LessonPicture& picture) {
      return std::pair(picture.lesson, picture.name != "idea");
    });
    return out;
  }();
  return kPictures;
}

const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name) {
  return find_where(all_lesson_pictures(), [&](const LessonPicture& picture) {
    return picture.lesson == lesson && picture.name == name;
  });
}

}  // namespace isobar
