#include "launch/mesh.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

using Groups = std::vector<std::vector<int>>;

TEST_CASE("the groups of the tutorial: 8 ranks, tp 4, dp 2") {
  const Mesh mesh("tp-cp-pp-dp", {.tp = 4, .dp = 2}, 8);
  CHECK(mesh.groups("tp") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(mesh.groups("dp") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(mesh.group_of(5, "tp") == std::vector<int>{4, 5, 6, 7});
  CHECK(mesh.group_of(5, "dp") == std::vector<int>{1, 5});
  CHECK(mesh.groups("cp").size() == 8);
}

TEST_CASE("the groups of the tutorial: 32 ranks, tp 2, cp 2, dp 8") {
  const Mesh mesh("tp-cp-dp", {.tp = 2, .cp = 2, .dp = 8}, 32);
  CHECK(mesh.groups("tp").front() == std::vector<int>{0, 1});
  CHECK(mesh.groups("tp")[1] == std::vector<int>{2, 3});
  CHECK(mesh.groups("cp")[0] == std::vector<int>{0, 2});
  CHECK(mesh.groups("cp")[1] == std::vector<int>{1, 3});
  CHECK(mesh.groups("cp")[2] == std::vector<int>{4, 6});
  CHECK(mesh.groups("dp")[0] == std::vector<int>{0, 4, 8, 12, 16, 20, 24, 28});
  CHECK(mesh.groups("dp")[1] == std::vector<int>{1, 5, 9, 13, 17, 21, 25, 29});
  CHECK(mesh.groups("dp").size() == 4);
  CHECK(mesh.groups("tp-cp")[1] == std::vector<int>{4, 5, 6, 7});
  CHECK(mesh.groups("dp-cp")[0] ==
        std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
}

TEST_CASE("a rank is its coordinates, and every rank is in one group of every kind") {
  const MeshSizes sizes{.tp = 2, .cp = 3, .pp = 2, .dp = 2};
  for (const std::string order : {"tp-cp-pp-dp", "dp-pp-cp-tp", "pp-tp-dp-cp"}) {
    const Mesh mesh(order, sizes, 24);
    for (const std::string axes : {"tp", "cp", "pp", "dp", "tp-cp", "dp-cp"}) {
      std::vector<int> seen(24, 0);
      for (const std::vector<int>& group : mesh.groups(axes)) {
        CHECK(std::is_sorted(group.begin(), group.end()));
        for (const int rank : group) ++seen[static_cast<std::size_t>(rank)];
      }
      CHECK(seen == std::vector<int>(24, 1));
    }
  }
  const Mesh mesh("tp-cp-pp-dp", sizes, 24);
  for (int rank = 0; rank < 24; ++rank) {
    CHECK(rank == mesh.coordinate(rank, "tp") +
                      2 * (mesh.coordinate(rank, "cp") +
                           3 * (mesh.coordinate(rank, "pp") + 2 * mesh.coordinate(rank, "dp"))));
  }
}

TEST_CASE("data-parallel ranks fall into neighbours that share states, and copies of them") {
  const Mesh plain("tp-cp-pp-dp", {.dp = 4, .shard = 2}, 4);
  CHECK(plain.groups("shard") == Groups{{0, 1}, {2, 3}});
  CHECK(plain.groups("copies") == Groups{{0, 2}, {1, 3}});
  const Mesh split("tp-cp-pp-dp", {.tp = 2, .dp = 4, .shard = 2}, 8);
  CHECK(split.groups("shard") == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(split.groups("copies") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(split.groups("shard-copies") == split.groups("dp"));
  const Mesh all("dp-tp", {.tp = 2, .dp = 2}, 4);
  CHECK(all.groups("shard") == all.groups("dp"));
  CHECK(all.groups("copies").size() == 4);
}

TEST_CASE("data-parallel ranks fall into ensembles, whose models forecast the same samples") {
  // 16 ranks, 2 a model, 8 an ensemble: 2 ensembles of 4 models, as anemoi numbers them.
  const Mesh mesh("tp-cp-pp-dp", {.cp = 2, .dp = 8, .ens = 4}, 16);
  CHECK(mesh.groups("tp-cp-pp")[3] == std::vector<int>{6, 7});
  CHECK(mesh.groups("ens") == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}});
  CHECK(mesh.groups("data")[0] == std::vector<int>{0, 8});
  CHECK(mesh.groups("data").size() == 8);
  CHECK(mesh.groups("ens-data") == mesh.groups("dp"));
  CHECK(mesh.groups("tp-cp-pp-ens")[1] == std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15});
  const Mesh alone("tp-cp-pp-dp", {.tp = 2, .dp = 2}, 4);
  CHECK(alone.groups("ens").size() == 4);
  CHECK(alone.groups("data") == alone.groups("dp"));
}

TEST_CASE("groups are cut in runs of neighbours, such as those that read together") {
  const Mesh mesh("tp-cp-pp-dp", {.tp = 2, .cp = 2, .dp = 2}, 8);
  CHECK(mesh.runs("tp-cp-pp", 2) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(mesh.runs("tp-cp-pp", 4) == mesh.groups("tp-cp-pp"));
  CHECK(mesh.runs("tp-cp-pp", 1).size() == 8);
  CHECK(Mesh("dp-tp", {.tp = 4, .dp = 2}, 8).runs("tp-cp-pp", 2) == Groups{{0, 2}, {4, 6}, {1, 3}, {5, 7}});
  CHECK_THAT(error_of([&] { mesh.runs("tp-cp-pp", 3); }, Exit::failed),
             says("4 ranks cannot be cut in runs of 3"));
  CHECK_THROWS_AS(mesh.runs("tp-cp-pp", 0), Error);
}

TEST_CASE("meshes that are none are refused") {
  const auto refused = [](const std::string& order, const MeshSizes& sizes, int world,
                          const std::string& why) {
    CHECK_THAT(error_of([&] { Mesh(order, sizes, world); }), says(why));
  };
  refused("tp-dp", {.tp = 2, .cp = 2, .dp = 2}, 8, "cp");
  refused("tp-xp", {}, 1, "xp");
  refused("", {}, 1, "no axis");
  refused("tp-tp", {.tp = 2}, 2, "twice");
  refused("tp-dp-", {}, 1, "no axis");
  refused("tp-dp", {.tp = 2, .dp = 2}, 8, "4 places");
  refused("tp-dp", {.tp = 0, .dp = 2}, 2, "size 0");
  refused("tp-dp", {.tp = 16, .dp = 1}, 8, "size 16");
  refused("tp-dp", {.tp = 2, .dp = 4, .shard = 3}, 8, "size 4 cannot be cut in groups of 3");
  refused("tp-dp", {.tp = 2, .dp = 4, .ens = 3}, 8, "size 4 cannot be cut in groups of 3");
  refused("shard-dp", {.dp = 4, .shard = 2}, 4, "shard");
  CHECK_THROWS_AS(Mesh("dp", {.dp = 2}, 2).groups("up"), Error);
  CHECK_THROWS_AS(Mesh("dp", {.dp = 2}, 2).group_of(2, "dp"), Error);
  CHECK(Mesh("dp", {.dp = 4}, 4).size("tp") == 1);
}
