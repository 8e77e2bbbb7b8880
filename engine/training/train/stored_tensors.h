#pragma once
// Tensors that lie in a set of safetensors files, whole or in pieces. A piece has its
// place in its name: "norm.weight[0:128]" are values 0 to 127 of the flat tensor in C order, and
// "proj.weight{dim 1, 0 of 2}[0:512]" are those of the first half of it along dimension 1.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fields/safetensors.h"
#include "train/named_tensors.h"

namespace isobar {

class StoredTensors {
 public:
  /// Error (exit code 2) for a file that cannot be read, or a piece whose name and length disagree.
  explicit StoredTensors(const std::vector<std::filesystem::path>& files);
  StoredTensors(const StoredTensors&) = delete;
  StoredTensors& operator=(const StoredTensors&) = delete;

  /// Error (exit code 2) that names the tensor when it is in no file, or there of another type or shape.
  void check(const NamedTensor& wanted) const;
  /// Error (exit code 2) that names one which none of `tensors` is a part of, and which is not `elsewhere`.
  void check_none_else(const std::vector<NamedTensor>& tensors,
                       const std::vector<std::string>& elsewhere = {}) const;

  /// Its values on the host, put together from whatever pieces there are; only files that hold some of them
  /// are read, and of these only that stretch. Error (exit code 2) that names tensor and file where values
  /// are in none.
  at::Tensor read(const NamedTensor& wanted) const;

 private:
  struct Piece {
    const SafetensorsFile* file = nullptr;
    TensorInFile place;
    Shard shard = {};
    bool is_whole = true;    ///< its shape is the tensor's
    std::int64_t begin = 0;  ///< within the flat piece of `shard`
    std::int64_t count = 0;
  };
  const std::vector<Piece>& pieces_of(const std::string& name) const;

  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::vector<Piece>> pieces_;  ///< by the tensor's name
};

/// Fills `tensors` from the files, which hold them whole or in pieces. A tensor that
/// is missing, too much, or of another shape or type, is an Error (exit code 2) that names it; nothing is
/// changed then. Stretches of no values name what others hold, and so does `elsewhere` whole tensors: the
/// files may have them.
void load_tensors(const std::vector<NamedTensor>& tensors, const std::vector<std::filesystem::path>& files,
                  const std::vector<std::string>& elsewhere = {});
inline void load_tensors(const std::vector<NamedTensor>& tensors, const std::filesystem::path& path) {
  load_tensors(tensors, std::vector{path});
}

}  // namespace isobar
