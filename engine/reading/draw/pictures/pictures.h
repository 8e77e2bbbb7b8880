#pragma once
// The pictures that carry the ideas of the lessons. lessons/make_pictures.sh writes them into
// lessons/NN_name/pictures/NAME.svg; the window draws them itself.
#include <string>
#include <string_view>
#include <vector>

#include "draw/drawing.h"
#include "formula/step_time.h"
#include "formula/vit_counts.h"

namespace isobar {

/// Of the presets that pictures speak of.
inline constexpr VitShape kTinyShape = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};
inline constexpr std::int64_t kTinyBatch = 4;
inline constexpr VitShape kBaseShape = {};
inline constexpr std::int64_t kBaseBatch = 16;

/// A step of base in bf16 on an A100, all fused, as lesson 06 trains.
StepTime bucket_step(std::int64_t batch);

Drawing batch_paths_picture();
Drawing rank_arrows_picture();
Drawing transformer_picture();
Drawing memory_picture();
Drawing loop_and_loaders_picture();
Drawing worker_rates_picture();
Drawing batch_path_picture();
Drawing type_ranges_picture();
Drawing roofline_picture();
Drawing passes_picture();
Drawing operators_picture();
Drawing replicas_picture();
Drawing buckets_picture();
Drawing bucket_sizes_picture();
Drawing bucket_study_picture();
Drawing split_layers_picture();
Drawing host_and_device_picture();
Drawing ring_moves_picture();

struct LessonPicture {
  std::string lesson;  ///< "02_workers"
  std::string name;    ///< of its file, "idea"
  Drawing drawing;
};

/// In the order of the lessons; of each lesson `idea` first.
const std::vector<LessonPicture>& all_lesson_pictures();

/// Null where there is none of this name.
const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name);

}  // namespace isobar
