// What is asked of my/17_groups.cpp, easy things first: lists of the tutorial, rules and examples of anemoi,
// and loads of links, each compared with what common mistakes would give.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "17_groups/exercise/part.h"
#include "17_groups/exercise/right_groups.h"
#include "check/check.h"

namespace isobar {
namespace exercise {
namespace {

/// Orders of the tutorial, and one with an axis of one place.
std::vector<Axes> orders() {
  return {{{"tp", 4}, {"dp", 2}},
          {{"tp", 2}, {"cp", 2}, {"dp", 8}},
          {{"tp", 2}, {"cp", 3}, {"pp", 1}, {"dp", 4}},
          {{"dp", 3}, {"tp", 5}}};
}

// ---- Axes ----

void check_strides(const Part& part) {
  for (const Axes& order : orders()) {
    const Axes wanted = strides_of(order), axes = part.with_strides(order);
    const auto listed = [](const Axes& all) {
      std::vector<int> out;
      for (const GroupAxis& axis : all) out.push_back(axis.stride);
      return out;
    };
    expect(axes.size() == wanted.size(),
           {fmt::format("{} axes", wanted.size()), fmt::format("{}", axes.size()),
            "with_strides(): axes stay as they are, but for their stride"});
    std::vector<int> own, last, sums, reversed(order.size());
    int product = 1, sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      last.push_back(i == 0 ? 1 : order[i - 1].size);
      sums.push_back(std::max(1, sum));
      sum += order[i].size;
      own.push_back(product *= order[i].size);
    }
    product = 1;
    for (std::size_t i = order.size(); i-- > 0; product *= order[i].size) reversed[i] = product;
    const std::vector<int> came = listed(axes);
    if (came == listed(wanted)) continue;
    not_yet({fmt::format("strides {} of {}", words(listed(wanted)), words(order)), words(came),
             look_at("with_strides(): the product of the sizes of all axes before it",
                     {{came == own, "the axis itself: its own size counts for the axes behind it"},
                      {came == reversed, "which axis varies fastest: the first"},
                      {came == sums, "how places multiply: two on one axis and three on the next are six"},
                      {came == last, "all axes before it, and not the last of them alone"}})});
  }
}

void check_place(const Part& part) {
  for (const Axes& order : orders()) {
    for (const GroupAxis& axis : strides_of(order)) {
      for (int rank = 0; rank < ranks_of(order); ++rank) {
        const int wanted = place_of(rank, axis), came = part.place_on(rank, axis);
        if (came == wanted) continue;
        not_yet(
            {fmt::format("rank {} of {} at place {} on {}", rank, words(order), wanted, axis.name),
             fmt::format("{}", came),
             look_at("place_on(): by the stride, then within the size",
                     {{came == rank / axis.stride, "where places begin again: there are only `size` of them"},
                      {came == rank % axis.size, "axes before this one: neighbours on it are a stride apart"},
                      {came == rank / axis.size % axis.stride || came == rank / axis.size,
                       "what the rank is divided by: how far neighbours are apart"},
                      {came == wanted + 1, "from which number on places are counted: from 0"}})});
      }
    }
  }
}

// ---- Groups ----

void expect_groups(const GroupList& came, const GroupList& wanted, const std::string& what, int ranks,
                   const char* look, std::initializer_list<Other> others) {
  if (came == wanted) return;
  std::vector<int> seen(static_cast<std::size_t>(ranks));
  for (const std::vector<int>& group : came) {
    for (const int rank : group) {
      expect(rank >= 0 && rank < ranks, {"ranks from 0 to " + std::to_string(ranks - 1) + " " + what,
                                         fmt::format("rank {}", rank), "which ranks there are"});
      ++seen[static_cast<std::size_t>(rank)];
    }
  }
  const char* found = look_at(look, others);
  for (int rank = 0; rank < ranks && found == look; ++rank) {
    const int times = seen[static_cast<std::size_t>(rank)];
    expect(times == 1, {fmt::format("rank {} in one group {}", rank, what), fmt::format("it is in {}", times),
                        times > 1   ? "groups that are there again"
                        : rank == 0 ? "from which rank on you go through them"
                                    : "until which rank you go through them"});
  }
  not_yet({words(wanted) + " " + what, words(came), found});
}

void check_groups(const Part& part) {
  struct Case {
    Axes order;
    std::vector<std::size_t> along;
  };
  const std::vector<Case> cases = {{orders()[0], {0}}, {orders()[0], {1}},    {orders()[1], {1}},
                                   {orders()[1], {2}}, {orders()[1], {0, 2}}, {orders()[2], {1, 3}},
                                   {orders()[2], {2}}, {orders()[1], {}},     {orders()[3], {1}}};
  for (const Case& one : cases) {
    const Axes axes = strides_of(one.order);
    const int ranks = ranks_of(axes);
    Axes along, others;
    for (std::size_t i = 0; i < axes.size(); ++i)
      (std::ranges::find(one.along, i) != one.along.end() ? along : others).push_back(axes[i]);
    GroupList runs;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank % ranks_of(along) == 0) runs.emplace_back();
      runs.back().push_back(rank);
    }
    const GroupList came = part.groups_along(ranks, along);
    const Axes only_first(along.begin(), along.begin() + (along.empty() ? 0 : 1));
    expect_groups(
        came, groups_of(ranks, along), fmt::format("along {} of {}", words(along), words(axes)), ranks,
        "groups_along(): equal places on all other axes",
        {{came == groups_of(ranks, others), "where ranks of a group differ: on these axes, and on no others"},
         {came == runs, "what stands between ranks of a group: places of the axes before"},
         {came == groups_of(ranks, only_first), "all axes of the list: a group may differ on several"}});
  }
}

