#pragma once
// The pictures that carry the ideas of the lessons. lessons/make_pictures.sh writes them into
// lessons/NN_name/pictures/NAME.svg; the window draws them itself.
#include <string>
#include <string_view>
#include <vector>

#include "draw/sketch.h"
#include "formula/vit_counts.h"

namespace isobar {

/// Of the presets that pictures speak of.
inline constexpr VitShape kTinyShape = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};
inline constexpr std::int64_t kTinyBatch = 4;
inline constexpr VitShape kBaseShape = {};
inline constexpr std::int64_t kBaseBatch = 16;

struct LessonPicture {
  std::string lesson;  ///< "02_workers"
  std::string name;    ///< of its file, "idea"
  Drawing drawing;
};

/// The pictures of each file of this folder.
std::vector<LessonPicture> descent_pictures(), baseline_pictures(), workers_pictures(), rooflines_pictures(),
    fusion_pictures(), replicas_pictures(), buckets_pictures(), graph_pictures(), all_reduce_pictures();

/// In the order of the lessons; of each lesson `idea` first.
const std::vector<LessonPicture>& all_lesson_pictures();

/// Null where there is none of this name.
const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name);

}  // namespace isobar
