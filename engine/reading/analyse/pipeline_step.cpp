#include "analyse/pipeline_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace isobar {
namespace {

bool is_forward(const PipelineAction& action) { return action.work == PipelineWork::forward; }

/// What brings micro-batches: by stage, part and direction.
using Bringers = std::map<std::tuple<int, int, bool>, std::size_t>;
Bringers bringers_of(const std::vector<PlacedAction>& all) {
  Bringers out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PipelineAction& action = all[i].action;
    if (action.work != PipelineWork::weight)
      out.try_emplace({action.stage, action.part, is_forward(action)}, i);
  }
  return out;
}

PipelineWait wait_of(const std::vector<PlacedAction>& all, const Bringers& bringers, std::size_t action) {
  const PlacedAction& here = all.at(action);
  PipelineWait out;
  const bool is_first = action == 0 || all[action - 1].rank != here.rank;
  const double free_us = is_first ? 0 : all[action - 1].end_us;
  out.idle_us = std::max(0.0, here.begin_us - free_us);
  if (here.action.work == PipelineWork::weight) return out;
  const bool forward = is_forward(here.action);
  const auto found = bringers.find({here.action.stage + (forward ? -1 : 1), here.action.part, forward});
  if (found == bringers.end() || all[found->second].rank == here.rank) return out;
  out.on = found->second;
  const double sent_us = std::clamp(all[*out.on].end_us, free_us, std::max(free_us, here.begin_us));
  out.late_us = sent_us - free_us;
  out.message_us = out.idle_us - out.late_us;
  return out;
}

double in_unit(const PipelineStep& step, double us) { return us / step.unit_us; }

std::string unit_of(const PipelineStep& step) { return step.unit_us == 1e3 ? " ms" : ""; }

}  // namespace

int PipelineStep::parts() const {
  int out = 0;
  for (const PlacedAction& placed : course.actions) out = std::max(out, placed.action.part + 1);
  return out;
}

double PipelineStep::idle_of(int rank) const {
  const double busy_us = course.busy_us.at(static_cast<std::size_t>(rank));
  return course.step_us > 0 ? std::clamp(1 - busy_us / course.step_us, 0.0, 1.0) : 0;
}

std::vector<int> PipelineStep::row_of_stages() const {
  std::vector<int> out(static_cast<std::size_t>(std::max(1, stages)), -1);
  for (const PlacedAction& placed : course.actions)
    out.at(static_cast<std::size_t>(placed.action.stage)) = placed.rank;
  return out;
}

std::vector<int> PipelineStep::places_in_rank() const {
  const std::vector<int> rows = row_of_stages();
  std::vector<int> out;
  for (auto stage = rows.begin(); stage != rows.end(); ++stage)
    out.push_back(static_cast<int>(std::count(rows.begin(), stage, *stage)));
  return out;
}

std::string PipelineStep::keeps_of(int row) const {
  const auto place = static_cast<std::size_t>(row);
  const auto own = std::ranges::count(row_of_stages(), row);
  if (place >= course.peak_kept.size() || own < 1) return "";
  return fmt::format("{:.3g}", course.peak_kept[place] / static_cast<double>(own));
}

PipelineWait wait_before(const PipelineStep& step, std::size_t action) {
  return wait_of(step.course.actions, bringers_of(step.course.actions), action);
}

PipelineIdle idle_parts(const PipelineStep& step) {
  PipelineIdle out;
  if (!step.is_there()) return out;
  const std::vector<PlacedAction>& all = step.course.actions;
  const Bringers bringers = bringers_of(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PipelineWait wait = wait_of(all, bringers, i);
    out.late += wait.late_us;
    out.message += wait.message_us;
    if (!wait.on) out.between += wait.idle_us;
    if (i + 1 == all.size() || all[i + 1].rank != all[i].rank)
      out.behind += std::max(0.0, step.course.step_us - all[i].end_us);
  }
  const double whole_us = step.course.step_us * step.ranks();
  out.late /= whole_us;
  out.message /= whole_us;
  out.between /= whole_us;
  out.behind /= whole_us;
  return out;
}

