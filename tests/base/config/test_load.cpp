#include <cmath>
#include <set>
#include <sstream>

#include "config/keys.h"
#include "config/load.h"
#include "config/toml_text.h"
#include "core/files.h"
#include "core/pattern.h"
#include "core/random.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const std::filesystem::path kHome = project_home();

LoadedConfig load(const Settings& settings, const std::string& kind = "cpu") {
  return load_config(kHome, read_lesson(kHome, "01_baseline"), settings, kind);
}

bool same(Config one, Config other) {
  const std::vector<Key> ours = keys_of(one);
  const std::vector<Key> theirs = keys_of(other);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!same_value(ours[i].place, theirs[i].place)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("base.toml holds every key with its default and a comment") {
  Config config;
  const std::vector<Key> keys = keys_of(config);
  const std::vector<TomlEntry> entries = read_toml(kHome / "lessons/base.toml");
  CHECK(entries.size() == keys.size());
  Config from_file = load_config(kHome, read_lesson(kHome, "01_baseline"), {.preset = "base"}, "cpu").config;
  CHECK(same(from_file, config));  // the preset base changes nothing: it is the course's own size
  std::istringstream text(read_text_file(kHome / "lessons/base.toml", 1 << 20));
  std::size_t commented = 0;
  for (std::string line; std::getline(text, line);) {
    commented += matches_of(line, "^[a-z_0-9.]+ = .+  +# \\S+").size();
  }
  CHECK(commented == keys.size());
}

TEST_CASE("base.toml alone gives the defaults of the structs") {
  const TempFolder home;
  std::filesystem::create_directories(home / "lessons/presets");
  std::filesystem::copy(kHome / "lessons/base.toml", home / "lessons/base.toml");
  LessonInfo lesson;
  lesson.name = "test";
  CHECK(same(load_config(home.path(), lesson, {}, "cpu").config, Config{}));
}

TEST_CASE("presets hold size and data only") {
  const std::set<std::string> sizes = {"data.grid",
                                       "data.channels",
                                       "data.dt",
                                       "data.limit_train",
                                       "data.limit_valid",
                                       "model.embed",
                                       "model.depth",
                                       "model.heads",
                                       "model.patch",
                                       "optim.lr",
                                       "train.global_batch",
                                       "train.steps",
                                       "schedule.warmup_steps"};
  for (const std::string& name : preset_names(kHome)) {
    for (const TomlEntry& entry : read_toml(kHome / "lessons/presets" / (name + ".toml"))) {
      INFO(name << ": " << entry.key);
      CHECK(sizes.count(entry.key) == 1);
    }
  }
}

TEST_CASE("every preset loads, and they have the published batches and learning rates") {
  for (const std::string& name : preset_names(kHome)) CHECK(load({.preset = name}).preset == name);
  for (const int batch : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
    const Config config = load({.preset = "bs" + std::to_string(batch) + "_opt"}).config;
    CHECK(config.train.global_batch == batch);
    CHECK(config.optim.lr == Approx(5e-4 * std::sqrt(batch / 16.0)).epsilon(3e-3));
  }
  for (const char* name : {"base", "mp", "mp_te", "mp_bs16", "mp_bs32", "opt", "short_opt", "bs64_opt_short",
                           "mp_short", "mp_te_short", "cpu_attn", "cpu_small"}) {
    CHECK(load({.preset = name}).config.model.patch == 8);
  }
  CHECK(load({.preset = "mp_patch4"}).config.model.patch == 4);
  const Config brief = load({.preset = "short"}).config;
  CHECK(brief.data.limit_train == 512);
  CHECK(brief.data.limit_valid == 128);
  CHECK(brief.train.steps == 128);
  CHECK(brief.model.embed == 384);
}

TEST_CASE("with no preset named the lesson picks the one for the device") {
  CHECK(load({}, "cpu").preset == "cpu_tiny");
  CHECK(load({}, "cpu").preset_was_chosen);
  CHECK(load({}, "cuda").preset == "short");
  CHECK_FALSE(load({.preset = "cpu_micro"}).preset_was_chosen);
}

TEST_CASE("later layers win: base, preset, files in order, then --set") {
  const TempFolder folder;
  write_file_whole(folder / "one.toml", "[train]\nsteps = 7\nseed = 8\n[optim]\nlr = 1\n");
  write_file_whole(folder / "two.toml", "train.seed = 9\noptim.lr = 2.5\n");
  const Settings settings = {
      .preset = "cpu_micro",
      .config_files = {folder / "one.toml", folder / "two.toml"},
      .sets = {"optim.lr=0.125", "run.device=cpu", "data.root=/some/where", "data.grid=[40, 80]"}};
  const LoadedConfig loaded = load(settings);
  CHECK(loaded.config.data.grid == std::array<std::int64_t, 2>{40, 80});
  CHECK(loaded.config.data.root == "/some/where");
  CHECK(loaded.config.train.steps == 7);
  CHECK(loaded.config.train.seed == 9);
  CHECK(loaded.config.optim.lr == 0.125);
  CHECK(loaded.config.run.device == "cpu");
  CHECK(loaded.config.train.report_every == 10);
  CHECK(loaded.origins.at("train.steps").find("one.toml:2:1") != std::string::npos);
}

TEST_CASE("a configuration that was written loads again to the last bit") {
  const TempFolder folder;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Config config;
    config.optim.lr = uniform_at(seed, 1) * 1e-3 + 1e-9;
    config.optim.eps = uniform_at(seed, 2) * 1e-7 + 1e-12;
    config.optim.beta1 = uniform_at(seed, 3);
    config.train.steps = static_cast<std::int64_t>(below_at(seed, 4, 1'000'000)) + 1;
    config.data.shuffle = seed % 2 == 0;
    config.data.root = "/a \"quoted\" \\ path\twith\x01 signs";
    config.train.init = "";
    write_file_whole(folder / "run.toml", to_toml(config) + "\n[environment]\nhost = \"a\"\n");
    const LoadedConfig loaded = load({.config_files = {folder / "run.toml"}});
    CHECK(loaded.preset.empty());
    CHECK(same(loaded.config, config));
  }
}

