#include "train/stored_tensors.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t values_of(const Sizes& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Rows of the whole tensor in front of the dimension that is cut: in each of them the piece has one stretch.
std::int64_t rows_of(const Sizes& whole, const Shard& shard) {
  if (shard.count == 1) return 1;
  return values_of({whole.begin(), whole.begin() + shard.dim});
}

/// Values that lie side by side in the flat whole tensor and in a piece of it.
struct FlatRange {
  std::int64_t in_whole = 0;
  std::int64_t in_piece = 0;
  std::int64_t count = 0;
};

/// Where values [begin, begin + count) of the flat piece lie in the whole tensor, in rising order.
std::vector<FlatRange> ranges_of(const Sizes& whole, const Shard& shard, std::int64_t begin,
                                 std::int64_t count) {
  const std::int64_t rows = rows_of(whole, shard);
  const std::int64_t row = values_of(whole) / rows / shard.count;
  std::vector<FlatRange> out;
  for (std::int64_t at = begin; at < begin + count;) {
    const std::int64_t length = std::min(begin + count, (at / row + 1) * row) - at;
    out.push_back({(at / row * shard.count + shard.index) * row + at % row, at - begin, length});
    at += length;
  }
  return out;
}

/// A stretch that a wanted and a stored piece have in common, by its place in each.
struct Common {
  std::int64_t wanted = 0;
  std::int64_t stored = 0;
  std::int64_t count = 0;
};

std::vector<Common> in_common(const std::vector<FlatRange>& wanted, const std::vector<FlatRange>& stored) {
  std::vector<Common> out;
  for (std::size_t i = 0, j = 0; i < wanted.size() && j < stored.size();) {
    const FlatRange &a = wanted[i], &b = stored[j];
    const std::int64_t begin = std::max(a.in_whole, b.in_whole);
    const std::int64_t end = std::min(a.in_whole + a.count, b.in_whole + b.count);
    if (begin < end)
      out.push_back({a.in_piece + begin - a.in_whole, b.in_piece + begin - b.in_whole, end - begin});
    ++(a.in_whole + a.count < b.in_whole + b.count ? i : j);
  }
  return out;
}

/// Takes `text` and then a number from the front of `from`.
std::optional<std::int64_t> take_number(std::string_view& from, std::string_view text) {
  if (!from.starts_with(text)) return std::nullopt;
  from.remove_prefix(text.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  from.remove_prefix(static_cast<std::size_t>(end - from.data()));
  return number;
}

std::int64_t begin_of(const NamedTensor& one) { return std::max<std::int64_t>(0, one.stretch.begin); }

/// The first value of `covered` (stretches of the wanted piece) that is in none; `count` = all are there.
std::int64_t first_missing(std::vector<Common> covered, std::int64_t count) {
  std::sort(covered.begin(), covered.end(),
            [](const Common& a, const Common& b) { return a.wanted < b.wanted; });
  std::int64_t end = 0;
  for (const Common& one : covered) {
    if (one.wanted > end) break;
    end = std::max(end, one.wanted + one.count);
  }
  return std::min(end, count);
}

}  // namespace

StoredTensors::StoredTensors(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) throw Error("there is no file of tensors", "", "", Exit::failed);
  for (const std::filesystem::path& file : files) files_.push_back(open_safetensors(file));
  for (const SafetensorsFile& file : files_) {
    for (const TensorInFile& place : file.tensors) {
      Piece piece{.file = &file, .place = place, .count = values_of(place.shape)};
      const std::size_t cut = place.name.find_first_of("[{");
      std::string_view rest = std::string_view(place.name).substr(std::min(cut, place.name.size()));
      if (!rest.empty()) {
        piece.is_whole = false;
        const auto dim = take_number(rest, "{dim ");
        const auto index = dim ? take_number(rest, ", ") : std::nullopt;
        const auto count = index ? take_number(rest, " of ") : std::nullopt;
        if (count) piece.shard = {.dim = *dim, .index = *index, .count = *count};
        const auto begin = take_number(rest, count ? "}[" : "[");
        const auto end = begin ? take_number(rest, ":") : std::nullopt;
        if (!end || rest != "]" || place.shape != Sizes{*end - *begin} ||
            piece.shard.index >= piece.shard.count)
          throw Error("a piece's name and length disagree", file.path.string() + ": " + printable(place.name),
                      "the checkpoint was damaged, or written by another program");
        piece.begin = *begin;
      }
      pieces_[place.name.substr(0, cut)].push_back(std::move(piece));
    }
  }
}

const std::vector<StoredTensors::Piece>& StoredTensors::pieces_of(const std::string& name) const {
  static const std::vector<Piece> none;
  const auto found = pieces_.find(name);
  return found == pieces_.end() ? none : found->second;
}

