// Tensors put together from files that other ranks wrote in other pieces.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "core/files.h"
#include "fields/checkpoint_folder.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "train/stored_tensors.h"

namespace isobar::test_stored_tensors {

namespace {

using Files = std::vector<std::filesystem::path>;

/// Two matrices that a model splits in its second and first dimension, and a vector that it does not.
struct Whole {
  at::Tensor across = at::arange(6 * 8, at::kFloat).view({6, 8});
  at::Tensor down = at::arange(8 * 3, at::kFloat).view({8, 3}).neg();
  at::Tensor both = at::arange(11, at::kFloat).add(0.5);
};

/// The share of rank `share` of `shares`, of part `part` of `parts` of the model, with `values` in place or
/// room for them.
std::vector<NamedTensor> share_of(const Whole& whole, int share, int shares, int part, int parts, bool room) {
  std::vector<NamedTensor> out;
  for (const auto& [name, tensor, dim, count] : {std::tuple{"across", whole.across, 1, parts},
                                                 {"down", whole.down, 0, parts},
                                                 {"both", whole.both, 0, 1}}) {
    const Shard shard{.dim = dim, .index = count == 1 ? 0 : part, .count = count};
    const std::int64_t length = tensor.size(dim) / count;
    const at::Tensor piece = tensor.narrow(dim, shard.index * length, length).contiguous();
    const std::int64_t each = (piece.numel() + shares - 1) / shares;
    const std::int64_t begin = std::min(piece.numel(), share * each);
    const std::int64_t end = std::min(piece.numel(), begin + each);
    const at::Tensor values = piece.view(-1).narrow(0, begin, end - begin);
    out.push_back({name, room ? at::zeros_like(values) : values, shard, {begin, piece.sizes().vec()}});
  }
  return out;
}

/// All files of a model in `parts` parts whose states `shares` ranks hold.
Files write_shares(const std::filesystem::path& folder, const Whole& whole, int shares, int parts) {
  Files out;
  for (int share = 0; share < shares; ++share) {
    for (int part = 0; part < parts; ++part) {
      out.push_back(folder / fmt::format("{}-{}-of-{}-{}.safetensors", share, part, shares, parts));
      std::vector<NamedTensor> mine = share_of(whole, share, shares, part, parts, false);
      std::erase_if(mine, [](const NamedTensor& one) { return one.tensor.numel() == 0; });
      write_checkpoint_tensors(out.back(), HostTensors(mine).to_write());
    }
  }
  return out;
}

std::vector<NamedTensor> whole_tensors(const Whole& whole) {
  return {{"across", at::zeros_like(whole.across)},
          {"down", at::zeros_like(whole.down)},
          {"both", at::zeros_like(whole.both)}};
}

}  // namespace

TEST_CASE("any share is put together from the files of any others, and from whole tensors") {
  const TempFolder folder;
  const Whole whole;
  struct Split {
    int shares, parts;
  };
  const auto [from, to] =
      GENERATE(std::pair<Split, Split>{{4, 1}, {2, 1}}, std::pair<Split, Split>{{2, 2}, {3, 1}},
               std::pair<Split, Split>{{3, 1}, {1, 2}}, std::pair<Split, Split>{{2, 2}, {3, 2}},
               std::pair<Split, Split>{{1, 1}, {5, 2}});
  const Files files = write_shares(folder.path(), whole, from.shares, from.parts);
  for (int share = 0; share < to.shares; ++share) {
    for (int part = 0; part < to.parts; ++part) {
      const std::vector<NamedTensor> wanted = share_of(whole, share, to.shares, part, to.parts, false);
      const std::vector<NamedTensor> room = share_of(whole, share, to.shares, part, to.parts, true);
      load_tensors(room, files);
      for (std::size_t i = 0; i < room.size(); ++i) CHECK(at::equal(room[i].tensor, wanted[i].tensor));
    }
  }
  const std::vector<NamedTensor> room = whole_tensors(whole);
  load_tensors(room, files);
  CHECK(at::equal(room[0].tensor, whole.across));
  CHECK(at::equal(room[1].tensor, whole.down));
  CHECK(at::equal(room[2].tensor, whole.both));
}

TEST_CASE("names of pieces are places in the whole tensor, where they can be") {
  const Whole whole;
  const std::vector<NamedTensor> second = share_of(whole, 1, 2, 1, 2, false);
  CHECK(name_in_file(second[0]) == "across{dim 1, 1 of 2}[12:24]");
  CHECK(name_in_file(second[1]) == "down[18:24]");
  CHECK(name_in_file(second[2]) == "both[6:11]");
  CHECK(name_in_file({"norm", whole.both}) == "norm");
}

TEST_CASE("a file that is missing leaves a gap, which is named with its tensor and the file in front of it") {
  const TempFolder folder;
  const Whole whole;
  Files files = write_shares(folder.path(), whole, 4, 1);
  files.erase(files.begin() + 2);
  const std::vector<NamedTensor> room = whole_tensors(whole);
  CHECK_THAT(error_of([&] { load_tensors(room, files); }),
             says("value 24 of across is in no file of the checkpoint") &&
                 says("1-0-of-4-1.safetensors: across[12:24]"));
  CHECK(at::equal(room[0].tensor, at::zeros({6, 8})));  // nothing was changed
  // Whoever wants none of it misses nothing.
  const std::vector<NamedTensor> last = share_of(whole, 3, 4, 0, 1, true);
  load_tensors(last, files);
  CHECK(at::equal(last[0].tensor, whole.across.view(-1).narrow(0, 36, 12)));
}

TEST_CASE("only the files that hold a share are read, and of these only its stretch") {
  const TempFolder folder;
  const Whole whole;
  const Files files = write_shares(folder.path(), whole, 4, 1);
  // What is cut behind its table of contents cannot be opened; what is overwritten behind the stretch is not
  // seen.
  const SafetensorsFile first = open_safetensors(files[0]);
  std::filesystem::resize_file(files[3], std::filesystem::file_size(files[3]) - 4);
  std::vector<NamedTensor> room = share_of(whole, 0, 4, 0, 1, true);
  CHECK_THAT(error_of([&] { load_tensors(room, files); }), says(files[3].filename().string()));
  std::vector<std::byte> part(8);
  read_tensor_part(first, first.tensors[0], 4, part);
  float second = 0;
  std::memcpy(&second, part.data(), sizeof(second));
  CHECK(second == 1);
  CHECK_THAT(error_of([&] { read_tensor_part(first, first.tensors[0], first.tensors[0].bytes - 4, part); },
                      Exit::failed),
             says("8 from byte"));
}

TEST_CASE("a tensor that the model lacks is refused, whole or in pieces, by those who share it out too") {
  const TempFolder folder;
  const Whole whole;
  const Files files = write_shares(folder.path(), whole, 2, 1);
  for (const int shares : {1, 2}) {
    std::vector<NamedTensor> room = share_of(whole, 0, shares, 0, 1, true);
    room.erase(room.begin() + 1);
    CHECK_THAT(error_of([&] { load_tensors(room, files); }),
               says("the file has a tensor that the model lacks") && says("down"));
  }
}

TEST_CASE("pieces that fit no tensor of the model are refused") {
  const TempFolder folder;
  const at::Tensor four = at::full({4}, 2.0F);
  const auto refused = [&](const std::string& name, const NamedTensor& wanted, const std::string& why) {
    const std::filesystem::path file = folder.path() / "a.safetensors";
    write_checkpoint_tensors(file, HostTensors({{name, four}}).to_write());
    CHECK_THAT(error_of([&] { load_tensors({wanted}, file); }), says(why) && says("a.safetensors: " + name));
  };
  const NamedTensor three{"w", at::zeros({3})};
  refused("w[0:3]", three, "a piece's name and length disagree");
  refused("w[0:4", three, "a piece's name and length disagree");
  refused("w[4:0]", three, "a piece's name and length disagree");
  refused("w{dim 0, 2 of 2}[0:4]", three, "a piece's name and length disagree");
  refused("w{dim 0, 0 of 0}[0:4]", three, "a piece's name and length disagree");
  refused("w[0:4]", three, "the tensor has shape [4], the model wants [3]");
  refused("w{dim 1, 0 of 2}[0:4]", three, "the tensor has shape [4], the model wants [3]");
  refused("w{dim 0, 0 of 2}[0:4]", three, "the tensor has shape [4], the model wants [3]");
  refused("w[0:4]", {"w", at::zeros({4}, at::kDouble)}, "the tensor is F32, F64 is wanted");
}

}  // namespace isobar::test_stored_tensors
