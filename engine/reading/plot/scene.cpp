#include "plot/scene.h"

#include "core/find.h"
#include "core/text.h"

namespace isobar {
namespace {

std::vector<SceneKind>& scene_kinds() {
  static std::vector<SceneKind> out;
  return out;
}

}  // namespace

AddScene::AddScene(const SceneKind& kind) { scene_kinds().push_back(kind); }

const SceneKind* scene_of(const LessonInfo& lesson) {
  return find_where(scene_kinds(), [&](const SceneKind& kind) { return kind.suits(lesson); });
}

const SceneKind* scene_named(std::string_view title) {
  return find_where(scene_kinds(),
                    [&](const SceneKind& kind) { return lowered(kind.title) == lowered(title); });
}

}  // namespace isobar
