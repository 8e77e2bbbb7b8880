// Every rule of the table: on runs of which it can tell, and on those of which it cannot.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "all_runs.h"
#include "asked_rule.h"
#include "config/lesson.h"

using namespace isobar;

namespace {

struct RuleCase {
  const char* rule;
  With with;
  const char* unit;
  enum class Runs {
    pair,
    ranks,
    made,
    made_ranks,
    made_three,
    made_path,
    made_rising,
    made_all_reduces,
    made_memory,
    made_pipeline,
    pipelines,
    contexts,
    meshes,
    traced,
    paths,
    path_of_ranks,
    rates,
    all_reduces,
    none
  } runs;
};

const With kDefended = {{"slow", {"data.workers=2", "amp.mode=tf32"}},
                        {"times", {"1.8"}},
                        {"within", {"1"}},
                        {"budget", {"100"}}};
const With kOrdered = {{"lesson", {"06_ddp"}},
                       {"preset", {"base"}},
                       {"clusters", {"leonardo", "marenostrum5"}},
                       {"ranks", {"64"}}};
const With kMadeMemory = {{"times", {"1.5"}}, {"differ", {"data.workers"}}};
const With kFits = {
    {"lesson", {"13_zero"}}, {"preset", {"mp"}}, {"ranks", {"8"}}, {"samples", {"16"}}, {"gib", {"24"}}};
const With kMadeAllReduce = {
    {"times", {"1.1"}}, {"wins", {"comm.algorithm=ring"}}, {"differ", {"comm.algorithm"}}};
const With kOrders = {{"from", {"gpipe"}}, {"to", {"1f1b"}}, {"ranks", {"4"}}, {"parts", {"8"}}};
const With kWays = {{"lesson", {"17_groups"}},
                    {"preset", {"base"}},
                    {"ranks", {"4"}},
                    {"gib", {"40"}},
                    {"set", {"train.global_batch=16", "amp.mode=bf16"}},
                    {"ways", {"dp mesh.tp=1", "tp mesh.tp=4"}}};
const With kDirections = {{"base", {"w1"}}, {"other", {"w2"}}, {"of", {"valid_loss", "skipped"}}};
const With kRefused = {{"lesson", {"17_groups"}},
                       {"set", {"run.ranks=8", "mesh.gpus_per_model=3", "train.global_batch=8"}},
                       {"key", {"model"}},
                       {"at", {"models"}}};
using R = RuleCase::Runs;
const std::vector<RuleCase> kRuleCases = {
    {"best", {}, "workers", R::pair},
    {"direction", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::pair},
    {"gain", {{"base", {"w1"}}, {"other", {"w2"}}, {"of", {"load_us"}}}, "%", R::pair},
    {"ratio", {{"base", {"w1"}}, {"other", {"w2"}}}, "x", R::pair},
    {"value", {{"run", {"w1"}}, {"of", {"load_us"}}}, "ms", R::pair},
    {"activations_ratio", {{"base", {"w1"}}, {"other", {"w2"}}}, "x", R::traced},
    {"all_reduce_ratio", {{"base", {"w1"}}, {"other", {"w2"}}}, "x", R::all_reduces},
    {"all_reduce_sums", {{"run", {"w1"}}}, "", R::all_reduces},
    {"apart_since_update", {{"run", {"w2"}}}, "", R::ranks},
    {"axes_on_links", {{"node", {"4"}}, {"bytes", {"tp 9", "dp 1"}}}, "", R::meshes},
    {"bandwidth_falls", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::all_reduces},
    {"block_activations", {{"run", {"w1"}}}, "MB", R::pair},
    {"blocks_beside", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::pair},
    {"both_directions", kDirections, "", R::pair},
    {"bound_by", {{"run", {"w1"}}}, "", R::pair},
    {"buffers_apart", {{"run", {"w2"}}}, "", R::ranks},
    {"calculation", {{"is", {"2 * 4"}}, {"beside", {"half 4 / 2"}}}, "GPUs", R::none},
    {"chunk_owner", {{"run", {"w1"}}, {"rank", {"1"}}}, "", R::all_reduces},
    {"compression_ratio", {{"preset", {"base"}}}, "x", R::none},
    {"cp_wire", {{"run", {"w1"}}}, "MB", R::contexts},
    {"curve", {{"healthy", {"w1"}}, {"fault", {"w2"}}}, "", R::pair},
    {"descent_best", {{"what", {"turn"}}}, "", R::paths},
    {"error_growth", {{"run", {"w2"}}}, "", R::ranks},
    {"feedable", {{"run", {"w1"}}}, "devices", R::pair},
    {"first_apart", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::pair},
    {"first_fit", {{"of", {"norms 3", "others 2"}}, {"most", {"4"}}}, "", R::none},
    {"fits_by", kFits, "", R::none},
    {"fits_fastest", kWays, "", R::none},
    {"fixed", {{"key", {"norms"}}}, "", R::none},
    {"formula", {{"name", {"gpus_for_mesh"}}, {"tp", {"2"}}, {"dp", {"2"}}}, "GPUs", R::none},
    {"gradient_spread", {{"base", {"w1"}}, {"other", {"w2"}}}, "x", R::paths},
    {"how_it_ends", {{"run", {"w1"}}}, "", R::pair},
    {"idle_share", {{"run", {"w1"}}}, "%", R::pipelines},
    {"largest", {{"of", {"norms 3", "others 2"}}}, "", R::none},
    {"largest_class", {{"device", {"H200"}}, {"preset", {"short"}}}, "", R::none},
    {"largest_gain", {{"base", {"w1"}}}, "", R::pair},
    {"line", {{"anchors", {"main("}}}, "", R::none},
    {"link_fit", {{"run", {"w1"}}, {"what", {"latency"}}}, "ms", R::all_reduces},
    {"loss_direction", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::pair},
    {"losses_apart", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::pair},
    {"machine_order", kOrdered, "", R::none},
    {"made", {{"of", {"samples_per_s"}}, {"least", {"1"}}}, "", R::made},
    {"made_all_reduce", kMadeAllReduce, "", R::made_all_reduces},
    {"made_defended", kDefended, "", R::made_three},
    {"made_descent", {{"what", {"samples"}}, {"most", {"1e6"}}, {"rest", {"10"}}}, "", R::made_path},
    {"made_diverges", {}, "", R::made_rising},
    {"made_idle", {{"least", {"1"}}}, "", R::made_pipeline},
    {"made_memory", kMadeMemory, "", R::made_memory},
    {"made_no_gain", {}, "", R::made_ranks},
    {"made_overlap", {{"track", {"upload"}}, {"stage", {"forward"}}, {"share", {"90"}}}, "", R::made},
    {"made_overfits", {}, "", R::made_rising},
    {"made_peak", {{"least", {"1"}}}, "", R::made},
    {"noise_beside", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::traced},
    {"overlapping_track", {{"run", {"w1"}}}, "", R::pair},
    {"peak_moment", {{"run", {"w1"}}}, "", R::pair},
    {"pays", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::traced},
    {"peak_owner", {{"run", {"w1"}}}, "", R::traced},
    {"published", {{"above", {"dali"}}, {"below", {"fp32"}}, {"year", {"2023"}}}, "x", R::none},
    {"quickest_all_reduce",
     {{"ranks", {"64"}}, {"mb", {"1"}}, {"latency_us", {"5"}}, {"gbit_per_s", {"100"}}},
     "",
     R::none},
    {"rank_paths", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::path_of_ranks},
    {"refit", {{"term", {"jitter=0"}}}, "", R::none},
    {"replica_distance", {{"run", {"w2"}}}, "", R::ranks},
    {"ring_overtakes", {{"base", {"w1"}}, {"other", {"w2"}}}, "MB", R::all_reduces},
    {"schedule_check", {{"rows", {"0F0,0B0"}}, {"key", {"runs"}}}, "", R::none},
    {"schedules_beside", kOrders, "", R::none},
    {"sends_and_holds", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::traced},
    {"settings_check", kRefused, "", R::none},
    {"skill", {{"run", {"w1"}}}, "", R::pair},
    {"skips", {}, "", R::pair},
    {"slow_reason", {{"base", {"w1"}}, {"other", {"w2"}}}, "", R::traced},
    {"stable_rate", {{"runs", {"w1", "w2"}}}, "lr", R::rates},
    {"step_overhead", {}, "", R::paths},
    {"straggler", {{"run", {"w2"}}}, "", R::ranks},
    {"to_target", {{"loss", {"0.25"}}, {"of", {"samples"}}}, "", R::pair},
    {"waits_most", {{"run", {"w1"}}}, "", R::pipelines},
};

const RuleCase& case_of(const Rule& rule) {
  const auto found = std::ranges::find_if(
      kRuleCases, [&](const RuleCase& one) { return rule.name == std::string(one.rule); });
  if (found == kRuleCases.end()) FAIL("no case here asks the rule " << rule.name);
  return *found;
}

AskedRule asked(const RuleCase& one, const std::filesystem::path& w1, const std::filesystem::path& w2,
                const char* lesson) {
  return AskedRule(one.rule, one.with, one.unit).run("w1", w1, lesson).run("w2", w2, lesson);
}

AskedRule asked_well(const RuleCase& one, const AllRuns& all) {
  switch (one.runs) {
    case R::pair:
      return asked(one, all.good, all.other, "01_baseline");
    case R::ranks:
      return asked(one, all.one_rank, all.two_ranks, "06_ddp");
    case R::traced:
      return asked(one, all.early, all.late, "06_ddp");
    case R::paths:
      return asked(one, all.one_path, all.small, "00_sgd");
    case R::path_of_ranks:
      return asked(one, all.one_path, all.rank_paths, "00_sgd");
    case R::rates:
      return asked(one, all.one_path, all.rising, "00_sgd");
    case R::all_reduces:
      return asked(one, all.ring, all.tree, "09_all_reduce");
    case R::made:
      return AskedRule(one.rule, one.with, one.unit).made(all.good);
    case R::made_ranks:
      return AskedRule(one.rule, one.with, one.unit)
          .of_lesson("06_ddp")
          .made(all.one_rank)
          .made(all.two_ranks);
    case R::pipelines:
      return asked(one, all.gpipe, all.one_f_one_b, "15_pipeline");
    case R::contexts:
      return asked(one, all.context, all.context, "16_context_parallel");
    case R::meshes:
      return AskedRule(one.rule, one.with, one.unit)
          .of_lesson("17_groups")
          .choice("in", "tp inside", {"run.ranks=8", "mesh.tp=2", "mesh.order=tp-dp", "train.global_batch=8"})
          .choice("out", "tp outside",
                  {"run.ranks=8", "mesh.tp=2", "mesh.order=dp-tp", "train.global_batch=8"});
    case R::made_pipeline:
      return AskedRule(one.rule, one.with, one.unit).of_lesson("15_pipeline").made(all.gpipe);
    case R::made_three:
      return AskedRule(one.rule, one.with, one.unit)
          .made(all.good)
          .made(all.one_off)
          .made(all.mode_off)
          .made(all.both_off);
    case R::made_path:
      return AskedRule(one.rule, one.with, one.unit).of_lesson("00_sgd").made(all.one_path);
    case R::made_rising:
      return AskedRule(one.rule, one.with, one.unit).made(all.rising_losses);
    case R::made_memory:
      return AskedRule(one.rule, one.with, one.unit).made(all.good).made(all.less_memory);
    case R::made_all_reduces:
      return AskedRule(one.rule, one.with, one.unit).of_lesson("09_all_reduce").made(all.ring).made(all.tree);
    default:
      return AskedRule(one.rule, one.with, one.unit).choice("norms", "the norms");
  }
}

}  // namespace

