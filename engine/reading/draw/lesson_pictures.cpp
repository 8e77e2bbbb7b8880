
#include "core/find.h"
#include "draw/pictures/pictures.h"

namespace isobar {

const std::vector<LessonPicture>& all_lesson_pictures() {
  static const std::vector<LessonPicture> pictures = {
      {"00_sgd", "idea", batch_paths_picture()},
      {"00_sgd", "ranks", rank_arrows_picture()},
      {"01_baseline", "idea", transformer_picture()},
      {"01_baseline", "memory", memory_picture()},
      {"02_workers", "idea", loop_and_loaders_picture()},
      {"02_workers", "workers", worker_rates_picture()},
      {"03_gpu_loader", "idea", batch_path_picture()},
      {"04_amp", "idea", type_ranges_picture()},
      {"04_amp", "roofline", roofline_picture()},
      {"05_fusion", "idea", passes_picture()},
      {"05_fusion", "roofline", operators_picture()},
      {"06_ddp", "idea", replicas_picture()},
      {"06_ddp", "buckets", buckets_picture()},
      {"07_tensor_parallel", "idea", split_layers_picture()},
      {"08_cuda_graphs", "idea", host_and_device_picture()},
      {"09_all_reduce", "idea", ring_moves_picture()},
      {"10_buckets", "idea", bucket_sizes_picture()},
      {"10_buckets", "study", bucket_study_picture()},
  };
  return pictures;
}

const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name) {
  return find_where(all_lesson_pictures(), [&](const LessonPicture& picture) {
    return picture.lesson == lesson && picture.name == name;
  });
}

}  // namespace isobar