// ---- Sizes of a job ----

const char* name_of(GroupRefusal refusal) {
  constexpr const char* kNames[] = {"none", "model", "ensemble", "replicas", "readers"};
  const auto at = static_cast<std::size_t>(refusal);
  return at < std::size(kNames) ? kNames[at] : "none of these";
}

void check_refusal(const Part& part) {
  struct Case {
    GroupJob job;
    GroupRefusal wanted;
    const char* look;
  };
  using enum GroupRefusal;
  const Case cases[] = {
      {{8, 2, 2}, none, "jobs that are right: two GPUs a model divide eight"},
      {{8, 3, 3}, model, "what is left over: eight GPUs are two models of 3 and two GPUs"},
      {{8, 4, 2}, ensemble, "which of the two is divided: an ensemble by its models"},
      {{12, 2, 3}, ensemble, "an ensemble of 3 GPUs: one model of 2, and half of one"},
      {{12, 4, 8}, replicas, "ensembles that do not divide all GPUs: one of 8, and four GPUs"},
      {{8, 4, 4, 3}, readers, "a model of 4 GPUs with three readers"},
      {{12, 2, 6, 3}, readers, "whose ranks read together: those of a model, not those of an ensemble"},
      {{12, 4, 12, 2}, none, "a job whose one ensemble takes all GPUs"},
      {{9, 2, 3, 4}, model, "which comes first: models"},
  };
  for (const Case& one : cases) {
    const GroupRefusal came = part.refusal_of(one.job);
    expect(came == one.wanted, {fmt::format("{} for {}, {} read together", name_of(one.wanted),
                                            words(one.job), one.job.read_group_size),
                                name_of(came), one.look});
  }
}

