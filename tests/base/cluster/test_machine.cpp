#include <cmath>

#include "cluster/profile.h"
#include "cluster/terms.h"
#include "core/files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

ClusterMachine read_text(const std::string& text) {
  const TempFolder place;
  write_file_whole(place / "ours.toml", std::string_view(text));
  return read_cluster(place / "ours.toml");
}

std::string refused_machine(const std::string& text) {
  return error_of([&] { read_text(text); });
}

}  // namespace

TEST_CASE("bus bandwidth lies on a line over logarithms between what was measured") {
  const ClusterMachine machine = {.gpus_per_node = 8,
                                  .inside_gb_s = 230,
                                  .between_gb_s = 25,
                                  .busbw_by_nodes = {{1, 436}, {2, 360}, {8, 90}}};
  CHECK(bus_gb_s(machine, 1, 8, 0) == 436);
  CHECK(bus_gb_s(machine, 2, 8, 0.5) == 360);  // measured ones have no falloff
  CHECK(bus_gb_s(machine, 4, 8, 0) == Approx(180));
  CHECK(bus_gb_s(machine, 8, 8, 0) == Approx(90));
  CHECK(bus_gb_s(machine, 32, 8, 0) == Approx(22.5));  // along the line of the last two
}

TEST_CASE("links inside a node say nothing about the network") {
  const ClusterMachine two = {.gpus_per_node = 8, .busbw_by_nodes = {{1, 400}, {2, 80}}};
  CHECK(bus_gb_s(two, 2, 8, 0.05) == 80);
  CHECK(bus_gb_s(two, 64, 8, 0.05) == Approx(80 * std::pow(0.95, 5)));
  const ClusterMachine four = {.gpus_per_node = 8, .busbw_by_nodes = {{1, 400}, {4, 80}}};
  CHECK(bus_gb_s(four, 2, 8, 0.05) == 80);
  const ClusterMachine rising = {.gpus_per_node = 8, .busbw_by_nodes = {{2, 80}, {4, 90}}};
  CHECK(bus_gb_s(rising, 64, 8, 0) == 90);
  CHECK(!knows_network({.busbw_by_nodes = {{1, 400}}}));
  CHECK(knows_network(two));
}

TEST_CASE("without measurements all cards of a node work together, less the falloff") {
  const ClusterMachine machine = {.gpus_per_node = 4, .inside_gb_s = 60, .between_gb_s = 25};
  CHECK(bus_gb_s(machine, 1, 4, 0.1) == 60);
  CHECK(bus_gb_s(machine, 2, 4, 0.1) == 60);
  CHECK(bus_gb_s(machine, 2, 2, 0.1) == 50);
  CHECK(bus_gb_s(machine, 8, 2, 0.1) == Approx(50 * 0.81));
  const ClusterMachine with_one = {
      .gpus_per_node = 2, .inside_gb_s = 60, .between_gb_s = 25, .busbw_by_nodes = {{1, 55}}};
  CHECK(bus_gb_s(with_one, 1, 2, 0) == 55);
  CHECK(bus_gb_s(with_one, 2, 2, 0) == 50);
}

TEST_CASE("a profile's table [machine] is read, and its other tables are those of jobs") {
  const ClusterMachine machine = read_text(
      "title = \"Ours\"\n[job]\ngpus_per_node = 4\n[machine]\ngpu = \"X\"\ngpus_per_node = 4\nbetween_gb_s = "
      "12.5\n"
      "busbw_by_nodes = [[1, 199], [2.0, 85.5]]\nunknown = { jitter = [0.01, 0.05], between_gb_s = [10, 20] "
      "}\n");
  CHECK(machine.name == "ours");
  CHECK(machine.gpus_per_node == 4);
  CHECK(machine.between_gb_s == 12.5);
  REQUIRE(machine.busbw_by_nodes.size() == 2);
  CHECK(machine.busbw_by_nodes[1].gb_s == 85.5);
  REQUIRE(machine.unknown.size() == 2);
  ClusterMachine one = machine;
  SimulationTerms terms;
  for (const UnknownTerm& term : machine.unknown) set_unknown(one, terms, term.key, term.most);
  CHECK(terms.jitter == 0.05);
  CHECK(one.between_gb_s == 20);
  CHECK_THAT(error_of([&] { set_unknown(one, terms, "luck", 1); }), Says("no term \"luck\""));
}

