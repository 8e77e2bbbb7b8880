#include <functional>

#include "config/check_fault.h"
#include "config/check_groups.h"
#include "config/load.h"
#include "config/samples.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

/// 72 x 144 in patches of 8: 9 x 18 = 162 tokens; 12 heads.
Config of_ranks(std::int64_t ranks, const std::function<void(Config&)>& change = {}) {
  Config config;
  config.data.grid = {72, 144};
  config.model.heads = 12;
  config.model.embed = 96;
  config.run.ranks = ranks;
  config.train.global_batch = 48;
  if (change) change(config);
  return config;
}

/// "" where nothing is refused.
std::string problem_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == Exit::bad_input);
    return error.text();
  }
  return "";
}

std::string refused_group(std::int64_t ranks, const std::function<void(Config&)>& change) {
  return problem_of([&] { validate(of_ranks(ranks, change), {}); });
}

}  // namespace

TEST_CASE("mesh.cp is what tp and pp leave of the ranks of a model, where nobody set it") {
  Config config = of_ranks(16, [](Config& c) {
    c.mesh.gpus_per_model = 8;
    c.mesh.tp = 2;
  });
  std::map<std::string, std::string> origins = {{"mesh.gpus_per_model", "--set mesh.gpus_per_model=8"}};
  derive_groups(config, origins);
  CHECK(config.mesh.cp == 4);
  CHECK(origins.at("mesh.cp") == "--set mesh.gpus_per_model=8");
  CHECK_NOTHROW(validate(config, origins));
  CHECK(models(config) == 2);

  config.mesh.cp = 2;
  derive_groups(config, origins);  // somebody set it
  CHECK(config.mesh.cp == 2);
  CHECK_THAT(error_of([&] { validate(config, origins); }),
             says("mesh.gpus_per_model = 8 is not mesh.tp x mesh.cp x mesh.pp = 2 x 2 x 1") &&
                 says("mesh.cp=4, or leave it out; or mesh.gpus_per_model=4"));

  for (const char* const file : {"runs/7/run.toml:40:1", "run.toml:40:1"}) {
    config.mesh.cp = 2;
    origins["mesh.cp"] = file;  // a run that continues with other ranks
    derive_groups(config, origins);
    CHECK(config.mesh.cp == 4);
    CHECK(origins.at("mesh.cp") == "--set mesh.gpus_per_model=8");
  }
  config.mesh.cp = 2;
  origins["mesh.cp"] = "runs/my-run.toml:1:1";
  derive_groups(config, origins);
  CHECK(config.mesh.cp == 2);

  config.mesh.cp = 1;
  config.mesh.tp = 3;
  origins = {};
  derive_groups(config, origins);
  CHECK(config.mesh.cp == 1);
  config.run.ranks = 3;
  CHECK_THAT(error_of([&] { validate(config, {}); }), says("a multiple of mesh.tp x mesh.pp = 3, such as 6"));
}

TEST_CASE("models and ensembles are whole numbers of ranks, and batches those of the source") {
  CHECK_THAT(refused_group(8, [](Config& c) { c.mesh.gpus_per_model = c.mesh.cp = 3; }),
             says("8 ranks cannot form models of 3 ranks") &&
                 says("--ranks 6, or a mesh.gpus_per_model that divides"));
  CHECK_THAT(refused_group(8,
                           [](Config& c) {
                             c.mesh.cp = 2;
                             c.mesh.gpus_per_ensemble = 3;
                           }),
             says("an ensemble of 3 ranks has no whole number of models of 2 ranks") && says("2, 4 or 8"));
  CHECK_THAT(refused_group(8, [](Config& c) { c.mesh.gpus_per_ensemble = 3; }),
             says("8 / 3 ranks an ensemble is no whole number of replicas") &&
                 says("--ranks 6, or mesh.gpus_per_ensemble of 1, 2, 4 or 8"));
  CHECK_THAT(refused_group(2, [](Config& c) { c.mesh.gpus_per_ensemble = 4; }), says("--ranks 4, or"));

  struct Example {
    std::int64_t ranks, model, batch;
  };
  // Ranks, ranks of a model and samples that the loader of each replica hands out: all of them 16 samples a
  // step.
  for (const Example& example : {Example{8, 2, 4}, Example{32, 2, 1}, Example{4, 1, 4}}) {
    const Config config = of_ranks(example.ranks, [&](Config& c) {
      c.mesh.gpus_per_model = c.mesh.cp = example.model;
      c.train.global_batch = 16;
    });
    CHECK_NOTHROW(validate(config, {}));
    CHECK(micro_batch(config) == example.batch);
    CHECK(replicas(config) * example.batch == 16);
  }
  const Config ensemble = of_ranks(16, [](Config& c) {
    c.mesh.gpus_per_model = c.mesh.cp = 2;
    c.mesh.gpus_per_ensemble = 8;
    c.mesh.members_per_device = 2;
    c.train.accumulate = 3;
  });
  CHECK_NOTHROW(validate(ensemble, {}));
  CHECK(models(ensemble) == 8);
  CHECK(models_of_ensemble(ensemble) == 4);
  CHECK(members(ensemble) == 8);
  CHECK(replicas(ensemble) == 2);
  CHECK(micro_batch(ensemble) == 8);
}