void check_counts(const Part& part) {
  const GroupJob jobs[] = {{8, 2, 2, 1, 1, 4},     {32, 2, 2, 1, 1, 1},    {4, 1, 1, 1, 1, 4},
                           {8, 2, 2, 1, 1, 4, 2},  {16, 2, 8, 2, 4, 2, 1}, {16, 4, 4, 4, 4, 3, 3},
                           {64, 4, 16, 4, 2, 1, 2}};
  for (const GroupJob& job : jobs) {
    const int models = job.gpus_per_ensemble / job.gpus_per_model,
              replicas = job.gpus / job.gpus_per_ensemble;
    const GroupCounts wanted{models, replicas, models * job.members_per_device,
                             job.batch_size * replicas * job.accum_grad_batches};
    const GroupCounts came = part.counts_of(job);
    const auto number = [&](const char* what, int value, int right, const char* look,
                            std::initializer_list<Other> others) {
      expect(value == right,
             {fmt::format("{} = {} for {}, {} members a device, batches of {}, {} a pass", what, right,
                          words(job), job.members_per_device, job.batch_size, job.accum_grad_batches),
              fmt::format("{}", value), look_at(look, others)});
    };
    number(
        "models_of_ensemble", came.models_of_ensemble, models, "how many models an ensemble's GPUs hold",
        {{came.models_of_ensemble == job.gpus / job.gpus_per_model, "which models: those of one ensemble"}});
    number("replicas", came.replicas, replicas, "how many groups of GPUs have samples of their own",
           {{came.replicas == job.gpus / job.gpus_per_model,
             "models of one ensemble: they forecast the same samples"},
            {came.replicas == job.gpus, "ranks of one model: they work on the same samples"}});
    number("members", came.members, wanted.members, "members of a model, times models of an ensemble",
           {{came.members == job.members_per_device * job.gpus_per_ensemble,
             "GPUs of a model: they make the same members together (anemoi-core, issue 971)"},
            {came.members == job.members_per_device,
             "other models of the ensemble: their members belong to it"}});
    number("batch", came.batch, wanted.batch, "samples of all replicas, in all passes",
           {{came.batch == job.batch_size * replicas, "passes of an update: their gradients add up"},
            {came.batch == job.batch_size * job.gpus * job.accum_grad_batches,
             "who takes a batch: a replica, not a GPU"},
            {came.batch == job.batch_size * job.accum_grad_batches,
             "all replicas: their gradients are averaged"}});
  }
}

void check_axes(const Part& part) {
  const GroupJob jobs[] = {{16, 2, 8}, {8, 2, 2}, {4, 1, 1}, {24, 3, 6}};
  for (const GroupJob& job : jobs) {
    const int models = job.gpus_per_ensemble / job.gpus_per_model;
    const Axes wanted = strides_of(
        {{"model", job.gpus_per_model}, {"ens", models}, {"data", job.gpus / job.gpus_per_ensemble}});
    const Axes came = part.axes_of(job);
    if (came == wanted) continue;
    const auto has_sizes = [&](const Axes& sizes) { return words(came) == words(sizes); };
    expect(!has_sizes(wanted),
           {fmt::format("strides 1, {} and {} for {}", wanted[1].stride, wanted[2].stride, words(job)),
            came.size() < 3 ? "fewer axes"
                            : fmt::format("{}, {} and {}", came[0].stride, came[1].stride, came[2].stride),
            "strides, by which the axes lie in the grid of ranks"});
    not_yet({fmt::format("{} for {}", words(wanted), words(job)), words(came),
             look_at("axes_of(): model, ens, data, which multiplied are all GPUs",
                     {{has_sizes({wanted[2], wanted[1], wanted[0]}),
                       "which ranks are neighbours: those of a model"},
                      {has_sizes({wanted[0], {"ens", job.gpus_per_ensemble}, wanted[2]}),
                       "places of `ens`: one for each model, not for each GPU"},
                      {has_sizes({wanted[0], wanted[1], {"data", job.gpus / job.gpus_per_model}}),
                       "places of `data`: one for each ensemble, not for each model"}})});
  }
}

// ---- Reading ----

