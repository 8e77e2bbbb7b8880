#pragma once
// The one registry of a model's parameters: names, places, values and gradients; and of its buffers.
// Values and gradients each lie in one flat buffer, and every parameter and its .grad is a view of them.
// Buckets, sharding, accumulation and graph capture are later ways of cutting these two buffers. Where ranks
// share parameters out (share_out) the buffers are cut into buckets, which may be here in part only.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/seam.h"
#include "model/parameter_store.h"

namespace isobar {

/// Every parameter starts on a cache line of its own.
inline constexpr std::int64_t kAlignedFloats = 16;

namespace seams {

/// Zeroes the flat gradients in place.
inline constinit Seam<void(at::Tensor& gradients)> zero_gradients{
    [](at::Tensor& gradients) { gradients.zero_(); }};

}  // namespace seams

/// What autograd sees as one piece: a parameter, or several that were joined.
struct ParameterLeaf {
  std::string name;             ///< the parameter's, or the first one's and " + " the number of others
  at::Tensor tensor;            ///< its .grad is a view of the flat gradients
  std::int64_t flat_begin = 0;  ///< first element in the flat buffers
};

/// What a model has beside its parameters: it gets no gradient and no update. PyTorch calls it the same.
struct Buffer {
  std::string name;
  at::Tensor tensor;  ///< float32
  double fill = 0;    ///< each first value
  /// It changes in training, as running means do, and is in files. False: constant, such as a mask
  /// (PyTorch's persistent=False).
  bool saved = true;
};

class Parameters : public ParameterStore {
 public:
  /// Declares a parameter; the tensor has its shape at once and its place after `materialise`. A name taken
  /// twice, or a dimension that `shard.count` does not divide, is an Error.
  at::Tensor add(const ParameterSpec& spec);

  /// One leaf over parameters that were declared before, whose shapes agree but for the first dimension: they
  /// are laid side by side, and the leaf is all of them along that dimension, say [3E, E] over three of [E,
  /// E]. Its memory and its gradient are theirs; names, first values and files know the single ones only. Use
  /// either in a graph, not both. Before `materialise`. Unknown names, unequal shapes, and a parameter that
  /// is joined already are Errors.
  at::Tensor join(const std::vector<std::string>& names);

  /// Declares a buffer; the tensor has its place and first values after `materialise`. A name taken twice is
  /// an Error.
  at::Tensor add_buffer(const std::string& name, const std::vector<std::int64_t>& shape, double fill,
                        bool saved = true);
  const std::vector<Buffer>& buffers() const { return buffers_; }  ///< in the order of their declaration

  /// The parameter of this name; an Error when there is none.
  const Parameter& find(const std::string& name) const;

  /// Ranks share values, gradients, or what updates them: each bucket of `layout` is as long as all its
  /// leaves, padded, and this rank owns one part of it. Before `materialise`, once. Error (exit code 1)
  /// unless each leaf is in one bucket.
  void share_out(SharedLayout layout);

  /// Lays all parameters out in the two flat buffers on `device` and gives them, and buffers, their first
  /// values. Values that do not stay are there for one bucket at a time.
  void materialise(std::int64_t seed, c10::Device device);

  /// In the order in which they were declared, whatever the layout; after `materialise`.
  std::vector<ParameterLeaf> leaves() const;

  /// Lays the flat buffers out anew: leaf `order[0]` (a position in `leaves()`) first, then `order[1]`, and
  /// so on. Values, gradients and what was asked to `follow` move along; no tensor changes its value. Not
  /// while a graph of autograd waits for its backward pass. An `order` that is no permutation is an Error.
  void lay_out_again(const std::vector<std::size_t>& order);
  /// Grows by one with each new layout: callers that keep places check here whether they still hold.
  std::int64_t layout_version() const { return layout_version_; }
  /// `flat` is as long as the flat buffers and laid out as they are, from now on until it is destroyed.
  void follow(const at::Tensor& flat);

  const std::vector<Parameter>& all() const { return all_; }  ///< in the order of the tutorial's state_dict

  /// Zeroes the gradients in place: the views stay, which torch's own zero_grad would destroy. Of those that
  /// do not stay, the own ones.
  void zero_gradients();
  /// From now on zero_gradients leaves them as they are, and those of all steps pile up: a mistake on
  /// purpose.
  void pile_up_gradients() { piles_up_ = true; }
  bool piles_up() const { return piles_up_; }

 private:
  struct Joint {
    std::vector<std::size_t> members;  ///< places in all_
    at::Tensor leaf;
  };
  /// The group that parameter `index` belongs to; null for none.
  const Joint* joint_of(std::size_t index) const;
  /// Positions in all_ of the parameters of each leaf.
  std::vector<std::vector<std::size_t>> leaf_members() const;
  /// Gives every parameter of these leaves its place, from `begin` on; returns where they end, which is the
  /// same for every order.
  std::int64_t lay_out(const std::vector<std::size_t>& order, std::int64_t begin);
  /// Makes all leaves and their gradients views of the flat buffers, or of buckets.
  void move_in();
  void make_buckets(c10::Device device);
  void first_values_of_buckets(std::int64_t seed);
  void check_new(const std::string& name) const;

  std::vector<Parameter> all_;
  std::vector<Joint> joints_;
  std::vector<Buffer> buffers_;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> followers_;
  std::int64_t layout_version_ = 0;
  bool piles_up_ = false;
};

std::int64_t count_of(const Parameters& parameters);        ///< elements held by this process
std::int64_t whole_count_of(const Parameters& parameters);  ///< with the pieces of all ranks of "tp"

/// First values of the full parameter, then the shard of it: a mesh of any shape starts from the same
/// weights.
at::Tensor initial_values(const Parameter& parameter, std::int64_t seed);

}  // namespace isobar
