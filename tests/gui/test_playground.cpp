// The playground: knobs turn settings, the formulas answer, and the answer can be measured.
#include "config/load.h"
#include "core/machine.h"
#include "gui/headless.h"
#include "panels/parts.h"
#include "support/catch.h"
#include "support/made_rates.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

AppOptions with_rates(const TempFolder& folder, const std::string& text) {
  AppOptions options = options_in(folder);
  options.rates = folder / "rates.toml";
  if (!text.empty()) write_file_whole(options.rates, std::string_view(text));
  return options;
}

/// Drags the handle of a knob all the way to its last place.
void turn_up(Headless& window, const std::string& knob) {
  const Box box = window.box(knob);
  const float y = (box.y0 + box.y1) / 2;
  window.drag({box.x0 + 4, y}, {box.x1 - 4, y});
  window.frames(4);
}

/// The playground of memory in a lesson.
void open_memory(Headless& window, const std::string& lesson) {
  window.settle();
  window.state().lesson = lesson;
  window.click("Predict");
  window.click("Its memory");
  window.frames(2);
}

/// Bytes of what the form describes, by the formulas themselves.
MemoryPlan planned(Headless& window, bool on_gpu) {
  const RunRequest request = request_of(window.state().form());
  const LessonInfo lesson = read_lesson(project_home(), request.lesson);
  const Config config =
      load_config(project_home(), lesson, {.preset = request.preset, .sets = request.sets}, "cpu").config;
  return plan_memory(lesson, config, memory_facts(config, on_gpu));
}

/// The answer on clusters to what was asked last.
const ClusterAnswer& cluster_answer(Headless& window) {
  window.until("the clusters to be predicted", [&] {
    const ClusterPlay& play = window.state().play.cluster;
    return !play.answers.is_busy() && play.answers.last() && play.answers.last()->of == play.wanted;
  });
  return *window.state().play.cluster.answers.last();
}

}  // namespace

TEST_CASE("A machine whose rates are not kept is measured at a click") {
  const TempFolder folder;
  AppOptions options = with_rates(folder, "");
  write_file_whole(folder / "measured.toml", std::string_view(to_toml(made_rates())));
  options.isobar = fake_isobar(
      folder, "cp '" + (folder / "measured.toml").string() + "' '" + options.rates.string() + "'");
  Headless window(options);
  window.settle();
  window.click("Predict");
  CHECK_FALSE(window.has("predicted stages"));
  window.click("Measure this machine");
  window.until("the machine to be measured", [&] {
    window.app().poll();
    return window.has("predicted stages");
  });
  CHECK(text_of(folder / "arguments") == "predict\n01_baseline\n--measure\n");
}

TEST_CASE("A turned knob is a setting of the next run, and the stages answer it") {
  const TempFolder folder;
  AppOptions options = with_rates(folder, to_toml(made_rates()));
  options.isobar = fake_isobar(folder, "");
  Headless window(options);
  window.settle();
  window.click("Predict");
  window.frames(4);
  const PlayedStep before = window.state().play.step;
  REQUIRE(before.is_known());
  turn_up(window, "knob data.throttle_mb_per_s");
  CHECK(window.state().form().changed.at("data.throttle_mb_per_s") == "5");
  const PlayedStep& slow = window.state().play.step;
  CHECK(slow.stages.load_us == Approx(slow.stages.read_bytes / 5));
  CHECK(slow.stages.forward_us == Approx(before.stages.forward_us));
  CHECK(slow.largest().first == "load");
  // The curve is of that knob, over all its places, and falls with the disk.
  const auto& curve = window.state().play.curve;
  REQUIRE(curve.size() == 9);
  CHECK(curve.front().first == 5);
  CHECK(curve.front().second == Approx(slow.samples_per_s()));
  CHECK(curve.back().second > curve.front().second);
  window.click("Measure it");
  window.until("the run to be started", [&] { return fs::exists(folder / "arguments"); });
  CHECK(text_of(folder / "arguments") == "run\n01_baseline\n--set\ndata.throttle_mb_per_s=5\n");
  CHECK(window.state().view == View::watch);
  window.click("Predict");
  window.frames(2);
  window.click("reset knobs");
  CHECK(window.state().form().changed.empty());
}

TEST_CASE("Knobs are those that the lesson knows, and what does not go together is said") {
  const TempFolder folder;
  Headless window(with_rates(folder, to_toml(made_rates())));
  window.settle();
  window.click("Predict");
  CHECK(window.has("knob train.global_batch"));
  CHECK_FALSE(window.has("knob run.ranks"));
  window.state().lesson = "06_ddp";
  window.frames(4);
  CHECK(window.has("knob comm.link.gbit_per_s"));
  turn_up(window, "knob run.ranks");  // 8 ranks, 4 samples
  CHECK_FALSE(window.state().play.step.is_known());
  CHECK_FALSE(window.has("predicted stages"));
  CHECK_FALSE(window.has("Measure it"));
  turn_up(window, "knob train.global_batch");
  CHECK(window.state().play.step.is_known());
  CHECK(window.state().play.step.stages.comm_total_us > 0);
  window.state().lesson = "08_cuda_graphs";
  window.frames(4);
  CHECK_FALSE(window.has("knob train.global_batch"));
}

