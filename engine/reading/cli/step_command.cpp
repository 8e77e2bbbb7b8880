// What a lesson lets a learner step through in the window, at a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/ask_question.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "core/number_text.h"
#include "draw/text_canvas.h"
#include "log/run_reader.h"
#include "plot/scene.h"
#include "record/run_tree.h"

namespace isobar {
namespace {

constexpr const char* kStep = "./isobar step";
constexpr std::size_t kMomentsUnasked = 7;
constexpr float kSceneRows = 17;

const SceneKind& scene_kind_of(const LessonInfo& lesson) {
  if (const SceneKind* const kind = scene_of(lesson)) return *kind;
  std::vector<std::string> names;
  for (const std::string& name : lesson_names(project_home())) {
    if (scene_of(read_lesson(project_home(), name)) != nullptr) names.push_back(name);
  }
  throw Error("lesson " + lesson.name + " has nothing to step through", kStep,
              "these have: " + joined(names));
}

SceneRun scene_run(const std::string& name) {
  if (name.empty()) return {};
  const std::filesystem::path folder = find_run(name, "runs");
  const std::string id = folder.filename().string();
  return {.id = id, .folder = folder, .title = id, .lesson = glance(folder).lesson};
}

/// A scene with the settings that its controls changed.
class SteppedScene {
 public:
  SteppedScene(const LessonInfo& lesson, const SceneRun& run)
      : scene_(scene_kind_of(lesson).make()), input_{.home = project_home(), .lesson = lesson, .run = run} {
    take();
  }

  std::size_t last() const { return scene_->last(); }
  std::size_t at() const { return at_; }
  void go_to(std::size_t step) {
    at_ = std::min(step, last());
    take();
  }
  void print();
  void print_controls() const;
  /// "name=place", both in words or by number. Error (exit code 2) for a control or a place that is none.
  void turn(const std::string& typed);

 private:
  void take() {
    if (scene_->take(input_, at_)) at_ = 0;
    at_ = std::min(at_, last());
  }

