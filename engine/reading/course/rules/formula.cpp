// What follows from shapes and rates alone: no run is needed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "formula/bucket_plan.h"
#include "formula/device_rates.h"
#include "formula/link.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/stage_prediction.h"
#include "formula/step_time.h"
#include "formula/vit_counts.h"
#include "launch/mesh.h"

namespace isobar {
namespace {

MemoryPlan plan_of(const RuleInput& input) {
  const LessonSettings settings = settings_in(input);
  return plan_memory(settings.lesson, settings.config,
                     memory_facts(settings.config, input.argument("device") != "cpu"));
}

/// Bytes of the gradients in the order in which they become ready, from the last parameter to the first; q, k
/// and v are one where the lesson fuses them.
std::vector<std::int64_t> gradient_bytes(const VitShape& shape, bool joins_qkv) {
  const std::int64_t e = shape.embed;
  const std::int64_t values = shape.channels * shape.patch * shape.patch;
  std::vector<std::int64_t> out = {shape.tokens() * e, e * values, e};
  for (std::int64_t block = 0; block < shape.depth; ++block) {
    out.insert(out.end(), {e, e});
    if (joins_qkv) out.insert(out.end(), {3 * e * e, 3 * e});
    for (int i = joins_qkv ? 3 : 0; i < 4; ++i) out.insert(out.end(), {e * e, e});
    out.insert(out.end(), {e, e, 4 * e * e, 4 * e, 4 * e * e, e});
  }
  out.insert(out.end(), {e, e, values * e});
  for (std::int64_t& count : out) count *= static_cast<std::int64_t>(sizeof(float));
  std::reverse(out.begin(), out.end());
  return out;
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

double bucket_count(const RuleInput& input, Figures& figures) {
  const LessonSettings settings = settings_in(input);
  constexpr double kMebi = 1 << 20;
  const auto bytes = [](double mebi) { return static_cast<std::int64_t>(mebi * kMebi); };
  const bool joins_qkv = settings.config.fusion.qkv && honours(settings.lesson, "fusion.qkv");
  const std::vector<std::int64_t> sizes = gradient_bytes(vit_shape(settings.config), joins_qkv);
  double all = 0;
  for (const std::int64_t size : sizes) all += static_cast<double>(size);
  figures["gradient_mb"] = figure_text(all * 1e-6);
  return static_cast<double>(
      bucket_plan(sizes, bytes(number_argument(input, "first_mb", settings.config.comm.first_bucket_mb)),
                  bytes(number_argument(input, "mb")))
          .size());
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

double all_reduce_us(const RuleInput& input, Figures& figures) {
  const double bytes =
      4.0 * static_cast<double>(count_parameters(vit_shape(settings_in(input).config)).total());
  figures["gradient_mb"] = figure_text(bytes * 1e-6);
  const Link link = link_of(number_argument(input, "latency_us", 0), number_argument(input, "gbit_per_s"));
  return ring_all_reduce_us(link, static_cast<int>(number_argument(input, "ranks")), bytes);
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

/// In as many backward passes a step, and in one; lessons need not have the key.
double accumulated_activation(const RuleInput& input, Figures& figures) {
  LessonSettings settings = settings_in(input);
  const MemoryFacts facts = memory_facts(settings.config, input.argument("device") != "cpu");
  const auto activations = [&](double passes) {
    settings.config.train.accumulate = static_cast<std::int64_t>(passes);
    return static_cast<double>(plan_memory(settings.lesson, settings.config, facts).activations);
  };
  const double passes = number_argument(input, "accumulate");
  if (!(passes >= 1)) wrong_question(input, "there are no backward passes", "accumulate = 1, 2, ...");
  const double once = activations(1), often = activations(passes);
  figures["once_gib"] = gib_text(once);
  figures["often_gib"] = gib_text(often);
  return often / once;
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

/// The ranks that one works with along an axis: "1,5".
Truth mesh_group_truth(const RuleInput& input) {
  const auto whole = [&](const char* name) { return static_cast<int>(number_argument(input, name)); };
  const int ranks = whole("ranks"), tp = whole("tp"), rank = whole("rank");
  if (tp < 1 || ranks % tp != 0 || rank < 0 || rank >= ranks)
    wrong_question(input, fmt::format("rank {} of {} with tp {} is none", rank, ranks, tp),
                   "tp divides ranks");
  const Mesh mesh(input.argument("order", "tp-cp-pp-dp"), {.tp = tp, .dp = ranks / tp}, ranks);
  const std::vector<int> group = mesh.group_of(rank, input.argument("axis"));
  Truth out;
  out.accepted = {fmt::format("{}", fmt::join(group, ","))};
  out.figures = {{"value", fmt::format("{}", fmt::join(group, ", "))}};
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
      {"bucket_count", Quantity::count, {"preset", "mb"}, bucket_count},
      {"memory_fits", Quantity::bytes, {"preset", "gib"}, peak_bytes_of},
      {"peak_gib", Quantity::bytes, {"preset"}, peak_bytes_of},
      {"upload_ms", Quantity::time, {"preset", "gb_per_s"}, upload_us},
      {"allreduce_ms", Quantity::time, {"preset", "ranks", "gbit_per_s"}, all_reduce_us},
      {"data_rate", Quantity::byte_rate, {"preset", "samples_per_s"}, data_rate},
      {"roofline_us", Quantity::time, {"gflop", "mb", "tflop_per_s", "gb_per_s"}, roofline_us},
      {"graph_pays", Quantity::count, {"device", "percent"}, graph_pays},
      {"accumulated_activation", Quantity::ratio, {"preset", "accumulate"}, accumulated_activation}};
  return all;
}

const Formula& formula_of(const RuleInput& input) {
  const std::string name = input.argument("name");
  std::vector<std::string> names = {"mesh_group"};
  for (const Formula& one : formulas()) {
    if (name == one.name) return one;
    names.emplace_back(one.name);
  }
  wrong_question(input, fmt::format("there is no formula \"{}\"", printable(name, 60)),
                 did_you_mean(name, names, "one of: " + join(names, ", ")));
}

Truth formula_truth(const RuleInput& input) {
  if (input.argument("name") == "mesh_group") return mesh_group_truth(input);
  const Formula& formula = formula_of(input);
  for (const char* const need : formula.needs) {
    if (input.argument(need).empty())
      wrong_question(input, fmt::format("the formula {} wants {}", formula.name, need),
                     "with = { name = [\"" + std::string(formula.name) + "\"], " + need + " = [...] }");
  }
  const bool is_gate = std::string_view(formula.name) == "memory_fits";
  if (is_gate != (input.question.kind == AnswerKind::choice))
    wrong_question(input,
                   fmt::format("the formula {} is no {}", formula.name, kind_name(input.question.kind)),
                   is_gate ? "it is a choice of yes and no" : "it is a number");
  Truth out;
  out.source = "by formula";
  for (const auto& [name, values] : input.question.with) {
    if (name != "name" && values.size() == 1) out.figures[name] = values.front();
  }
  const double value = formula.value(input, out.figures);
  const double shown = in_unit(input.question, formula.quantity, value);
  out.figures["value"] = figure_text(shown);
  if (is_gate) {
    const double limit = number_argument(input, "gib");
    out.accepted = {shown <= limit ? "yes" : "no"};
    out.text = fmt::format("{} GiB are needed, there are {}", out.figures["value"], figure_text(limit));
    return out;
  }
  out.number = out.low = out.high = shown;
  out.text = fmt::format("{} {}", out.figures["value"], input.question.unit);
  return out;
}

}  // namespace

Rule formula_rule() {
  static constexpr std::array kinds = {AnswerKind::number, AnswerKind::choice};
  static constexpr std::array needs = {"name"};
  static constexpr std::array may = {"tp",      "dp",          "global",     "local",         "compile_s",
                                     "saved_s", "every",       "lesson",     "preset",        "set",
                                     "device",  "mb",          "first_mb",   "gib",           "gb_per_s",
                                     "ranks",   "gbit_per_s",  "latency_us", "samples_per_s", "accumulate",
                                     "gflop",   "tflop_per_s", "percent",    "order",         "rank",
                                     "axis"};
  return {"formula",
          "a value by formula: gpus_for_mesh, compile_pays, bucket_count, memory_fits, peak_gib, upload_ms, "
          "allreduce_ms, data_rate, roofline_us, graph_pays, mesh_group, accumulated_activation",
          kinds,
          needs,
          may,
          answered<formula_truth>};
}

}  // namespace isobar