TEST_CASE("A file that holds no rates is named, and can be measured anew") {
  const TempFolder folder;
  Headless window(with_rates(folder, "rubbish"));
  window.settle();
  window.click("Predict");
  CHECK(window.has("Measure this machine"));
  CHECK_FALSE(window.has("predicted stages"));
  write_file_whole(folder / "rates.toml", std::string_view(to_toml(made_rates("another machine"))));
  window.until("the file to be looked at", [&] {
    window.app().poll();
    return true;
  });
  CHECK_FALSE(window.has("predicted stages"));
}

TEST_CASE("Clusters are predicted where no rates of this machine are kept") {
  const TempFolder folder;
  Headless window(with_rates(folder, ""));
  window.settle();
  window.state().lesson = "06_ddp";
  window.click("Predict");
  window.click("On a cluster");
  const ClusterAnswer first = cluster_answer(window);
  CHECK(first.problem == "");
  CHECK_FALSE(window.has("Measure this machine"));
  CHECK_FALSE(window.has("cluster piz_daint"));  // its profile has no [machine]
  CHECK(first.of.command() == "./isobar predict 06_ddp --ranks 512 --cluster leonardo,marenostrum5");
  REQUIRE(first.study.clusters.size() == 2);
  REQUIRE(first.study.orders.size() == 1);
  CHECK(first.study.clusters[0].last().ranks == 512);
  CHECK(first.study.clusters[0].last().efficiency.is_open());
  REQUIRE(first.earned.data_parallel);
  CHECK(first.earned.sentence().find("nine of ten within") != std::string::npos);
  window.click("cluster marenostrum5");
  turn_up(window, "gpus");
  const ClusterAnswer& one = cluster_answer(window);
  REQUIRE(one.study.clusters.size() == 1);
  CHECK(one.study.orders.empty());
  CHECK(one.study.clusters[0].last().ranks == 4096);
  CHECK(one.study.clusters[0].last().efficiency.middle < first.study.clusters[0].last().efficiency.middle);
  window.click("cluster leonardo");
  CHECK(cluster_answer(window).study.clusters.empty());
  CHECK_FALSE(window.has("Copy command"));
  window.click("This machine");
  CHECK(window.has("Measure this machine"));
}

TEST_CASE("A term that is set is no range any more, and both splits of published points answer it") {
  const TempFolder folder;
  Headless window(with_rates(folder, ""));
  window.settle();
  window.state().lesson = "06_ddp";
  window.click("Predict");
  window.click("On a cluster");
  const ClusterAnswer fitted = cluster_answer(window);
  CHECK_FALSE(window.has("Fitted terms"));
  turn_up(window, "term jitter");
  const ClusterAnswer set = cluster_answer(window);
  CHECK(set.of.term_words() == std::vector<std::string>{"jitter=0.3"});
  const auto& before = fitted.study.clusters[0];
  const auto& after = set.study.clusters[0];
  CHECK(after.machine.unknown.size() + 1 == before.machine.unknown.size());
  CHECK(after.last().efficiency.most < before.last().efficiency.least);
  REQUIRE(set.earned.calibration);
  CHECK(set.fitted.calibration->median == fitted.earned.calibration->median);
  CHECK(set.earned.calibration->median > set.fitted.calibration->median);
  CHECK(set.earned.test->median > set.fitted.test->median);
  window.click("Fitted terms");
  CHECK(cluster_answer(window).earned.test->median == fitted.earned.test->median);
}

TEST_CASE("What is not modelled on a cluster is a sentence") {
  const TempFolder folder;
  Headless window(with_rates(folder, ""));
  window.settle();
  window.state().lesson = "11_compression";
  window.state().form().set("comm.compress", "powersgd");
  window.click("Predict");
  window.click("On a cluster");
  const ClusterAnswer refused = cluster_answer(window);
  CHECK(refused.problem.find("not modelled on a cluster yet") != std::string::npos);
  CHECK(refused.study.clusters.empty());
  window.state().lesson = "06_ddp";
  const ClusterAnswer& strong = cluster_answer(window);
  CHECK(strong.problem == "");
  window.click("strong");  // 512 GPUs cannot share so few samples
  CHECK(cluster_answer(window).problem.find("not divided by") != std::string::npos);
  window.state().lesson = "00_sgd";  // trains another model
  window.frames(2);
  CHECK_FALSE(window.has("On a cluster"));
}

