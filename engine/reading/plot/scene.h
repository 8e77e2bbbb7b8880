#pragma once
// What a lesson lets a learner go through step by step: a picture a step, controls, and places that a mouse
// takes hold of. The window draws one as it draws any other; lessons/NN_name/view has them.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/lesson.h"
#include "draw/sketch.h"
#include "plot/plot.h"

namespace isobar {

/// The run that is looked at.
struct SceneRun {
  std::string id = {};  ///< "" = none
  std::filesystem::path folder = {};
  std::string title = {};
  std::string lesson = {};
  bool goes_on = false;

  bool operator==(const SceneRun&) const = default;
};

/// What a scene is made of.
struct SceneInput {
  std::filesystem::path home;
  LessonInfo lesson;
  std::vector<std::string> sets = {};  ///< settings of the next run
  SceneRun run = {};
  double now_s = 0;
};

/// A control beside the picture. `turn` gets its name and the place that was chosen.
struct SceneControl {
  enum class Kind {
    knob,     ///< places in order
    choices,  ///< in a row
    list,     ///< that folds out
    note,
    warning
  };
  Kind kind = Kind::note;
  std::string name = {};
  std::string title = {};  ///< the words of a note or warning
  std::string tip = {};
  std::vector<std::string> places = {};  ///< in words
  std::size_t at = 0;
};

/// A place in the picture that a mouse takes hold of: `hold` gets its name and where the mouse is.
struct SceneGrip {
  std::string name;
  Box box;                        ///< within which it is moved
  std::optional<Box> begin = {};  ///< where it is taken hold of; anywhere in the box without one
  std::string tip = {};
};

struct ScenePlot {
  PlotSpec spec;
  bool log_y = false;
};

class Scene {
 public:
  Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  virtual ~Scene() = default;

  /// Called before every frame, and cheap where nothing changed. True where the steps begin again.
  virtual bool take(const SceneInput& input, std::size_t shown) = 0;
  /// Why there is nothing to step through and what to do then; "" = there is something.
  virtual std::string problem() const = 0;
  virtual std::string hint() const { return ""; }
  virtual std::size_t last() const = 0;  ///< steps
  virtual double step_every_s() const = 0;
  /// Whether it shows what the settings of the next run do, so that such a run can be begun.
  virtual bool is_of_next_run() const { return false; }

  /// Settings of the next run that a control or a grip changes, and the step that it goes to.
  struct Asked {
    std::vector<std::pair<std::string, std::string>> settings = {};
    std::optional<std::size_t> shown = {};
  };
  virtual std::vector<SceneControl> controls() const = 0;
  virtual Asked turn(std::string_view name, std::size_t place) = 0;
  virtual Asked hold(std::string_view, PlotPoint) { return {}; }

  /// The moment behind `done` steps, over a box of which the height is a wish. Gives the y where it ends.
  virtual float paint(Sketch& sketch, std::size_t done, const Box& box) = 0;
  /// Of the picture that was painted last.
  virtual std::vector<SceneGrip> grips() const { return {}; }
  /// Numbers below the picture.
  virtual std::vector<std::string> lines(std::size_t) const { return {}; }
  /// Smaller pictures, above and below the controls; without a body there is none.
  virtual Drawing above(std::size_t) const { return {}; }
  virtual Drawing below() const { return {}; }
  virtual std::optional<ScenePlot> plot(std::size_t, const Theme&) const { return std::nullopt; }
};

/// Which lessons have a scene, and what the window calls it.
struct SceneKind {
  const char* title;  ///< "Messages"
  bool (*suits)(const LessonInfo& lesson);
  std::unique_ptr<Scene> (*make)();
};

/// Adds one before main() begins, to programs that link isobar::views.
struct AddScene {
  explicit AddScene(const SceneKind& kind);
};

/// Null for a lesson that has none.
const SceneKind* scene_of(const LessonInfo& lesson);
/// One by its title, in any case.
const SceneKind* scene_named(std::string_view title);

}  // namespace isobar