void StoredTensors::check(const NamedTensor& wanted) const {
  const Sizes whole = whole_shape(wanted);
  for (const Piece& piece : pieces_of(wanted.name)) {
    const std::string where = piece.file->path.string() + ": " + piece.place.name;
    if (piece.place.dtype != type_in_file(wanted.tensor)) {
      throw Error(
          fmt::format("the tensor is {}, {} is wanted", piece.place.dtype, type_in_file(wanted.tensor)),
          where, "save the weights as float32");
    }
    const auto dims = static_cast<std::int64_t>(whole.size());
    const bool fits = piece.is_whole
                          ? piece.place.shape == whole
                          : piece.shard.dim < dims &&
                                whole[static_cast<std::size_t>(piece.shard.dim)] % piece.shard.count == 0 &&
                                piece.begin + piece.count <= values_of(whole) / piece.shard.count;
    if (!fits) {
      throw Error(fmt::format("the tensor has shape [{}], the model wants [{}]", joined(piece.place.shape),
                              joined(whole)),
                  where, "data.grid and model.* must be those the weights were trained with");
    }
  }
  if (!pieces_of(wanted.name).empty()) return;
  throw Error(fmt::format("a tensor of the model is missing ({} are there)", pieces_.size()),
              (files_.size() == 1 ? files_.front().path : files_.at(0).path.parent_path()).string() + ": " +
                  wanted.name,
              "is it the weights file of this model size?");
}

void StoredTensors::check_none_else(const std::vector<NamedTensor>& tensors,
                                    const std::vector<std::string>& elsewhere) const {
  std::set<std::string> known(elsewhere.begin(), elsewhere.end());
  for (const NamedTensor& one : tensors) known.insert(one.name);
  for (const auto& [name, pieces] : pieces_) {
    if (known.count(name) != 0) continue;
    throw Error("the file has a tensor that the model lacks",
                pieces.front().file->path.string() + ": " + printable(name),
                "is it the weights file of this model size?");
  }
}

at::Tensor StoredTensors::read(const NamedTensor& wanted) const {
  const Sizes whole = whole_shape(wanted);
  const std::int64_t count = wanted.tensor.numel();
  const auto size = static_cast<std::int64_t>(wanted.tensor.element_size());
  const at::Tensor out = at::empty(wanted.tensor.sizes(), wanted.tensor.scalar_type());
  auto* const values = static_cast<std::byte*>(out.mutable_data_ptr());
  const std::vector<FlatRange> places = ranges_of(whole, wanted.shard, begin_of(wanted), count);
  std::vector<Common> covered;
  std::vector<std::byte> read;
  for (const Piece& piece : pieces_of(wanted.name)) {
    const std::vector<Common> both =
        in_common(places, ranges_of(whole, piece.shard, piece.begin, piece.count));
    if (both.empty()) continue;
    const std::int64_t begin = both.front().stored, end = both.back().stored + both.back().count;
    const bool is_one = both.size() == 1;  // into its place at once
    read.resize(is_one ? 0 : static_cast<std::size_t>((end - begin) * size));
    std::byte* const target = is_one ? values + both.front().wanted * size : read.data();
    read_tensor_part(*piece.file, piece.place, static_cast<std::uint64_t>(begin * size),
                     {target, static_cast<std::size_t>((end - begin) * size)});
    for (const Common& one : both) {
      covered.push_back(one);
      if (!is_one)
        std::memcpy(values + one.wanted * size, read.data() + (one.stored - begin) * size,
                    static_cast<std::size_t>(one.count * size));
    }
  }
  const std::int64_t missing = first_missing(covered, count);
  if (missing == count) return out;
  // The file whose piece ends last in front of the gap is the one that a reader looks at first.
  const std::int64_t in_whole =
      ranges_of(whole, wanted.shard, begin_of(wanted) + missing, 1).front().in_whole;
  const Piece* before = &pieces_of(wanted.name).front();
  std::int64_t last = -1;
  for (const Piece& piece : pieces_of(wanted.name)) {
    const std::int64_t begins = ranges_of(whole, piece.shard, piece.begin, 1).front().in_whole;
    if (begins > in_whole || begins <= last) continue;
    last = begins;
    before = &piece;
  }
  throw Error(fmt::format("value {} of {} is in no file of the checkpoint", in_whole, wanted.name),
              before->file->path.string() + ": " + before->place.name, "a file that held it is missing");
}

void load_tensors(const std::vector<NamedTensor>& tensors, const std::vector<std::filesystem::path>& files,
                  const std::vector<std::string>& elsewhere) {
  const StoredTensors stored(files);
  for (const NamedTensor& one : tensors) stored.check(one);
  stored.check_none_else(tensors, elsewhere);
  std::vector<at::Tensor> loaded;
  for (const NamedTensor& one : tensors) loaded.push_back(stored.read(one));
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    at::Tensor target = tensors[i].tensor;
    target.copy_(loaded[i]);
  }
}

}  // namespace isobar
