// A lesson on clusters: ranges over what is not published, and which of two machines scales better.
#include "analyse/cluster_prediction.h"
#include "config/load.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

const LessonInfo& ddp() {
  static const LessonInfo kLesson = read_lesson(project_home(), "06_ddp");
  return kLesson;
}

ClusterMachine cluster(const std::string& name, double between_gb_s) {
  return {.name = name,
          .gpu = "A100-40GB",
          .rates = "A100-40GB",
          .gpus_per_node = 4,
          .inside_gb_s = 199,
          .between_gb_s = between_gb_s};
}

ClusterStudy study(const std::vector<ClusterMachine>& machines, ScalingLaw law, int ranks,
                   const std::vector<std::string>& sets = {}) {
  Settings settings;
  settings.sets = sets;
  return study_clusters(machines, ddp(), settings, law, ranks, {}, "test");
}

}  // namespace

TEST_CASE("ranks double up to those that are asked for") {
  CHECK(rank_counts(1) == std::vector<int>{1});
  CHECK(rank_counts(6) == std::vector<int>{1, 2, 4, 6});
  CHECK(rank_counts(2147483647).back() == 2147483647);
}

TEST_CASE("a range spans the corners of what is not published") {
  ClusterMachine machine = cluster("ours", 1);
  const ClusterPoint known = study({machine}, ScalingLaw::weak, 64).clusters[0].last();
  CHECK(!known.efficiency.is_open());
  machine.unknown = {{.key = "between_gb_s", .least = 0.5, .most = 1}};
  const ClusterPoint open = study({machine}, ScalingLaw::weak, 64).clusters[0].last();
  CHECK(open.efficiency.most == Approx(known.efficiency.middle));
  CHECK(open.efficiency.least < open.efficiency.middle);
  CHECK(open.efficiency.middle < open.efficiency.most);
  CHECK(open.batch == 64 * 16);
}

TEST_CASE("one GPU has the same step in both laws, and a strong share is predicted as it is") {
  const std::vector<std::string> batch = {"train.global_batch=16"};
  const auto weak = study({cluster("ours", 25)}, ScalingLaw::weak, 8, batch).clusters[0];
  const auto strong = study({cluster("ours", 25)}, ScalingLaw::strong, 8, batch).clusters[0];
  CHECK(strong.points[0].step.step_us() == Approx(weak.points[0].step.step_us()));
  const auto further = study({cluster("ours", 25)}, ScalingLaw::strong, 16, batch).clusters[0];
  CHECK(further.points[3].samples_per_s.middle == Approx(strong.points[3].samples_per_s.middle));
  CHECK(strong.last().efficiency.middle < weak.last().efficiency.middle);
  CHECK_THAT(error_of([&] { study({cluster("ours", 25)}, ScalingLaw::strong, 32, batch); }),
             Says("16 samples are not divided by 32 ranks"));
}

TEST_CASE("which of two scales better is decided over the whole range, or not at all") {
  const std::vector<std::string> one_sample = {"train.global_batch=1"};
  ClusterMachine fast = cluster("fast", 50), slow = cluster("slow", 0.2);
  ClusterStudy decided = study({slow, fast}, ScalingLaw::weak, 128, one_sample);
  CHECK(decided.orders[0].better == "fast");
  CHECK_THAT(decided.order_sentence(0), Says("128 GPUs: fast scales better than slow"));
  slow.unknown = {{.key = "between_gb_s", .least = 0.2, .most = 100}};
  ClusterStudy open = study({slow, fast}, ScalingLaw::weak, 128, one_sample);
  CHECK(open.orders[0].better.empty());
  CHECK(open.orders[0].term == "between_gb_s of slow");
  CHECK_THAT(open.order_sentence(0),
             Says("cannot tell which of slow and fast") && Says("between_gb_s of slow"));
  CHECK_THAT(error_of([&] {
               study({slow, slow}, ScalingLaw::weak, 8);
             }),
             Says("two clusters are called slow"));
}

TEST_CASE("what is not known or not modelled is refused") {
  CHECK_THAT(error_of([] { study({cluster("ours", 0)}, ScalingLaw::weak, 8); }),
             Says("the network of ours is not known"));
  CHECK(study({cluster("ours", 0)}, ScalingLaw::weak, 4).clusters[0].last().ranks == 4);
  ClusterMachine nameless = cluster("ours", 1);
  nameless.rates = "";
  CHECK_THAT(error_of([&] { study({nameless}, ScalingLaw::weak, 8); }), Says("does not name the GPU"));
}

