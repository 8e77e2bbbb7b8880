#include "items_file.h"

#include "core/files.h"
#include "core/json.h"

namespace isobar {

void write_items(const Ui& ui, std::int64_t shown, const std::filesystem::path& file) {
  Json out;
  out[""] = shown;
  for (const UiItem& item : ui.items()) {
    Json& places = out[item.name] = Json::array();
    for (const float at : {item.box.x0, item.box.y0, item.box.x1, item.box.y1}) places.push_back(at);
    places.push_back(item.words);
  }
  write_file_whole(file, out.text());
}

}  // namespace isobar