TEST_CASE("a table [machine] that is wrong is refused with its place") {
  CHECK_THAT(refused_machine("title = \"X\"\n"), Says("no table [machine]"));
  CHECK_THAT(refused_machine("[machine]\nbetwen_gb_s = 3\n"), Says("did you mean between_gb_s"));
  CHECK_THAT(refused_machine("[machine]\nbetween_gb_s = -3\n"), Says("ours.toml:2:1"));
  CHECK_THAT(refused_machine("[machine]\nbetween_gb_s = nan\n"), Says("a number above 0"));
  CHECK_THAT(refused_machine("[machine]\ngpus_per_node = 0\n"), Says("an integer from 1"));
  CHECK_THAT(refused_machine("[machine]\nbusbw_by_nodes = [[4, 10], [2, 5]]\n"),
             Says("numbers of nodes that rise"));
  CHECK_THAT(refused_machine("[machine]\nbusbw_by_nodes = [[4, 10, 3]]\n"), Says("pairs of nodes"));
  CHECK_THAT(refused_machine("[machine]\nbusbw_by_nodes = [4, 10]\n"), Says("pairs of nodes"));
  CHECK_THAT(refused_machine("[machine]\nunknown = { falloff = [0, 2] }\n"),
             Says("the least and the greatest"));
  CHECK_THAT(refused_machine("[machine]\nunknown = { between_gb_s = [0, 12] }\n"),
             Says("the least and the greatest"));
  CHECK_THAT(refused_machine("[machine]\nunknown = { luck = [0, 1] }\n"),
             Says("[machine.unknown] has no key"));
  CHECK_THAT(refused_machine("[machine]\nunknown = { jitter = [0.5] }\n"),
             Says("the least and the greatest"));
  CHECK_THAT(refused_machine("[machine]\nunknown = { jitter = [0.5, 0.1] }\n"),
             Says("the least and the greatest"));
}

TEST_CASE("a term is set by its name, within its range") {
  SimulationTerms terms = fitted_terms();
  set_term(terms, "jitter=0.03");
  set_term(terms, "way=ring");
  set_term(terms, "busbw=constant");
  CHECK(terms.jitter == 0.03);
  CHECK(terms.link.way == CollectiveWay::ring);
  CHECK(terms.link.constant_busbw);
  for (const TermRange& range : term_ranges()) {
    INFO(range.name);
    CHECK(range.in(terms) >= range.least);
    CHECK(range.in(terms) <= range.most);
    CHECK_THAT(error_of([&] { set_term(terms, std::string(range.name) + "=-1"); }), Says("is a number from"));
  }
  CHECK_THAT(error_of([&] { set_term(terms, "jiter=0.1"); }), Says("did you mean jitter"));
  CHECK_THAT(error_of([&] { set_term(terms, "way=fast"); }), Says("ring, tree, hierarchical, quickest"));
  CHECK_THAT(error_of([&] { set_term(terms, "jitter=much"); }), Says("is a number from 0 to 0.3"));
}

TEST_CASE("the shipped profiles of machines are whole") {
  for (const char* const name : {"leonardo", "marenostrum5", "perlmutter"}) {
    const ClusterMachine machine =
        read_cluster(std::filesystem::path("submit/profiles") / (std::string(name) + ".toml"));
    INFO(name);
    CHECK(machine.gpus_per_node == 4);
    CHECK(machine.between_gb_s > 0);
    CHECK(machine.inside_gb_s > 0);
    CHECK(!machine.rates.empty());
    CHECK(machine.unknown.size() == 3);
  }
}
