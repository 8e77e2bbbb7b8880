#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "panels/parts.h"
#include "plot/pipeline_picture.h"

namespace isobar {
namespace {

constexpr float kPipelineKnobs = 250;
constexpr int kMostPlayed = 4096;  ///< micro-batches of all stages
constexpr std::array<double, 4> kMessages = {0, 0.05, 0.1, 0.25};

int whole_in(const FormState& form, const char* key) { return number_of<int>(form.text(key)).value_or(1); }

/// A schedule has the stages a rank that it takes, and a mesh as many ranks as its product.
void follow_turned(FormState& form, const std::string& turned) {
  const std::string schedule = form.text("mesh.schedule");
  const bool has_many = schedule == "interleaved" || schedule == "zb_v";
  if (turned == "mesh.schedule" && (whole_in(form, "mesh.chunks") > 1) != has_many)
    form.set("mesh.chunks", has_many ? "2" : "1");
  if (turned == "mesh.pp") form.set("run.ranks", form.text("mesh.pp"));
}

/// What the form has of a pipeline.
struct PlayedShape {
  PipelineForm form = PipelineForm::one_f_one_b;
  int ranks = 1, chunks = 1, parts = 1;
};

PlayedShape played_shape(const FormState& form) {
  const auto named = choice_named<PipelineForm>(form.text("mesh.schedule"));
  return {named.value_or(PipelineForm::one_f_one_b), whole_in(form, "mesh.pp"), whole_in(form, "mesh.chunks"),
          whole_in(form, "train.accumulate")};
}

/// F, I and W of all of a rank's blocks take 1 each. Error (exit code 2) where the numbers do not suit.
PipelineStep played_step(const PlayedShape& shape, double message) {
  const auto [kind, ranks, chunks, parts] = shape;
  if (ranks < 1 || chunks < 1 || parts < 1 || kMostPlayed / ranks / chunks < parts)
    throw Error("too much to draw", "mesh.pp x mesh.chunks x train.accumulate",
                fmt::format("{} at most", kMostPlayed));
  const PipelineSchedule schedule = make_schedule(kind, ranks, chunks, parts);
  const double each = 1.0 / chunks;
  PipelineStep out;
  out.course = course_of(schedule, PipelineCosts::equal(schedule.stages, each, each, each, message));
  out.stages = schedule.stages;
  out.form = kind;
  out.unit_us = 1;
  out.axis = "forward passes of a rank";
  return out;
}

/// Works the step out again where the numbers are others.
void make_played_again(PipelinePlay& mine, const FormState& form) {
  const PlayedShape shape = played_shape(form);
  const std::string from = fmt::format("{} {} {} {} {}", name_of(shape.form), shape.ranks, shape.chunks,
                                       shape.parts, mine.message);
  if (mine.made_from == from) return;
  mine.made_from = from;
  mine.problem.clear();
  try {
    mine.made = played_step(shape, mine.message);
    mine.drawing = pipeline_drawing(
        mine.made, "A step of this pipeline",
        "on a clock of events: equal stages, F, I and W of a rank's blocks take 1 each, B is I and W");
  } catch (const Error& error) {
    mine.problem = fmt::format("Nothing is drawn for these settings: {}; {}", error.what(), error.hint());
  }
}

}  // namespace

void draw_pipeline_play(Ui& ui, AppState& state, const LessonCard& card, Requests& ask) {
  PipelinePlay& mine = state.play.pipeline;
  FormState& form = state.form();
  ui.label("a message takes", 2);
  for (const double message : kMessages) {
    if (ui.choice(fmt::format("{:g} %", 100 * message), mine.message == message)) mine.message = message;
    ImGui::SameLine(0, ui.px(2));
  }
  ui.label("of a forward pass", 2);
  if (ui.button("Back to the preset", ButtonKind::quiet, !form.changed.empty(), "reset knobs"))
    reset_form(form, ask);
  std::map<std::string, std::string> values = form.changed;
  values.insert(form.values.begin(), form.values.end());
  const float knobs = std::min(ui.px(kPipelineKnobs), ImGui::GetContentRegionAvail().x * 0.4F);
  ImGui::BeginChild("pipeline knobs", {knobs, 0}, true, ImGuiWindowFlags_AlwaysUseWindowPadding);
  follow_turned(form, draw_form_knobs(ui, form, pipeline_knobs_of(card.info, values)));
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(12));
  ImGui::BeginChild("pipeline answer", {0, 0});
  make_played_again(mine, form);
  const auto csv = [&] { return pipeline_csv(mine.made); };
  if (mine.problem.empty())
    show_drawing(ui, "predicted-pipeline", mine.drawing, csv, ask);
  else
    ui.wrapped(mine.problem, Face::bold, ui.theme().warn);
  ImGui::EndChild();
}

}  // namespace isobar
