#pragma once
// What a lesson adds to the programs that read runs: the pictures that carry its ideas, and the one that is
// drawn from a run of it. They lie in lessons/NN_name/view.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/steady.h"
#include "draw/sketch.h"
#include "formula/vit_counts.h"
#include "log/run_reader.h"

namespace isobar {

/// The presets that pictures are of.
inline constexpr VitShape kTinyShape = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};
inline constexpr std::int64_t kTinyBatch = 4;
inline constexpr VitShape kBaseShape = {};
inline constexpr std::int64_t kBaseBatch = 16;

/// lessons/make_pictures.sh writes it into lessons/NN_name/pictures/NAME.svg; the window draws it itself.
struct LessonPicture {
  std::string name;  ///< of its file, "idea"
  Drawing drawing;
  std::string lesson = {};  ///< filled in
};

struct OwnPicture {
  Drawing drawing;           ///< without a body where there is nothing to draw
  std::string nothing = {};  ///< why there is nothing to draw; "" = there is
  std::string hint = {};     ///< what to do then
};

/// What an own picture is drawn from.
struct OwnRun {
  std::filesystem::path folder;
  std::shared_ptr<RunReader> reader;
  SteadyFigures steady;
  std::string note;  ///< where the values are from

  const RunView& view() const { return reader->view(); }
};

/// A curve of its steps that Watch shows beside those of every run.
struct LessonPlot {
  const char* curve;  ///< "train/busbw_gb_per_s"
  const char* title;
};

/// A run beside others in one picture.
struct ShownRun {
  std::string label;
  const RunCase* run = nullptr;
};

/// "train.global_batch=100", ...: what sets a choice apart.
using PanelSettings = std::vector<std::string>;

struct LessonView {
  std::string_view lesson;  ///< "NN_name"
  std::vector<LessonPicture> (*pictures)();
  OwnPicture (*own)(const OwnRun& run);
  std::vector<LessonPlot> plots = {};
  /// Runs of the lesson in one picture, as a question of this rule compares them; without a body where it has
  /// none. Throws what reading them throws.
  Drawing (*together)(std::string_view rule, const std::vector<ShownRun>& runs) = nullptr;
  /// See choice_panels.
  std::vector<Drawing> (*panels)(const std::vector<PanelSettings>& choices) = nullptr;
};

/// Adds a lesson before main() begins, to programs that link isobar::views.
struct AddLessonView {
  explicit AddLessonView(const LessonView& view);
};

/// In the order of the lessons; of each lesson `idea` first.
const std::vector<LessonPicture>& all_lesson_pictures();

/// Empty for a lesson that has none.
std::vector<LessonPlot> plots_of(std::string_view lesson);

/// Null where there is none of this name.
const LessonPicture* find_lesson_picture(std::string_view lesson, std::string_view name);

/// The picture of a lesson's idea, drawn from a run of that lesson. Error (exit code 2) when the folder holds
/// no run. Reads the run's files: call it when they have changed, not for every frame.
OwnPicture own_picture(const std::filesystem::path& run);

/// What the lesson of the first of these runs draws of them together; without a body where it has nothing.
Drawing drawn_together(std::string_view rule, const std::vector<ShownRun>& runs);

/// A small picture for each choice, in this order, that does not name its settings: a question asks which is
/// which. They are worked out here, without a run, and share their axes. Empty for a lesson that has none.
/// Error (exit code 2) for settings that the lesson refuses.
std::vector<Drawing> choice_panels(std::string_view lesson, const std::vector<PanelSettings>& choices);

/// The panels in one drawing, each below its letter; nothing where there are none.
std::optional<Drawing> lettered_panels(std::string_view lesson, const std::vector<PanelSettings>& choices);

/// A picture without a body.
OwnPicture nothing_to_draw(const std::string& why, const std::string& hint);

// Pictures of a run that several lessons have.
/// Loop, device and what ran beside them: the threads that read, or the buckets of gradients.
OwnPicture own_loaders(const OwnRun& run);
OwnPicture own_buckets(const OwnRun& run);
OwnPicture own_host_and_device(const OwnRun& run);
/// Operators under the roofs of the run's device.
OwnPicture own_roofline(const OwnRun& run);

}  // namespace isobar