namespace {

/// One whose models share tokens and layers.
ClusterStudy shared(int ranks, std::vector<std::string> sets, ScalingLaw law = ScalingLaw::weak) {
  LessonInfo lesson = read_lesson(project_home(), "15_pipeline");
  for (const char* const key :
       {"mesh.cp", "mesh.cp_comm", "model.window", "mesh.gpus_per_model", "mesh.gpus_per_ensemble",
        "mesh.members_per_device", "train.rollout", "data.read_group"})
    lesson.honours.emplace_back(key);
  sets.emplace_back("train.accumulate=1");
  return study_clusters({cluster("ours", 25)}, lesson, {.sets = sets}, law, ranks, {}, "test");
}

std::vector<int> ranks_of(const ClusterStudy& study) {
  std::vector<int> out;
  for (const ClusterPoint& point : study.clusters[0].points) out.push_back(point.ranks);
  return out;
}

}  // namespace

TEST_CASE("models of several ranks double on a cluster, and one rank alone is what they are set beside") {
  const std::vector<std::string> batch = {"mesh.cp=4", "train.global_batch=16"};
  const ClusterStudy weak = shared(16, batch), strong = shared(16, batch, ScalingLaw::strong);
  CHECK(ranks_of(weak) == std::vector<int>{1, 4, 8, 16});
  const auto& points = weak.clusters[0].points;
  CHECK(points[1].batch == points[0].batch);  // one model
  CHECK(points[3].batch == 4 * points[0].batch);
  CHECK(points[1].step.step_us() < points[0].step.step_us());
  CHECK(points[1].step.terms.comm_us > 0);
  CHECK(points[1].efficiency.middle < 1);
  CHECK(strong.clusters[0].last().batch == 16);
  // Over nodes messages of blocks take the slower link.
  const auto turned = shared(16, {"mesh.cp=4", "train.global_batch=16", "mesh.order=dp-cp-tp-pp"});
  CHECK(turned.clusters[0].last().step.terms.comm_us > 2 * weak.clusters[0].last().step.terms.comm_us);
  CHECK_THAT(error_of([&] { shared(6, batch); }), Says("6 ranks form no whole models of 4"));

  const ClusterStudy ensemble =
      shared(16, {"mesh.gpus_per_model=2", "mesh.gpus_per_ensemble=4", "train.global_batch=4"});
  CHECK(ranks_of(ensemble) == std::vector<int>{1, 4, 8, 16});
  CHECK(ensemble.config.mesh.cp == 2);
  CHECK(ensemble.clusters[0].last().batch == 4 * 4);  // replicas are ensembles
}

TEST_CASE("what has no published point is not graded, and a sentence has it") {
  const EarnedErrors earned = earned_errors(project_home(), fitted_terms());
  Config config;
  CHECK(ungraded(config).empty());
  CHECK(known_error(earned, config) == earned.sentence());
  config.mesh.pp = 2;
  CHECK(known_error(earned, config) == earned.sentence(true));
  config.mesh.cp = 2;
  CHECK(known_error(earned, config) ==
        "one published point of context parallel (mp on 16 A100) is no part of the test: this prediction is "
        "not graded");
  const PublishedFile file = read_published(project_home() / "lessons" / "published_scaling.toml");
  for (const PublishedPoint& point : file.points) CHECK(point.kind != PointClass::cp);
  config = {};
  config.mesh.tp = 2;
  CHECK_THAT(known_error(earned, config), Says("split layers are not predicted yet"));
  config = {};
  config.mesh.gpus_per_ensemble = 2;
  CHECK_THAT(known_error(earned, config), Says("no published point of ensembles"));
}

TEST_CASE("passes that accumulate take what as many passes take, and one update") {
  const auto of = [](const char* passes, const char* batch) {
    const LessonInfo lesson = read_lesson(project_home(), "14_checkpointing");
    const Settings settings{.sets = {batch, passes}};
    return study_clusters({cluster("ours", 25)}, lesson, settings, ScalingLaw::weak, 1, {}, "test")
        .clusters[0]
        .points[0]
        .step.step_us();
  };
  const double one = of("train.accumulate=1", "train.global_batch=4");
  CHECK(of("train.accumulate=4", "train.global_batch=16") < 4 * one);
  CHECK(of("train.accumulate=4", "train.global_batch=16") > 3 * one);
}