TEST_CASE("what reads samples of its own is named: ranks, models, or ensembles of models") {
  const auto shared = [](std::int64_t ranks, std::int64_t model, std::int64_t ensemble) {
    return refused_group(ranks, [&](Config& c) {
      c.mesh.gpus_per_model = c.mesh.cp = model;
      c.mesh.gpus_per_ensemble = ensemble;
      c.train.global_batch = 3;
    });
  };
  CHECK_THAT(shared(2, 1, 0), says("a batch of 3 samples cannot be divided over 2 ranks"));
  CHECK_THAT(shared(8, 2, 0), says("cannot be divided over 4 models of 2 ranks"));
  CHECK_THAT(shared(8, 2, 2), says("cannot be divided over 4 models of 2 ranks"));
  CHECK_THAT(shared(8, 2, 4), says("cannot be divided over 2 ensembles of 4 ranks"));
  CHECK_THAT(shared(4, 1, 2), says("cannot be divided over 2 ensembles of 2 ranks"));

  LoadedConfig few;
  few.config = of_ranks(8, [](Config& c) {
    c.mesh.gpus_per_model = c.mesh.cp = 2;
    c.mesh.gpus_per_ensemble = 4;
    c.data.limit_valid = 8;
  });
  CHECK_THAT(error_of([&] { check_enough_samples(few); }),
             says("2 ensembles of 4 ranks with 24 validation samples each want 48") &&
                 says("data.limit_valid=48 or more"));
  few.config.data.limit_valid = 48;
  CHECK_NOTHROW(check_enough_samples(few));
}

TEST_CASE("shares of tokens that cannot be are refused with those that can") {
  const auto shares = [](std::int64_t cp, const std::function<void(Config&)>& change = {}) {
    return refused_group(cp, [&](Config& c) {
      c.mesh.cp = cp;
      if (change) change(c);
    });
  };
  CHECK(shares(4).empty());
  CHECK_THAT(shares(3,
                    [](Config& c) {
                      c.data.grid = {8, 16};
                    }),
             says("2 tokens cannot be shared out over mesh.cp = 3") && says("mesh.cp=2 at most"));
  const auto window = [&](std::int64_t tokens) {
    return shares(4, [&](Config& c) { c.model.window = tokens; });
  };
  CHECK(window(39).empty());  // 41, 41, 41, 39
  CHECK_THAT(window(40),
             says("a window of 40 tokens") && says("with 39 tokens") && says("model.window=39 at most"));
  const auto alone = [&](std::int64_t tokens) {
    return refused_group(1, [&](Config& c) { c.model.window = tokens; });
  };
  CHECK(alone(162).empty());
  CHECK_THAT(alone(163), says("a window of 163 tokens reaches beyond a sample with 162 tokens") &&
                             says("model.window=162 at most, or a smaller model.patch"));
  const auto all_to_all = [&](std::int64_t cp, std::int64_t tp) {
    return refused_group(cp * tp, [&](Config& c) {
      c.mesh.cp = cp;
      c.mesh.tp = tp;
      c.mesh.cp_comm = ContextForm::a2a;
    });
  };
  CHECK(all_to_all(4, 1).empty());
  CHECK(all_to_all(3, 2).empty());
  CHECK_THAT(all_to_all(5, 1), says("the 12 heads of a rank over mesh.cp = 5"));
  CHECK_THAT(all_to_all(4, 2), says("the 6 heads of a rank") && says("model.heads / mesh.tp = 6"));
  CHECK_THAT(shares(2, [](Config& c) { c.model.norm = NormKind::batch; }),
             says("model.norm=layer, or mesh.cp=1"));
  CHECK_THAT(shares(2, [](Config& c) { c.model.dropout = 0.1; }), says("model.dropout=0, or mesh.cp=1"));
  CHECK_THAT(refused_group(4,
                           [](Config& c) {
                             c.mesh.cp = c.mesh.tp = 2;
                             c.mesh.sequence_parallel = true;
                           }),
             says("mesh.sequence_parallel=false, or mesh.cp=1"));
}

