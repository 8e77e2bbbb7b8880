#include "bench/case_sheet.h"

#include "config/load.h"
#include "core/files.h"

namespace isobar {

nlohmann::ordered_json case_sheet(const std::string& preset, const std::string& device, int threads) {
  const std::filesystem::path home = project_home();
  const std::string kind = device == "cpu" ? "cpu" : "cuda";
  const Config config = load_config(home, read_lesson(home, "01_baseline"), {.preset = preset}, kind).config;
  return {{"name", preset},
          {"height", config.data.grid[0]},
          {"width", config.data.grid[1]},
          {"channels", config.data.channels},
          {"patch", config.model.patch},
          {"embed", config.model.embed},
          {"depth", config.model.depth},
          {"heads", config.model.heads},
          {"batch", config.train.global_batch},
          {"batches", 4},
          {"lr", config.optim.lr},
          {"beta1", config.optim.beta1},
          {"beta2", config.optim.beta2},
          {"eps", config.optim.eps},
          {"threads", threads},
          {"device", device},
          {"tf32", kind == "cuda"}};
}

}  // namespace isobar