  std::unique_ptr<Scene> scene_;
  SceneInput input_;
  std::size_t at_ = 0;
};

std::vector<SceneControl> turned_controls(const Scene& scene) {
  std::vector<SceneControl> out = scene.controls();
  std::erase_if(out, [](const SceneControl& one) { return one.places.empty(); });
  return out;
}

/// "run.ranks" of "knob run.ranks".
std::string short_name(const SceneControl& control) {
  return control.name.substr(control.name.find_first_of(' ') + 1);
}

void SteppedScene::print() {
  Report out;
  out.line("");
  if (const std::string problem = scene_->problem(); !problem.empty()) {
    out.wrapped("", problem + (scene_->hint().empty() ? "." : "; " + scene_->hint() + "."));
    return out.print(/*as_json=*/false);
  }
  out.line(fmt::format("step {} of {}", at_, last()));
  const TextStyle style = terminal_style();
  if (style.glyphs != TextStyle::Glyphs::words) {
    const Drawing moment = {"", "", "", [this](Sketch& sketch, PlotPoint at, float width) {
                              const Box box = {at.x, at.y, width, kSceneRows * TextCanvas::kCellHigh};
                              return scene_->paint(sketch, at_, box);
                            }};
    out.drawn(drawing_lines(moment, style));
  }
  for (const std::string& line : scene_->lines(at_)) out.line(line);
  out.print(/*as_json=*/false);
}

void SteppedScene::print_controls() const {
  Report out;
  std::size_t number = 0;
  for (const SceneControl& control : turned_controls(*scene_))
    out.wrapped(fmt::format("{:>2}  {} = {}: ", ++number, short_name(control), control.places.at(control.at)),
                joined(control.places));
  out.wrapped("", "Enter or n: the next step, b: back, a number: that step, NAME=PLACE: a control, q: quit.");
  out.print(/*as_json=*/false);
}

void SteppedScene::turn(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  const std::string name(trimmed(typed.substr(0, equals))), place(trimmed(typed.substr(equals + 1)));
  const std::vector<SceneControl> controls = turned_controls(*scene_);
  const auto by_number = [](const std::string& word, std::size_t count) {
    const std::size_t number = number_of<std::size_t>(word).value_or(0);
    return number >= 1 && number <= count ? number - 1 : count;
  };
  const auto is_named = [&](const SceneControl& one) {
    return one.name == name || one.name.ends_with(" " + name) || one.name.ends_with("." + name);
  };
  auto at = static_cast<std::size_t>(std::ranges::find_if(controls, is_named) - controls.begin());
  if (at == controls.size()) at = by_number(name, controls.size());
  std::vector<std::string> names;
  for (const SceneControl& one : controls) names.push_back(short_name(one));
  if (at == controls.size()) throw Error("no control is called " + printable(name), kStep, joined(names));
  const std::vector<std::string>& places = controls[at].places;
  const auto is_place = [&](const std::string& one) {
    return lowered(one) == lowered(place) || lowered(one).starts_with(lowered(place) + " ");
  };
  auto chosen = static_cast<std::size_t>(std::ranges::find_if(places, is_place) - places.begin());
  if (chosen == places.size()) chosen = by_number(place, places.size());
  if (chosen == places.size())
    throw Error(names[at] + " has no place " + printable(place), kStep, joined(places));
  const Scene::Asked asked = scene_->turn(controls[at].name, chosen);
  for (const auto& [key, value] : asked.settings) {
    std::erase_if(input_.sets,
                  [&, wanted = key](const std::string& set) { return set.starts_with(wanted + "="); });
    input_.sets.push_back(key + "=" + value);
  }
  at_ = asked.shown.value_or(at_);
  take();
}

/// False: the learner leaves.
bool take_word(SteppedScene& scene, const std::string& word) {
  if (word == "q" || word == "quit") return false;
  if (word == "?") {
    scene.print_controls();
    return true;
  }
  if (word.find('=') != std::string::npos) {
    scene.turn(word);
  } else if (word.empty() || word == "n" || word == "next") {
    scene.go_to(scene.at() + 1);
  } else if (word == "b" || word == "back") {
    scene.go_to(scene.at() == 0 ? 0 : scene.at() - 1);
  } else if (const auto step = number_of<std::size_t>(word); step && *step <= scene.last()) {
    scene.go_to(*step);
  } else {
    throw Error(fmt::format("the steps are 0 to {}", scene.last()), printable(word), "? lists what there is");
  }
  scene.print();
  return true;
}

void step_with_learner(SteppedScene& scene) {
  scene.print();
  for (;;) {
    const std::optional<std::string> typed =
        typed_line("  (Enter = next, b = back, number, NAME=PLACE, ? = controls, q = quit): ");
    if (!typed) return;
    try {
      if (!take_word(scene, *typed)) return;
    } catch (const Error& error) {
      if (error.code() != Exit::bad_input) throw;
      say_error("", error);
    }
  }
}

}  // namespace

int step_command(const Words& words) {
  std::string name, run;
  std::int64_t steps = 0;
  std::vector<std::string> turned;
  OptionParser app("What a lesson lets you step through: each moment as a picture", kStep);
  app.add("LESSON", name, "its number or name, such as 09");
  app.add("CONTROL=PLACE", turned, "controls that are turned first, such as ranks=8");
  app.add("--run", run, "a run to step through, such as last");
  const OptionParser::Option given =
      app.add("--steps", steps, "prints so many steps without asking").at_least(0);
  if (!app.parse(words, {.where = kStep, .example = "09"})) return 0;
  SteppedScene scene(named_lesson(name, "./isobar step LESSON"), scene_run(run));
  for (const std::string& one : turned) scene.turn(one);
  if (!given.given() && can_ask()) {
    step_with_learner(scene);
    return 0;
  }
  const std::size_t count = given.given() ? static_cast<std::size_t>(steps) : kMomentsUnasked - 1;
  for (std::size_t step = 0; step <= std::min(count, scene.last()); ++step) {
    scene.go_to(step);
    scene.print();
  }
  return 0;
}

}  // namespace isobar