TEST_CASE("every rule tells what is true of fit runs, in a sentence and with its source") {
  const AllRuns all;
  for (const Rule& rule : all_rules()) {
    INFO(rule.name);
    const RuleCase& one = case_of(rule);
    const AskedRule question = asked_well(one, all);
    const Truth truth = question.truth();
    CHECK(truth.cannot == "");
    CHECK(truth.text != "");
    CHECK(truth.source != "");
    CHECK(!truth.figures.empty());
    const bool is_number = question.question().kind == AnswerKind::number;
    if (is_number) {
      CHECK(truth.low <= truth.number);
      CHECK(truth.number <= truth.high);
    } else {
      CHECK(!truth.accepted.empty());
    }
    for (const std::string& need : rule.needs) CHECK(one.with.contains(need));
  }
}

TEST_CASE("every rule that asks runs says which one is missing or was stopped, and accepts nothing") {
  const AllRuns all;
  for (const Rule& rule : all_rules()) {
    const RuleCase& one = case_of(rule);
    INFO(rule.name);
    if (one.runs == RuleCase::Runs::none || one.runs == RuleCase::Runs::meshes) continue;
    const AskedRule without = AskedRule(one.rule, one.with, one.unit).missing("w1").missing("w2");
    const AskedRule unfit = std::string_view(one.rule).starts_with("made")
                                ? AskedRule(one.rule, one.with).made(all.stopped)
                                : asked(one, all.stopped, all.stopped, "01_baseline");
    for (const AskedRule* const question : {&without, &unfit}) {
      const Truth truth = question->truth();
      CHECK(truth.cannot != "");
      CHECK(truth.accepted.empty());
      CHECK(std::isnan(truth.number));
    }
    if (one.runs == RuleCase::Runs::pair || one.runs == RuleCase::Runs::ranks)
      CHECK(without.truth().missing != "");
  }
}