void check_readers(const Part& part) {
  const GroupJob jobs[] = {{8, 4, 4, 2}, {8, 4, 4, 4}, {8, 2, 4, 1}, {12, 6, 12, 3}};
  for (const GroupJob& job : jobs) {
    const int g = job.read_group_size;
    const auto runs = [&](int size) { return groups_of(job.gpus, {{"read", size, 1}}); };
    const GroupList came = part.read_groups(job);
    const int apart = job.gpus_per_model / g;
    expect_groups(came, runs(g), fmt::format("for {}, {} read together", words(job), g), job.gpus,
                  "read_groups(): neighbours, so many at a time",
                  {{came == runs(job.gpus_per_model), "read_group_size: it may be a part of a model"},
                   {came == runs(job.gpus_per_ensemble), "who needs the same fields: ranks of one model"},
                   {came == groups_of(job.gpus, {{"read", g, apart}}),
                    "which ranks of a model read together: neighbours, whose links are the shortest"}});
  }
}

void check_band(const Part& part) {
  for (const auto& [readers, rows] : {std::pair{4, 360}, {2, 48}, {1, 72}, {3, 48}}) {
    for (int reader = 0; reader < readers; ++reader) {
      const int height = rows / readers;
      const GroupBand wanted{reader * height, height}, came = part.band_of(reader, readers, rows);
      if (came == wanted) continue;
      not_yet(
          {fmt::format("{} rows from row {} on for reader {} of {} of {} rows", wanted.count, wanted.first,
                       reader, readers, rows),
           fmt::format("{} from row {} on", came.count, came.first),
           look_at(
               "band_of(): equal bands, one behind the other",
               {{came.first == wanted.first + height, "from which number on readers are counted: from 0"},
                {came.count == wanted.first + height, "what `count` is: rows of the band, not where it ends"},
                {came.count == rows - wanted.first, "where the band ends: the next reader begins there"},
                {came.first == reader, "rows of a band: they lie one behind the other in a file"}})});
    }
  }
}

// ---- Links ----

double load_of(int ranks, int node, const GroupAxis& axis, bool in_ring = true) {
  int steps = 0;
  for (const std::vector<int>& group : groups_of(ranks, {axis})) {
    for (std::size_t i = 0; i + (in_ring ? 0 : 1) < group.size(); ++i)
      steps += group[i] / node != group[(i + 1) % group.size()] / node ? 1 : 0;
  }
  return axis.gb * steps / (static_cast<double>(ranks) / node);
}

void check_load(const Part& part) {
  for (const auto& [sizes, node] : {std::pair{Axes{{"tp", 2}, {"cp", 2}, {"dp", 4}}, 4},
                                    {Axes{{"tp", 2}, {"dp", 4}, {"cp", 2}}, 4},
                                    {Axes{{"dp", 8}, {"tp", 4}}, 4},
                                    {Axes{{"tp", 2}, {"dp", 3}}, 2}}) {
    const int ranks = ranks_of(sizes);
    for (GroupAxis axis : strides_of(sizes)) {
      axis.gb = 1.5;
      const double wanted = load_of(ranks, node, axis), came = part.leaves_node(ranks, node, axis);
      const double nodes = static_cast<double>(ranks) / node;
      const auto is = [&](double value) { return std::abs(came - value) < 1e-9; };
      if (is(wanted)) continue;
      int reaching = 0, modulo = 0;
      for (const std::vector<int>& group : groups_of(ranks, {axis})) {
        const bool leaves = group.front() / node != group.back() / node;
        reaching += leaves ? static_cast<int>(group.size()) : 0;
        for (std::size_t i = 0; i < group.size(); ++i)
          modulo += group[i] % node != group[(i + 1) % group.size()] % node ? 1 : 0;
      }
      not_yet(
          {fmt::format("{:.4g} GB along {} of {} on nodes of {}, each rank with 1.5 GB", wanted, axis.name,
                       words(sizes), node),
           fmt::format("{:.4g} GB", came),
           look_at(
               "leaves_node(): ranks whose next one is on another node",
               {{is(wanted * nodes), "what is asked for: one node, and not all of them"},
                {is(load_of(ranks, node, axis, false)), "the way from the last rank of a group to its first"},
                {is(axis.gb * reaching / nodes), "steps inside a node: of a group that leaves it some stay"},
                {is(axis.gb * modulo / nodes), "on which node a rank is: neighbours are on one"},
                {is(wanted / axis.gb), "GB: each step to another node carries what a rank sends"},
                {is(wanted / node), "nodes of the run: each has `node` ranks"}})});
    }
  }
}