TEST_CASE("Published points that cannot be read are named each time, and no more once they can") {
  const TempFolder folder;
  fs::create_directories(folder / "lessons");
  const fs::path file = folder / "lessons" / "published_scaling.toml";
  write_file_whole(file, std::string_view("rubbish"));
  ClusterAsk ask;
  ask.home = folder.path();
  const ClusterAnswer first = answer_to(ask, {}, nullptr);
  CHECK(first.problem == "");
  CHECK(first.errors_problem != "");
  CHECK(answer_to(ask, {}, &first).errors_problem == first.errors_problem);
  fs::remove(file);
  CHECK(answer_to(ask, {}, &first).errors_problem == "");
}

TEST_CASE("Sliders of memory are those of the lesson, and the numbers are those of the plan") {
  const TempFolder folder;
  Headless window(with_rates(folder, to_toml(made_rates())));
  open_memory(window, "07_tensor_parallel");
  const PlayedMemory& played = window.state().play.memory.played;
  for (const bool on_gpu : {false, true}) {
    window.click(on_gpu ? "GPU" : "Processors");
    for (const char* const knob : {"train.global_batch", "model.depth", "model.embed", "run.ranks"}) {
      turn_up(window, std::string("knob ") + knob);
      INFO(knob);
      REQUIRE(played.is_known());
      CHECK(played.plan.categories() == planned(window, on_gpu).categories());
      CHECK(played.course.peak_bytes() + played.course.program_bytes == played.plan.total());
      if (!on_gpu) CHECK(played.course.step_us > 0);  // no GPU has a rate for heads this wide
    }
    window.click("reset knobs");
  }
  CHECK(window.has("knob mesh.tp"));
  CHECK_FALSE(window.has("knob mesh.zero"));  // a later lesson's
  CHECK(window.has("predicted-memory"));
  CHECK(window.has("memory-plan"));
  turn_up(window, "knob run.ranks");
  turn_up(window, "knob train.global_batch");
  turn_up(window, "knob mesh.tp");  // 8 ranks a layer of 2 heads
  CHECK_FALSE(played.is_known());
  CHECK_FALSE(window.has("predicted-memory"));
}

TEST_CASE("Below a cap a step fits, or the cheapest change is a click away") {
  const TempFolder folder;
  Headless window(with_rates(folder, ""));
  open_memory(window, "07_tensor_parallel");
  FormState& form = window.state().form();
  const PlayedMemory& played = window.state().play.memory.played;
  CHECK(played.course.step_us == 0);  // no rates are kept: units take time by their operations
  turn_up(window, "knob run.memory_cap");
  CHECK(form.changed.at("run.memory_cap") == "80GiB");
  CHECK(played.limit_bytes == std::uint64_t{80} << 30);
  CHECK(played.is_within());
  CHECK_FALSE(window.has("cheapest change"));
  form.set("train.global_batch", "64");
  form.set("run.memory_cap", "700MB");  // none of the slider's own places
  window.frames(4);
  CHECK_FALSE(played.is_within());
  REQUIRE_FALSE(played.fits.empty());
  const std::string change = played.fits.front().change;
  window.click("cheapest change");
  window.frames(4);
  CHECK(played.is_within());
  CHECK(form.changed.size() > 2);
  CHECK(change.find(form.changed.contains("run.ranks") ? "--ranks" : "--set") != std::string::npos);
  window.click("reset knobs");
  form.set("run.memory_cap", "1MB");
  window.frames(4);
  CHECK(played.fits.empty());
  CHECK_FALSE(window.has("cheapest change"));
}

TEST_CASE("All ways stand by speed and memory, worked out beside the frames") {
  const TempFolder folder;
  Headless window(with_rates(folder, to_toml(made_rates())));
  open_memory(window, "07_tensor_parallel");
  window.click("All ways by speed");
  const MemoryPlay& mine = window.state().play.memory;
  const auto answered = [&] { return mine.fronts.last() && mine.fronts.last()->of == mine.asked; };
  window.until("the front to be worked out", answered);
  const MemoryFront& front = mine.fronts.last()->front;
  CHECK(front.ways.size() == 3 * (4 + 2));  // 4 samples, 4 blocks
  CHECK(window.has("memory-front"));
  CHECK(front.ways.front().way.plan.total() == planned(window, false).total());
  CHECK(front.ways.front().samples_per_s > 0);
  window.click("GPU");
  window.until("the front of a GPU to be worked out", answered);
  CHECK(mine.fronts.last()->front.where == "H200");
  CHECK(mine.fronts.last()->front.ways.front().way.plan.total() == planned(window, true).total());
}