TEST_CASE("the rules stand in the order of their names, each once, and are found by them") {
  const std::span<const Rule> rules = all_rules();
  for (std::size_t i = 1; i < rules.size(); ++i) CHECK(std::string(rules[i - 1].name) < rules[i].name);
  for (const Rule& rule : rules) {
    CHECK(rule_named(rule.name) == &rule);
    CHECK(!rule.kinds.empty());
    CHECK(std::string(rule.means) != "");
  }
  CHECK(rule_named("share") == nullptr);
  CHECK(rules.size() == kRuleCases.size());
}

TEST_CASE("a rule that one lesson asks by lives with that lesson") {
  std::map<std::string, std::set<std::string>> lessons;  // by rule
  for (const std::string& lesson : lesson_names(project_home())) {
    for (const Question& question : read_questions(project_home(), lesson))
      lessons[question.rule].insert(lesson);
  }
  for (const Rule& rule : all_rules()) {
    const std::set<std::string>& asked = lessons[rule.name];
    INFO(rule.name);
    REQUIRE(!asked.empty());
    const auto view = project_home() / "lessons" / *asked.begin() / "view/rules.cpp";
    const std::string text = std::filesystem::exists(view) ? read_text_file(view, 1 << 20) : "";
    const bool lives_there = text.find("  {\"" + std::string(rule.name) + "\",") != std::string::npos;
    CHECK(lives_there == (asked.size() == 1));
  }
}

TEST_CASE("arguments that are not there are what the rule takes instead") {
  const Question question = AskedRule("value", {{"run", {"a", "b"}}, {"of", {}}}).question();
  const RuleInput input{question, {}, ""};
  CHECK(input.argument("run") == "a");
  CHECK(input.argument("of", "step_us") == "step_us");
  CHECK(input.argument("fields") == "");
  CHECK(input.arguments("run") == Keys{"a", "b"});
  CHECK(input.arguments("fields").empty());
}