std::optional<BubbleFormula> bubble_formula(const PipelineStep& step) {
  if (!step.form || !step.is_whole) return std::nullopt;
  const bool has_one = *step.form == PipelineForm::gpipe || *step.form == PipelineForm::one_f_one_b ||
                       *step.form == PipelineForm::interleaved;
  if (!has_one || step.ranks() < 1 || step.parts() < 1) return std::nullopt;
  const int chunks = step.stages_a_rank();
  return BubbleFormula{bubble_of_step(step.ranks(), step.parts(), chunks),
                       bubble_of_ideal(step.ranks(), step.parts(), chunks)};
}

PipelineCosts mean_costs(const std::vector<PipelineStep>& steps) {
  int stages = 0;
  for (const PipelineStep& step : steps) stages = std::max(stages, step.stages);
  PipelineCosts out = PipelineCosts::equal(stages, 0, 0, 0);
  std::vector<int> parts(static_cast<std::size_t>(stages));
  for (const PipelineStep& step : steps) {
    for (const PlacedAction& placed : step.course.actions) {
      const auto stage = static_cast<std::size_t>(placed.action.stage);
      const double us = placed.end_us - placed.begin_us;
      const PipelineWork work = placed.action.work;
      if (work == PipelineWork::forward) ++parts.at(stage);
      if (work == PipelineWork::forward) out.forward_us.at(stage) += us;
      if (work == PipelineWork::backward || work == PipelineWork::input)
        out.input_us.at(stage) += work == PipelineWork::input ? us : us / 2;
      if (work == PipelineWork::backward || work == PipelineWork::weight)
        out.weight_us.at(stage) += work == PipelineWork::weight ? us : us / 2;
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::vector<double>* const of : {&out.forward_us, &out.input_us, &out.weight_us})
      of->at(i) /= std::max(1, parts[i]);
  return out;
}

SlowestStage slowest_stage(const PipelineCosts& costs) {
  SlowestStage out;
  double sum_us = 0;
  for (std::size_t i = 0; i < costs.forward_us.size(); ++i) {
    const double part_us = costs.forward_us[i] + costs.input_us[i] + costs.weight_us[i];
    sum_us += part_us;
    if (part_us <= out.part_us) continue;
    out.stage = static_cast<int>(i);
    out.part_us = part_us;
  }
  const auto others = static_cast<double>(costs.forward_us.size()) - 1;
  if (others > 0) out.others_us = (sum_us - out.part_us) / others;
  return out;
}

std::string idle_words(const PipelineStep& step) {
  const std::optional<BubbleFormula> formula = bubble_formula(step);
  const auto beside = [&](double BubbleFormula::*share) {
    return formula ? fmt::format(" (by formula {:.1f} %)", 100 * ((*formula).*share)) : std::string();
  };
  return fmt::format("idle {:.1f} % of the step{}, {:.1f} % beside the ideal step{}",
                     100 * step.course.idle_share(), beside(&BubbleFormula::of_step),
                     100 * step.course.idle_of_ideal(), beside(&BubbleFormula::of_ideal));
}

std::string work_words(const PipelineAction& action) {
  static constexpr char kLetters[] = {'F', 'B', 'I', 'W'};
  return fmt::format("{}{}", kLetters[static_cast<std::size_t>(action.work)], action.part);
}

std::string action_words(const PipelineStep& step, std::size_t action) {
  const std::vector<PlacedAction>& all = step.course.actions;
  const PlacedAction& here = all.at(action);
  const std::string unit = unit_of(step);
  std::string out =
      fmt::format("rank {}, {} of stage {}: {:.2f} to {:.2f}{} ({:.2f}{})", step.name_of_row(here.rank),
                  work_words(here.action), here.action.stage, in_unit(step, here.begin_us),
                  in_unit(step, here.end_us), unit, in_unit(step, here.end_us - here.begin_us), unit);
  const PipelineWait wait = wait_before(step, action);
  if (!(in_unit(step, wait.idle_us) >= 0.005)) return out;
  out += fmt::format("; idle before it {:.2f}{}", in_unit(step, wait.idle_us), unit);
  if (!wait.on) return out;
  const PlacedAction& on = all[*wait.on];
  out += fmt::format(": waited {:.2f}{} for {} of stage {} on rank {}, {:.2f}{} for its message",
                     in_unit(step, wait.late_us), unit, work_words(on.action), on.action.stage,
                     step.name_of_row(on.rank), in_unit(step, wait.message_us), unit);
  return out;
}

}  // namespace isobar