double load_of(const Axes& order, int node) {
  double gb = 0;
  for (const GroupAxis& axis : strides_of(order)) gb += load_of(ranks_of(order), node, axis);
  return gb;
}

std::string names_of(const Axes& axes) {
  std::vector<std::string> out;
  for (const GroupAxis& axis : axes) out.push_back(axis.name);
  return joined(out, "-");
}

/// The order that has least by `load`, of all.
Axes least_of(Axes axes, const std::function<double(const Axes&)>& load) {
  const auto by_name = [](const GroupAxis& a, const GroupAxis& b) { return a.name < b.name; };
  std::ranges::sort(axes, by_name);
  Axes best;
  double least = std::numeric_limits<double>::infinity();
  do {
    if (const double gb = load(axes); gb < least) {
      least = gb;
      best = axes;
    }
  } while (std::next_permutation(axes.begin(), axes.end(), by_name));
  return best;
}

void check_best(const Part& part) {
  const Axes cases[] = {{{"tp", 2, 0, 9.6}, {"cp", 2, 0, 4.8}, {"dp", 4, 0, 0.63}},
                        {{"tp", 2, 0, 0.8}, {"cp", 2, 0, 0.3}, {"dp", 4, 0, 2.4}},
                        {{"tp", 2, 0, 2.8}, {"cp", 2, 0, 2.9}, {"dp", 4, 0, 3}},
                        {{"tp", 4, 0, 2}, {"dp", 4, 0, 0.5}}};
  constexpr int kNode = 4;
  for (const Axes& axes : cases) {
    const Axes best = least_of(axes, [](const Axes& order) { return load_of(order, kNode); });
    const Axes came = part.best_order(axes, kNode);
    expect(came.size() == axes.size() &&
               std::ranges::is_permutation(came, axes, {}, &GroupAxis::name, &GroupAxis::name),
           {fmt::format("the axes of {}", words(axes)), words(came),
            "best_order(): the same axes, in another order"});
    const double wanted = load_of(best, kNode), gb = load_of(came, kNode);
    Axes by_gb = axes, first = axes;
    std::ranges::stable_sort(by_gb, std::greater(), &GroupAxis::gb);
    std::ranges::sort(first, {}, &GroupAxis::name);
    const Axes worst = least_of(axes, [](const Axes& order) { return -load_of(order, kNode); });
    const std::string name = names_of(came);
    expect(
        gb < wanted + 1e-9,
        {fmt::format("{}, with which {:.4g} GB leave a node, for {} on nodes of 4", names_of(best), wanted,
                     words(axes)),
         fmt::format("{}, with {:.4g} GB", name, gb),
         look_at(
             "which order is kept: the one with the least, of all axes together",
             {{name == names_of(by_gb), "what else has room in a node: what sends most is not always first"},
              {name == names_of(worst), "the sign of the comparison: most leaves a node with this order"},
              {name == names_of(first), "whether any order is kept but the first"}})});
    expect(came == strides_of(came),
           {"strides of the order " + name, "others", "best_order(): with_strides() of it"});
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"strides", exercise::check_strides},
                                           {"place", exercise::check_place},
                                           {"groups", exercise::check_groups},
                                           {"refusal", exercise::check_refusal},
                                           {"counts", exercise::check_counts},
                                           {"axes", exercise::check_axes},
                                           {"readers", exercise::check_readers},
                                           {"band", exercise::check_band},
                                           {"load", exercise::check_load},
                                           {"best", exercise::check_best}});
}

}  // namespace isobar
