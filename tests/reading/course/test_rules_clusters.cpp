// Rules of lesson 12 that predict: a changed term beside published points, and two clusters of which not
// everything is published.
#include <fmt/format.h>

#include <filesystem>

#include "asked_rule.h"
#include "core/number_text.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_rules_clusters {

namespace {

namespace fs = std::filesystem;

/// A project with this project's lessons, two published machines, and clusters that the tests write.
class Home {
 public:
  Home() {
    fs::create_directories(folder_ / "lessons");
    for (const fs::directory_entry& one : fs::directory_iterator(project_home() / "lessons")) {
      if (one.path().filename() != "published_scaling.toml")
        fs::create_symlink(one.path(), folder_ / "lessons" / one.path().filename());
    }
    fs::create_directories(folder_ / "submit/profiles");
    publish(point("calibration", 1, 100, "") + point("calibration", 8, 99, "calibration1") +
            point("test", 1, 100, "") + point("test", 8, 50, "test1"));
  }
  void publish(const std::string& points) const {
    write_file_whole(folder_ / "lessons/published_scaling.toml", std::string_view(points));
  }
  /// Nodes of four GPUs; `unknown` holds the ranges of what is not published.
  void cluster(const std::string& name, double between_gb_s, const std::string& unknown) const {
    const std::string text = fmt::format(
        "title = \"{}\"\n[machine]\ngpu = \"A100\"\nrates = \"A100-40GB\"\ngpus_per_node = 4\ninside_gb_s = "
        "200\n"
        "between_gb_s = {}\nunknown = {{ {} }}\n",
        name, between_gb_s, unknown);
    write_file_whole(folder_ / "submit/profiles" / (name + ".toml"), std::string_view(text));
  }
  const fs::path& path() const { return folder_.path(); }

  static std::string point(const std::string& split, int gpus, double rate, const std::string& anchor) {
    return fmt::format(
        "[[point]]\nid = \"{0}{1}\"\nclass = \"dp\"\nsplit = \"{0}\"\nsource = \"here\"\n"
        "machine = {{ name = \"of {0}\", gpu = \"X\", peak_tflops = 100, gpus_per_node = 8, inside_gb_s = "
        "500 }}\n"
        "model = {{ parameters = 1e7, layers = 12, flops_per_sample = 1e9, sample = \"image\" }}\n"
        "job = {{ gpus = {1}, micro_batch = 16{2} }}\nsamples_per_s_per_gpu = {3}\n",
        split, gpus, anchor.empty() ? "" : ", anchor = \"" + anchor + "\"", rate);
  }

 private:
  TempFolder folder_;
};

std::string refused(const AskedRule& asked) {
  return error_of([&] { asked.rule().check(asked.question()); });
}

AskedRule refit(const Home& home, const std::string& set, const std::string& split) {
  return AskedRule("refit", {{"term", {set}}, {"split", {split}}}).at_home(home.path());
}

AskedRule order(const Home& home, const std::string& ranks, const Keys& clusters = {"quick", "slow"}) {
  AskedRule out("machine_order",
                {{"lesson", {"06_ddp"}}, {"preset", {"base"}}, {"clusters", clusters}, {"ranks", {ranks}}});
  for (const std::string& name : clusters) out.choice(name, "the cluster " + name);
  return out.choice("cannot_tell", "it turns").at_home(home.path());
}

}  // namespace

TEST_CASE("a changed term moves the median error over published points of a split") {
  const Home home;
  // Ranks that differ much take longer: nearer to the point that is slow, further from the one that is not.
  const Truth test = refit(home, "jitter=0.3", "test").truth();
  CHECK(test.accepted == Keys{"down"});
  const Truth calibration = refit(home, "jitter=0.3", "calibration").truth();
  CHECK(calibration.accepted == Keys{"up"});
  CHECK(refit(home, "busbw=constant", "test").accepted() == Keys{"same"});  // none was measured by nodes
  CHECK(test.figures.at("base_value") == test.figures.at("test_base"));
  CHECK(test.figures.at("other_value") == test.figures.at("test_other"));
  CHECK(calibration.figures.at("other_value") == test.figures.at("calibration_other"));
  CHECK(test.figures.at("points") == "1");
  CHECK(test.source == "predicted, beside what others published");
  CHECK_THAT(test.text, says("over 1 point of the split test") && says("with jitter=0.3"));
  home.publish(Home::point("test", 1, 100, "") + Home::point("test", 8, 50, "test1"));
  CHECK_THAT(refit(home, "jitter=0.3", "calibration").cannot(),
             says("no published point of the split calibration is predicted"));
}

TEST_CASE("a question of a changed term names a split and a term that there is") {
  const Home home;
  const AskedRule good = refit(home, "jitter=0.2", "test");
  CHECK_NOTHROW(good.rule().check(good.question()));
  CHECK_THAT(refused(refit(home, "jitter=0.2", "train")),
             says("no split is called \"train\"") && says("questions.toml"));
  CHECK_THAT(refused(refit(home, "shiver=0.2", "test")), says("shiver") && says("questions.toml"));
  CHECK_THAT(refused(refit(home, "jitter=-1", "test")), says("jitter") && says("questions.toml"));
}

TEST_CASE("one of two clusters scales further where what is not published cannot turn it") {
  const Home home;
  home.cluster("quick", 25, "efficiency = [0.8, 0.9]");
  home.cluster("slow", 0.5, "efficiency = [0.8, 0.9]");
  const Truth decided = order(home, "64").truth();
  CHECK(decided.accepted == Keys{"quick"});
  CHECK(order(home, "64", {"slow", "quick"}).accepted() == Keys{"quick"});
  const auto figure = [](const Truth& truth, const char* name) {
    return number_of<double>(truth.figures.at(name)).value();
  };
  CHECK(figure(decided, "slow_high") < figure(decided, "quick_low"));
  CHECK(figure(decided, "slow_low") < figure(decided, "slow_high"));
  CHECK(decided.figures.at("term") == "efficiency of slow");
  CHECK(decided.source == "predicted");
  home.cluster("quick", 8, "efficiency = [0.05, 0.9]");
  const Truth open = order(home, "64").truth();
  CHECK(open.accepted == Keys{"cannot_tell"});
  CHECK(figure(open, "quick_low") < figure(open, "slow_high"));
  CHECK(open.figures.at("term") == "efficiency of quick");
}

TEST_CASE("a question of two clusters names both, and how many ranks") {
  const Home home;
  const AskedRule good = order(home, "64");
  CHECK_NOTHROW(good.rule().check(good.question()));
  CHECK_THAT(refused(order(home, "1")), says("ranks = \"1\" is no whole number from 2 on"));
  CHECK_THAT(refused(order(home, "many")), says("ranks = \"many\" is no whole number from 2 on"));
  CHECK_THAT(refused(order(home, "64", {"quick"})), says("compares two clusters"));
  CHECK_THAT(refused(order(home, "64", {"quick", "quick"})), says("compares two clusters"));
  AskedRule other = order(home, "64");
  CHECK_THAT(refused(other.choice("both", "both are equal")), says("never accepts \"both\""));
  CHECK_THAT(error_of([&] { order(home, "64").truth(); }), says("quick.toml"));
}

}  // namespace isobar::test_rules_clusters
