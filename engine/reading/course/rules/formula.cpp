// What follows from shapes and rates alone: no run is needed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/find.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "formula/device_rates.h"
#include "formula/link.h"
#include "formula/memory_plan.h"
#include "formula/stage_prediction.h"
#include "formula/step_time.h"
#include "launch/mesh.h"

namespace isobar {
namespace {

MemoryPlan plan_of(const RuleInput& input) {
  const LessonSettings settings = settings_in(input);
  return plan_memory(settings.lesson, settings.config,
                     memory_facts(settings.config, input.argument("device") != "cpu"));
}

using Figures = std::map<std::string, std::string>;

double gpus_for_mesh(const RuleInput& input, Figures& figures) {
  const double replicas = input.argument("global").empty()
                              ? number_argument(input, "dp")
                              : number_argument(input, "global") / number_argument(input, "local");
  figures["dp"] = figure_text(replicas);
  return number_argument(input, "tp") * replicas;
}

double compile_pays(const RuleInput& input, Figures&) {
  return number_argument(input, "compile_s") / number_argument(input, "saved_s") *
         number_argument(input, "every");
}

double peak_bytes_of(const RuleInput& input, Figures& figures) {
  const MemoryPlan plan = plan_of(input);
  for (const auto& [name, bytes] : plan.categories()) {
    figures[name + "_gib"] = gib_text(static_cast<double>(bytes));
    figures[name + "_gb"] = figure_text(static_cast<double>(bytes) * 1e-9);
  }
  return static_cast<double>(plan.total());
}

double upload_us(const RuleInput& input, Figures& figures) {
  const double bytes = read_bytes_a_step(settings_in(input).config);
  figures["batch_mb"] = figure_text(bytes * 1e-6);
  return bytes / (number_argument(input, "gb_per_s") * 1e3);
}

/// An input and a target, each a float32 for every value of the grid.
double data_rate(const RuleInput& input, Figures& figures) {
  const Config config = settings_in(input).config;
  const double bytes = 2.0 * sizeof(float) *
                       static_cast<double>(config.data.channels * config.data.grid[0] * config.data.grid[1]);
  figures["sample_mb"] = figure_text(bytes * 1e-6);
  return number_argument(input, "samples_per_s") * bytes;
}

/// The longer of computing and moving: the roofline.
double roofline_us(const RuleInput& input, Figures& figures) {
  const double computing_us = number_argument(input, "gflop") / number_argument(input, "tflop_per_s") * 1e3;
  const double moving_us = number_argument(input, "mb") / number_argument(input, "gb_per_s") * 1e3;
  figures["computing_us"] = figure_text(computing_us);
  figures["moving_us"] = figure_text(moving_us);
  return std::max(computing_us, moving_us);
}

/// The most samples a step, of 1, 2, 4, ..., at which a graph saves so many per cent of the step; 0 = none.
double graph_pays(const RuleInput& input, Figures& figures) {
  constexpr std::int64_t kMostSamples = 1024;
  const LessonSettings settings = settings_in(input);
  const DeviceRates& device = rates_of(input.argument("device"));
  StepForm form = step_form(settings.lesson, settings.config, /*on_cuda=*/true);
  form.graph = false;
  double most = 0;
  for (form.batch = 1; form.batch <= kMostSamples; form.batch *= 2) {
    const StepTime step = predict_step(form, device);
    if (100 * step.graph_gain_us() < number_argument(input, "percent") * step.step_us()) break;
    most = static_cast<double>(form.batch);
    figures["gain_percent"] = percent_text(step.graph_gain_us() / step.step_us());
  }
  return most;
}

/// Ranks of an all-reduce.
int asked_ranks(const RuleInput& input) {
  const double ranks = number_argument(input, "ranks");
  if (ranks < 2 || ranks > 1e6 || ranks != std::floor(ranks))
    wrong_question(input, fmt::format("{:g} ranks send each other nothing", ranks), "2 or more");
  return static_cast<int>(ranks);
}

double asked_bytes(const RuleInput& input) { return number_argument(input, "mb") * 1e6; }

double messages_in_ring(const RuleInput& input, Figures&) {
  return static_cast<double>(ring_messages(asked_ranks(input)));
}

double bytes_in_ring(const RuleInput& input, Figures& figures) {
  const int ranks = asked_ranks(input);
  figures["messages"] = std::to_string(ring_messages(ranks));
  figures["chunk_mb"] = figure_text(asked_bytes(input) / ranks * 1e-6);
  return ring_bytes(ranks, asked_bytes(input));
}

/// Bytes of the root of a naive all-reduce: received, and sent.
double bytes_of_root(const RuleInput& input, Figures& figures) {
  const double one_way = (asked_ranks(input) - 1) * asked_bytes(input);
  figures["one_way_mb"] = figure_text(one_way * 1e-6);
  return 2 * one_way;
}

/// The ranks that one works with along an axis, or several that are joined, or in a read group: "1,5".
Truth mesh_group_truth(const RuleInput& input) {
  const auto whole = [&](const char* name) { return static_cast<int>(number_argument(input, name)); };
  const auto size = [&](const char* name) { return static_cast<int>(number_argument(input, name, 1)); };
  const int ranks = whole("ranks"), rank = whole("rank");
  MeshSizes sizes{.tp = whole("tp"), .cp = size("cp"), .pp = size("pp"), .ens = size("ens")};
  const int model = std::min({sizes.tp, sizes.cp, sizes.pp}) < 1 ? 0 : sizes.tp * sizes.cp * sizes.pp;
  if (model < 1 || ranks % model != 0 || rank < 0 || rank >= ranks)
    wrong_question(input, fmt::format("rank {} of {} with models of {} ranks is none", rank, ranks, model),
                   "tp x cp x pp divides ranks");
  sizes.dp = ranks / model;
  const Mesh mesh(input.argument("order", "tp-cp-pp-dp"), sizes, ranks);
  const std::string axis = input.argument("axis");
  std::vector<int> group;
  if (axis == "read") {
    for (const std::vector<int>& one : mesh.runs("tp-cp-pp", size("read")))
      if (holds(one, rank)) group = one;
  } else {
    group = mesh.group_of(rank, axis);
  }
  Truth out;
  out.accepted = {joined(group, ",")};
  out.figures = {{"value", joined(group)}};
  out.text = "ranks " + out.figures["value"];
  out.source = "by formula";
  return out;
}

struct Formula {
  const char* name;
  Quantity quantity;
  std::vector<const char*> needs;
  double (*value)(const RuleInput&, Figures&);
};

const std::vector<Formula>& formulas() {
  static const std::vector<Formula> all = {
      {"gpus_for_mesh", Quantity::count, {"tp"}, gpus_for_mesh},
      {"compile_pays", Quantity::count, {"compile_s", "saved_s", "every"}, compile_pays},
      {"memory_fits", Quantity::bytes, {"preset", "gib"}, peak_bytes_of},
      {"peak_gib", Quantity::bytes, {"preset"}, peak_bytes_of},
      {"upload_ms", Quantity::time, {"preset", "gb_per_s"}, upload_us},
      {"data_rate", Quantity::byte_rate, {"preset", "samples_per_s"}, data_rate},
      {"roofline_us", Quantity::time, {"gflop", "mb", "tflop_per_s", "gb_per_s"}, roofline_us},
      {"ring_messages", Quantity::count, {"ranks"}, messages_in_ring},
      {"ring_bytes", Quantity::bytes, {"ranks", "mb"}, bytes_in_ring},
      {"root_bytes", Quantity::bytes, {"ranks", "mb"}, bytes_of_root},
      {"graph_pays", Quantity::count, {"device", "percent"}, graph_pays}};
  return all;
}

const Formula& formula_of(const Question& question) {
  const std::string name = question.argument("name");
  std::vector<std::string> names = {"mesh_group"};
  for (const Formula& one : formulas()) {
    if (name == one.name) return one;
    names.emplace_back(one.name);
  }
  wrong_question(question, fmt::format("there is no formula \"{}\"", printable(name, 60)),
                 did_you_mean(name, names, "one of: " + joined(names)));
}

constexpr std::string_view kMeshGroup = "mesh_group", kMemoryFits = "memory_fits";

}  // namespace

void check_formula(const Question& question) {
  if (question.argument("name") == kMeshGroup) return;
  const Formula& formula = formula_of(question);
  for (const char* const need : formula.needs) {
    if (question.argument(need).empty())
      wrong_question(question, fmt::format("the formula {} needs {}", formula.name, need),
                     "with = { name = [\"" + std::string(formula.name) + "\"], " + need + " = [...] }");
  }
  const bool is_gate = formula.name == kMemoryFits;
  if (is_gate != (question.kind == AnswerKind::choice))
    wrong_question(question, fmt::format("the formula {} is no {}", formula.name, kind_name(question.kind)),
                   is_gate ? "it is a choice of yes and no" : "it is a number");
  in_unit(question, formula.quantity, 0);
}

Truth formula_truth(const RuleInput& input) {
  if (input.argument("name") == kMeshGroup) return mesh_group_truth(input);
  check_formula(input.question);
  const Formula& formula = formula_of(input.question);
  Truth out;
  out.source = "by formula";
  for (const auto& [name, values] : input.question.with) {
    if (name != "name" && values.size() == 1) out.figures[name] = values.front();
  }
  const double value = formula.value(input, out.figures);
  const double shown = in_unit(input.question, formula.quantity, value);
  out.figures["value"] = figure_text(shown);
  if (formula.name == kMemoryFits) {
    const double limit = number_argument(input, "gib");
    out.accepted = {shown <= limit ? "yes" : "no"};
    out.text = fmt::format("{} GiB are needed, there are {}", out.figures["value"], figure_text(limit));
    return out;
  }
  out.number = out.low = out.high = shown;
  out.text = fmt::format("{} {}", out.figures["value"], input.question.unit);
  return out;
}

}  // namespace isobar
