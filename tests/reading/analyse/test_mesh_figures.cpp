// Ranks of a mesh on nodes: groups, bytes of each axis, which links carry them, and what is placed badly.
#include <algorithm>
#include <numeric>

#include "analyse/mesh_figures.h"
#include "core/text.h"
#include "formula/context_parallel.h"
#include "formula/group_traffic.h"
#include "formula/link.h"
#include "formula/model_shape.h"
#include "formula/tensor_parallel.h"
#include "formula/vit_memory.h"
#include "support/catch.h"
#include "support/made_ranks.h"
#include "support/says.h"

namespace isobar::test_mesh_figures {

namespace {

/// Keys of a mesh, with gradients in one message behind a pipeline's step.
LessonInfo lesson() {
  LessonInfo out;
  out.name = "15_pipeline";
  out.honours = {"mesh.pp", "mesh.order"};
  return out;
}

Config config_of(std::int64_t tp, std::int64_t cp, std::int64_t pp, std::int64_t dp) {
  Config out;
  out.data.grid = {72, 144};
  out.model.embed = 96;
  out.model.depth = 4;
  out.model.heads = 12;
  out.amp.mode = AmpMode::none;
  out.mesh.tp = tp;
  out.mesh.cp = cp;
  out.mesh.pp = pp;
  out.run.ranks = tp * cp * pp * dp;
  out.train.accumulate = pp > 1 ? 4 : 1;
  out.train.global_batch = 8 * dp;
  return out;
}

MeshFigures figures(const Config& config, int per_node) {
  return mesh_figures(lesson(), config, neighbours_on_nodes(static_cast<int>(config.run.ranks), per_node));
}

const AxisFigures& axis_of(const MeshFigures& mesh, const char* name) {
  const AxisFigures* const found = mesh.find(name);
  REQUIRE(found != nullptr);
  return *found;
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_CASE("axes of two ranks or more have groups, bytes by formula, and the nodes that they lie on") {
  const Config config = config_of(2, 1, 2, 4);
  const MeshFigures mesh = figures(config, 4);
  REQUIRE(mesh.axes.size() == 3);
  CHECK(mesh.nodes.count() == 4);
  const AxisFigures &tp = axis_of(mesh, "tp"), &pp = axis_of(mesh, "pp"), &dp = axis_of(mesh, "dp");
  CHECK(tp.groups.front() == std::vector<int>{0, 1});
  CHECK(pp.groups.at(1) == std::vector<int>{1, 3});
  CHECK(dp.groups.at(1) == std::vector<int>{1, 5, 9, 13});
  CHECK((tp.across == 0 && pp.across == 0 && dp.across == 4));
  const VitShape shape = vit_shape(config);
  const TensorParallelForm form{.tp = 2, .samples = 8};
  CHECK(tp.bytes == Approx(tensor_parallel_wire_bytes(shape, form) / 2));
  CHECK(pp.bytes == Approx(2 * 4 * 4.0 * 2 * static_cast<double>(shape.tokens() * shape.embed) / 2));
  CHECK(pp.calls == 4.0);
  CHECK(dp.bytes == Approx(ring_bytes(4, 2.0 * static_cast<double>(parameters_on_rank(shape, 2)))));
  CHECK(dp.calls == 1.0);
  for (const AxisFigures& axis : mesh.axes) {
    CHECK(axis.problem.empty());
    CHECK(sum(axis.inside) + sum(axis.between) == Approx(16 * axis.bytes));
  }
  CHECK(sum(dp.inside) == 0);
  CHECK(mesh.between().total() == Approx(4 * dp.bytes));
  CHECK(mesh.inside().by_axis.at(0) == Approx(4 * tp.bytes));
  CHECK(mesh.better_order.empty());
}

TEST_CASE("split layers send own tokens, and each stage of shared tokens sums its gradients once") {
  const Config config = config_of(2, 3, 2, 1);  // 162 tokens, 54 a rank
  const MeshFigures mesh = figures(config, 12);
  const TensorParallelForm form{.tp = 2, .samples = 8, .tokens = 54};
  CHECK(axis_of(mesh, "tp").bytes == Approx(tensor_parallel_wire_bytes(vit_shape(config), form) / 2));
  // Four passes, each a gather and a scatter in two of four blocks, and one end of the model; the sum.
  CHECK(axis_of(mesh, "cp").calls == 4 * (2 * 2 + 1) + 1.0);
}

TEST_CASE("all-to-all over nodes of unequal parts of a group goes from each rank to each") {
  Config config = config_of(1, 3, 1, 1);
  config.mesh.cp_comm = ContextForm::a2a;
  const AxisFigures cp = axis_of(figures(config, 2), "cp");
  double blocks = 0;
  for (int rank = 0; rank < 3; ++rank)
    blocks += context_step(vit_shape(config), {.cp = 3, .way = ContextForm::a2a, .samples = 8}, rank)
                  .blocks.bytes();
  // Two of six pairs are inside a node, two leave either; a ring of three has one, one and one.
  const double rest = 3 * cp.bytes - blocks;
  CHECK(cp.inside.at(0) == Approx(blocks / 3 + rest / 3));
  CHECK(cp.inside.at(1) == 0);
  CHECK(cp.between.at(0) == Approx(blocks / 3 + rest / 3));
  CHECK(cp.between.at(1) == Approx(blocks / 3 + rest / 3));
}

TEST_CASE("a ring leaves a node once, however many of its ranks are there; all-to-all as often as it must") {
  const MeshFigures ring = figures(config_of(1, 1, 1, 4), 2);
  const AxisFigures& dp = axis_of(ring, "dp");
  CHECK(dp.inside == std::vector<double>{dp.bytes, dp.bytes});
  CHECK(dp.between == dp.inside);
  CHECK(dp.across == 1);
  Config config = config_of(1, 4, 1, 1);
  config.mesh.cp_comm = ContextForm::a2a;
  const ContextParallelForm form{.cp = 4, .way = ContextForm::a2a, .samples = 8};
  double blocks = 0, rest = 0;  // sums over all ranks
  for (int rank = 0; rank < 4; ++rank) {
    const ContextStep step = context_step(vit_shape(config), form, rank);
    blocks += step.blocks.bytes();
    rest += step.bytes() - step.blocks.bytes();
  }
  const AxisFigures cp = axis_of(figures(config, 2), "cp");
  CHECK(cp.bytes == Approx((blocks + rest) / 4));
  CHECK(sum(cp.between) == Approx(blocks * 2 / 3 + rest / 2));
  config.model.window = 9;
  const AxisFigures window = axis_of(figures(config, 2), "cp");
  CHECK(sum(window.inside) + sum(window.between) == Approx(4 * window.bytes));
  // Halos cross the middle of the line only: a third of them.
  ContextParallelForm halo = form;
  double halos = 0;
  for (int rank = 0; rank < 4; ++rank) halos += context_step(vit_shape(config), halo, rank).blocks.bytes();
  CHECK(sum(window.between) == Approx(halos / 3 + (4 * window.bytes - halos) / 2));
}

TEST_CASE("an axis that leaves nodes and need not is placed badly") {
  Config config = config_of(2, 1, 2, 4);
  config.mesh.order = "dp-pp-tp";
  const MeshFigures mesh = figures(config, 4);
  CHECK_THAT(axis_of(mesh, "tp").problem,
             says("tp leaves nodes, and would stay inside with mesh.order = tp-"));
  CHECK(axis_of(mesh, "dp").problem.empty());
  const MeshFigures good = figures(config_of(2, 1, 2, 4), 4);
  CHECK(mesh.better_order == "tp-dp-pp");  // stages send a little less than replicas here
  CHECK(mesh.better_between < good.between().total());
  CHECK(mesh.better_between > good.between().total() / 2);  // which is no reason for another order
  CHECK_THAT(
      joined(mesh_sentences(mesh), "\n"),
      says("placed badly: tp") && says("with mesh.order = \"" + mesh.better_order + "\" a node would"));
  CHECK_THAT(axis_of(figures(config_of(4, 1, 1, 1), 2), "tp").problem, says("more ranks than a node"));
  CHECK(mesh_sentences(good).empty());
  CHECK(axis_of(figures(config_of(1, 1, 1, 8), 4), "dp").problem.empty());
}

TEST_CASE("shards and their copies, ensembles and read groups are axes of their own") {
  Config config = config_of(1, 1, 1, 8);
  config.mesh.zero = 3;
  config.mesh.shard = 4;
  const MeshFigures sharded = figures(config, 4);
  CHECK(sharded.find("dp") == nullptr);
  CHECK(axis_of(sharded, "shard").across == 0);
  CHECK(axis_of(sharded, "copies").across == 4);
  config = config_of(2, 1, 1, 4);
  config.mesh.gpus_per_ensemble = 4;
  config.mesh.members_per_device = 2;
  config.data.read_group = 2;
  const MeshFigures groups = figures(config, 4);
  CHECK(axis_of(groups, "ens").groups.front() == std::vector<int>{0, 2});
  CHECK(axis_of(groups, "ens").bytes == Approx(ensemble_traffic(config).gather_bytes));
  CHECK(axis_of(groups, "read").groups.back() == std::vector<int>{6, 7});
  CHECK(axis_of(groups, "read").bytes == Approx(read_traffic(config).gather_bytes));
  CHECK(axis_of(groups, "dp").size == 4);
}

TEST_CASE("JSON has groups, bytes and loads of a mesh") {
  Config config = config_of(2, 1, 1, 2);
  config.mesh.order = "dp-tp";
  const MeshFigures mesh = figures(config, 2);
  const Json json = mesh_json(mesh);
  CHECK(json["ranks"].as_integer() == 4);
  CHECK(json["node_of_rank"].values().size() == 4);
  REQUIRE(json["axes"].values().size() == 2);
  const Json& tp = json["axes"][1];
  CHECK(tp["axis"].as_text() == "tp");
  CHECK(tp["groups"][0][1].as_integer() == 2);
  CHECK(tp["bytes"].as_number() == Approx(mesh.axes.at(1).bytes));
  CHECK(tp["measured_bytes"] == Json());
  CHECK(json["between"]["by_axis"]["tp"].as_number() == Approx(mesh.between().total()));
  CHECK(json["better_order"].as_text() == "tp-dp");
}

TEST_CASE("a run has the hosts of its ranks, and what they counted beside the formula") {
  const TempFolder folder;
  MadeRanks made{.world = 4, .lesson = "15_pipeline"};
  made.config = "[mesh]\ntp = 2\npp = 2\n\n[run]\nranks = 4\n\n[train]\naccumulate = 4\n";
  made.more = [](int, int, JsonLine& line) {
    line.add("comm_calls", 40).add("wire_bytes", 9000).add("tp_calls", 33).add("tp_wire_bytes", 5000);
    line.add("pipe_calls", 4).add("pipe_bytes", 3000).add("pipe_us", 9).add("pipe_busy_us", 8);
    line.add("pipe_kept", 2);
  };
  made.write(folder);
  made.host = "node-2";
  for (const int rank : {2, 3})
    write_file_whole(RunFolder{folder.path()}.stream_file(rank), std::string_view(made.stream(rank)));
  const MeshFigures mesh = mesh_of_run(folder.path(), "15_pipeline", false, read_ranks(folder.path()));
  CHECK(mesh.nodes.of_rank == std::vector<int>{0, 0, 1, 1});
  CHECK(mesh.nodes.name(1) == "node-2");
  CHECK(mesh.is_measured);
  CHECK(axis_of(mesh, "tp").measured_bytes == 5000.0);
  CHECK(axis_of(mesh, "pp").measured_calls == 4.0);
  CHECK(axis_of(mesh, "pp").across == 2);
  const MeshFigures alone = mesh_of_run(folder.path(), "15_pipeline", false, read_ranks(folder.path()), 1);
  CHECK(alone.nodes.count() == 4);
  CHECK_THAT(axis_of(alone, "tp").problem, says("more ranks than a node"));
  CHECK_THAT(error_of([&] { mesh_of_run(folder.path(), "15_nothing", false, read_ranks(folder.path())); }),
             says("the settings of the run are not of this version"));
}

TEST_CASE("what an ensemble and read groups sent is theirs, and no gradient") {
  MadeRanks made{.world = 8, .lesson = "17_groups"};
  made.config =
      "[mesh]\ntp = 2\npp = 2\ngpus_per_ensemble = 8\n\n[data]\nread_group = 2\n\n[run]\nranks = 8\n\n"
      "[train]\naccumulate = 2\n";
  bool names_parts = true;
  made.more = [&](int rank, int, JsonLine& line) {
    line.add("comm_calls", 40).add("wire_bytes", 9000).add("tp_calls", 20).add("tp_wire_bytes", 4000);
    line.add("pipe_calls", 4).add("pipe_bytes", 2000).add("pipe_kept", 2);
    if (!names_parts) return;
    line.add("read_calls", 2).add("read_wire_bytes", 700);
    if (rank % 4 >= 2) line.add("ens_calls", 2).add("ens_wire_bytes", 600);  // the last stage
  };
  const auto mesh_now = [&] {
    const TempFolder folder;
    made.write(folder);
    return mesh_of_run(folder.path(), "17_groups", false, read_ranks(folder.path()));
  };
  const MeshFigures mesh = mesh_now();
  CHECK(axis_of(mesh, "ens").measured_bytes == 300.0);  // a rank's mean, as the formula's
  CHECK(axis_of(mesh, "ens").measured_calls == 1.0);
  CHECK(axis_of(mesh, "ens").calls == 1.0);
  CHECK(axis_of(mesh, "read").measured_bytes == 700.0);
  CHECK(axis_of(mesh, "read").measured_calls == 2.0);
  CHECK(axis_of(mesh, "dp").measured_bytes == 9000.0 - 4000 - 2000 - 300 - 700);
  CHECK(axis_of(mesh, "dp").measured_calls == 40.0 - 20 - 2 * 4 - 1 - 2);
  names_parts = false;  // a run that was made before they were counted apart
  const MeshFigures older = mesh_now();
  CHECK(axis_of(older, "tp").measured_bytes == 4000.0);
  for (const char* const axis : {"ens", "read", "dp"}) CHECK_FALSE(axis_of(older, axis).measured_bytes);
}

TEST_CASE("what is no mesh on these nodes is refused") {
  const Config config = config_of(2, 1, 1, 2);
  CHECK_THAT(error_of([] { neighbours_on_nodes(4, 0); }), says("a node has no ranks") && says("from 1 on"));
  CHECK_THAT(error_of([&] { mesh_figures(lesson(), config, neighbours_on_nodes(3, 2)); }),
             says("nodes are known of 3 ranks, and there are 4"));
  LessonInfo alone = lesson();
  alone.stands_alone = true;
  CHECK_THAT(error_of([&] { mesh_figures(alone, config, neighbours_on_nodes(4, 2)); }),
             says("lessons with a transformer"));
  Config odd = config;
  odd.mesh.order = "tp-xp-dp";
  CHECK_THAT(error_of([&] { figures(odd, 2); }), says("no axis of the mesh"));
  odd = config;
  odd.run.ranks = 3;
  CHECK_THAT(error_of([&] { figures(odd, 2); }), says("there are 3"));
  odd.run.ranks = 100'000;
  CHECK_THAT(error_of([&] { figures(odd, 8); }), says("too many ranks"));
  CHECK(mesh_sentences(figures(config_of(1, 1, 1, 1), 1)) ==
        std::vector<std::string>{"one rank: nothing is sent"});
}

}  // namespace isobar::test_mesh_figures