TEST_CASE(
    "read groups divide the ranks of a model and the rows of the grid, and a rollout takes the whole model") {
  const auto read = [](std::int64_t ranks, std::int64_t group, std::int64_t rows = 72) {
    return refused_group(ranks, [&](Config& c) {
      c.mesh.cp = ranks;
      c.data.read_group = group;
      c.data.grid[0] = rows;
      c.model.patch = 1;
    });
  };
  CHECK(read(4, 2).empty());
  CHECK(read(4, 4).empty());
  CHECK_THAT(read(4, 3),
             says("4 ranks of a model cannot form groups of 3") && says("data.read_group of 1, 2 or 4"));
  CHECK_THAT(read(1, 2), says("1 rank of a model") && says("data.read_group of 1"));
  CHECK_THAT(read(4, 4, 6), says("6 rows of a field are no 4 bands") && says("data.read_group of 1 or 2"));
  const auto rollout = [](std::int64_t pp) {
    return refused_group(pp, [&](Config& c) {
      c.mesh.pp = pp;
      c.train.rollout = 2;
    });
  };
  CHECK(rollout(1).empty());
  CHECK_THAT(rollout(2), says("train.rollout") && says("mesh.pp=1, or train.rollout=1"));
  CHECK_THAT(refused_group(2,
                           [](Config& c) {
                             c.mesh.tp = 2;
                             c.mesh.sequence_parallel = true;
                             c.train.rollout = 2;
                           }),
             says("train.rollout") && says("mesh.sequence_parallel=false, or train.rollout=1"));
}

TEST_CASE("faults of tokens, ensembles and read groups want what they spoil") {
  const auto fault = [](Fault fault, std::int64_t ranks, const std::function<void(Config&)>& change = {}) {
    const Config config = of_ranks(ranks, [&](Config& c) {
      c.run.fault = fault;
      if (change) change(c);
    });
    return problem_of([&] { take_fault(config, 0, "cpu"); });
  };
  const auto tokens = [](Config& c) { c.mesh.cp = 2; };
  for (const Fault one : {Fault::no_cp_reduce, Fault::reduce_all, Fault::no_init_sync}) {
    CHECK_THAT(fault(one, 2), says("mesh.cp is 1") && says("--set mesh.cp=2"));
    CHECK(fault(one, 2, tokens).empty());
  }
  CHECK_THAT(fault(Fault::assume_even, 2, tokens), says("with mesh.cp = 2 they are even"));
  CHECK(fault(Fault::assume_even, 4, [](Config& c) { c.mesh.cp = 4; }).empty());
  CHECK_THAT(fault(Fault::no_init_sync, 2,
                   [](Config& c) {
                     c.mesh.cp = 2;
                     c.train.init = "weights.safetensors";
                   }),
             says("leave out train.init"));
  CHECK_THAT(fault(Fault::same_noise, 2), says("a sample has one") && says("mesh.members_per_device=2"));
  CHECK(fault(Fault::same_noise, 1, [](Config& c) { c.mesh.members_per_device = 2; }).empty());
  for (const Fault one : {Fault::ens_gradient_small, Fault::ens_other_dates}) {
    CHECK_THAT(fault(one, 2, [](Config& c) { c.mesh.members_per_device = 2; }),
               says("between the models of an ensemble") && says("mesh.gpus_per_ensemble=2"));
    CHECK(fault(one, 2, [](Config& c) { c.mesh.gpus_per_ensemble = 2; }).empty());
  }
  CHECK_THAT(fault(Fault::ens_members_wrong, 2, [](Config& c) { c.mesh.gpus_per_ensemble = 2; }),
             says("a model has one"));
  CHECK_THAT(fault(Fault::read_all, 2, tokens), says("data.read_group is 1") && says("data.read_group=2"));
}

TEST_CASE("settings of anemoi are refused with their names here") {
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  const auto refused = [&](const std::string& set) {
    return error_of([&] { load_config(project_home(), lesson, {.sets = {set}}, "cpu"); });
  };
  CHECK_THAT(refused("system.hardware.num_gpus_per_model=2"), says("it is mesh.gpus_per_model here"));
  CHECK_THAT(refused("num_gpus_per_ensemble=2"), says("it is mesh.gpus_per_ensemble here"));
  CHECK_THAT(refused("dataloader.read_group_size=2"), says("it is data.read_group here"));
  CHECK_THAT(refused("training.ensemble_size_per_device=4"), says("it is mesh.members_per_device here"));
  CHECK_THAT(refused("training.accum_grad_batches=4"), says("it is train.accumulate here"));
  CHECK_THAT(refused("task.rollout.maximum=12"), says("it is train.rollout here"));
  CHECK_THAT(refused("lr=1"), says("lessons/base.toml"));
}
