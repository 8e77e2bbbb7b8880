#include "launch/mesh.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kHint = "axes are tp, cp, pp and dp, such as mesh.order = \"tp-cp-pp-dp\"";

std::vector<std::string> names_of(const std::string& order) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= order.size();) {
    const std::size_t end = std::min(order.find('-', begin), order.size());
    out.push_back(order.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

int place_on(int rank, const MeshAxis& axis) { return rank / axis.stride % axis.size; }

}  // namespace

std::vector<std::vector<int>> groups_along(int world, const std::vector<MeshAxis>& axes) {
  std::map<int, std::vector<int>> by_origin;  // the rank whose places on these axes are all 0
  for (int rank = 0; rank < world; ++rank) {
    int origin = rank;
    for (const MeshAxis& axis : axes) origin -= place_on(rank, axis) * axis.stride;
    by_origin[origin].push_back(rank);
  }
  std::vector<std::vector<int>> out;
  for (auto& [origin, ranks] : by_origin) out.push_back(std::move(ranks));
  return out;
}

Mesh::Mesh(const std::string& order, const MeshSizes& sizes, int world) : world_(world) {
  const std::vector<std::pair<std::string, int>> known = {
      {"tp", sizes.tp}, {"cp", sizes.cp}, {"pp", sizes.pp}, {"dp", sizes.dp}};
  std::int64_t stride = 1;
  const std::string where = "mesh.order = " + printable(order, 40);
  for (const std::string& name : names_of(order)) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& axis) { return axis.first == name; });
    if (found == known.end())
      throw Error("\"" + printable(name, 20) + "\" is no axis of the mesh", where, kHint);
    if (std::any_of(axes_.begin(), axes_.end(), [&](const MeshAxis& axis) { return axis.name == name; }))
      throw Error("the axis " + name + " is named twice", where, kHint);
    if (found->second < 1 || found->second > world) {
      throw Error("the axis " + name + " has size " + std::to_string(found->second) + ", and there are " +
                      std::to_string(world) + " ranks",
                  "mesh." + name, "a size from 1 to the number of ranks");
    }
    axes_.push_back({name, found->second, static_cast<int>(stride)});
    stride = std::min<std::int64_t>(stride * found->second, INT32_MAX);
  }
  for (const auto& [name, size] : known) {
    if (std::any_of(axes_.begin(), axes_.end(), [&](const MeshAxis& axis) { return axis.name == name; }))
      continue;
    if (size != 1) {
      throw Error("the axis " + name + " has size " + std::to_string(size) + " and is left out of the order",
                  where, "name it, such as mesh.order = \"" + order + "-" + name + "\"");
    }
    axes_.push_back({name, 1, static_cast<int>(stride)});
  }
  if (stride == world) {
    split_dp("shard", "copies", sizes.shard == 0 ? sizes.dp : sizes.shard, "mesh.shard");
    split_dp("ens", "data", sizes.ens, "mesh.gpus_per_ensemble");
    return;
  }
  std::vector<std::string> factors;
  for (const MeshAxis& axis : axes_) factors.push_back(axis.name + " " + std::to_string(axis.size));
  throw Error("the mesh " + joined(factors, " x ") + " has " + std::to_string(stride) +
                  " places, and there are " + std::to_string(world) + " ranks",
              where, "the sizes multiplied must give the number of ranks");
}

void Mesh::split_dp(const char* inner, const char* outer, int size, const char* key) {
  const MeshAxis dp = axis("dp");
  if (size < 1 || dp.size % size != 0) {
    throw Error("the axis dp of size " + std::to_string(dp.size) + " cannot be cut in groups of " +
                    std::to_string(size),
                key, "a size that divides the number of data-parallel ranks, or 0 for the default");
  }
  axes_.push_back({inner, size, dp.stride});
  axes_.push_back({outer, dp.size / size, dp.stride * size});
}

const MeshAxis& Mesh::axis(std::string_view name) const {
  for (const MeshAxis& axis : axes_) {
    if (axis.name == name) return axis;
  }
  throw Error("\"" + printable(name, 20) + "\" is no axis of the mesh", "mesh", kHint);
}

int Mesh::size(std::string_view name) const { return axis(name).size; }

int Mesh::coordinate(int rank, std::string_view name) const { return place_on(rank, axis(name)); }

std::vector<std::vector<int>> Mesh::groups(const std::string& axes) const {
  std::vector<MeshAxis> along;
  for (const std::string& name : names_of(axes)) along.push_back(axis(name));
  return seams::groups_along(world_, along);
}

std::vector<std::vector<int>> Mesh::runs(const std::string& axes, int size) const {
  std::vector<std::vector<int>> out;
  for (const std::vector<int>& group : groups(axes)) {
    const int length = static_cast<int>(group.size());
    if (size < 1 || length % size != 0)
      throw Error(std::to_string(length) + " ranks cannot be cut in runs of " + std::to_string(size), "mesh",
                  "a number that divides them", Exit::failed);
    for (int begin = 0; begin < length; begin += size)
      out.emplace_back(group.begin() + begin, group.begin() + begin + size);
  }
  return out;
}

std::vector<int> Mesh::group_of(int rank, const std::string& axes) const {
  for (std::vector<int>& group : groups(axes)) {
    if (std::find(group.begin(), group.end(), rank) != group.end()) return std::move(group);
  }
  throw Error("there is no rank " + std::to_string(rank), "mesh",
              "ranks are 0 to " + std::to_string(world_ - 1));
}

}  // namespace isobar
