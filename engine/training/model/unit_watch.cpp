#include "model/unit_watch.h"

#include <string_view>

namespace isobar {
namespace {

/// "blocks.3" of "blocks.3.attn.q.weight"; "embed" and "head" of what is in front of the blocks and behind.
std::string unit_of(std::string_view leaf) {
  constexpr std::string_view kBlocks = "blocks.";
  if (leaf.starts_with(kBlocks)) return std::string(leaf.substr(0, leaf.find('.', kBlocks.size())));
  return leaf.starts_with("pos_embed") || leaf.starts_with("patch_embed") ? "embed" : "head";
}

}  // namespace

std::vector<ModelUnit> model_units(const Parameters& parameters) {
  std::vector<ModelUnit> out;
  const std::vector<ParameterLeaf> leaves = parameters.leaves();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::string name = unit_of(leaves[i].name);
    if (out.empty() || out.back().name != name) out.push_back({name, {}});
    out.back().leaves.push_back(i);
  }
  return out;
}

}  // namespace isobar