TEST_CASE("the preset is picked for the device that is named, and the machine is asked only for auto") {
  int asked = 0;
  const auto kind = [&](Settings settings) {
    return preset_device_kind(settings, [&] {
      ++asked;
      return std::string("cuda");
    });
  };
  CHECK(kind({.sets = {"run.device=cpu"}}) == "cpu");
  CHECK(kind({.sets = {"run.device=cuda:1"}}) == "cuda");
  CHECK(kind({.sets = {"run.device=cuda", "run.device=cpu"}}) == "cpu");  // the last one holds
  CHECK(kind({.preset = "base"}) == "cpu");                               // nothing is picked
  CHECK(kind({.config_files = {"run.toml"}}) == "cpu");
  CHECK(asked == 0);
  CHECK(kind({}) == "cuda");
  CHECK(kind({.sets = {"run.device=auto", "optim.lr=1"}}) == "cuda");
  CHECK(asked == 2);
}

TEST_CASE("norms over the batch are refused where ranks share a model") {
  Config config;
  config.model.norm = NormKind::batch;
  CHECK_NOTHROW(validate(config, {}));
  config.run.ranks = config.mesh.tp = 2;
  CHECK_THAT(error_of([&] {
               validate(config, {{"model.norm", "--set"}});
             }),
             says("not made for split layers") && says("--set (model.norm)") && says("model.norm=layer"));
  config.model.norm = NormKind::layer;
  CHECK_NOTHROW(validate(config, {}));
}

TEST_CASE("a norm over a batch of one token is refused") {
  Config config;
  config.model.norm = NormKind::batch;
  config.data.grid = {8, 8};
  config.model.patch = 8;
  config.train.global_batch = 1;
  CHECK_THAT(error_of([&] { validate(config, {}); }), says("more than one token"));
  config.train.global_batch = 2;
  CHECK_NOTHROW(validate(config, {}));
}

TEST_CASE("buckets and buffers take what they name, and nothing else") {
  const auto refused = [](const std::string& set) {
    return error_of([&] { load_config(kHome, read_lesson(kHome, "10_buckets"), {.sets = {set}}, "cpu"); });
  };
  CHECK_THAT(refused("comm.bucket_order=backward"), says("one of: ready"));
  CHECK_THAT(refused("model.norm=group"), says("one of: layer"));
  CHECK_THAT(refused("comm.bucket_view=maybe"), says("comm.bucket_view"));
  CHECK_THAT(refused("model.buffers_mb=-1"), says("model.buffers_mb"));
  CHECK_THAT(refused("mesh.tp=2"), says("mesh.tp"));  // of a lesson that is not before it
  const auto early = [](const std::string& set) {
    return error_of([&] { load_config(kHome, read_lesson(kHome, "06_ddp"), {.sets = {set}}, "cpu"); });
  };
  CHECK_THAT(early("comm.bucket_order=forward"), says("comm.bucket_order"));
}
