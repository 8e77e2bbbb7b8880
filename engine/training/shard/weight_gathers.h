#pragma once
// Weights of buckets, gathered from the ranks that own a part of each.
#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "model/parameters.h"
#include "shard/wait_log.h"

namespace isobar {

/// With mesh.gather_dtype = 16 what travels, and what all weights then hold, is this rank's float32 share
/// rounded to the type of amp.mode. Collectives are numbered by bucket: "gather 3".
class WeightGathers {
 public:
  /// `parameters` are shared out and materialised by the first call of a member; all outlive this.
  WeightGathers(Parameters& parameters, Comm& comm, const Config& config, WaitLog& log);
  ~WeightGathers();
  WeightGathers(const WeightGathers&) = delete;
  WeightGathers& operator=(const WeightGathers&) = delete;

  /// The 16-bit type of what travels; none where it is float32.
  static std::optional<at::ScalarType> travels_as(const Config& config);

  // One bucket, where whole weights do not stay.
  /// Starts to gather it and returns. Nothing where it is there, or under way.
  void start(std::size_t bucket);
  /// Returns when its weights can be used.
  void need(std::size_t bucket);
  void release(std::size_t bucket);
  /// A leaf of the bucket in `type`, of 16 bits: a view of memory that comes and goes with the bucket's.
  at::Tensor cast(std::size_t bucket, const at::Tensor& leaf, at::ScalarType type);

  /// All buckets, where whole weights stay.
  void gather_all();
  /// From now on others get this rank's values as they are now, and it keeps what it has: a mistake on
  /// purpose.
  void keep_stale();

 private:
  struct Held {
    ElasticTensor half;  ///< in 16 bits: what travels, or a cast; made when first wanted
    at::Tensor rounded =
        {};  ///< this rank's part in 16 bits in host memory, where the float32 one lies there
    std::optional<c10::Event> uploaded = {};  ///< behind its last copy to the device
    Work work;
    std::int64_t number = 0;  ///< in the log
  };
  void make_room();
  /// What is sent: this rank's part of `whole`, filled in.
  at::Tensor filled_part(std::size_t bucket, const at::Tensor& whole);
  /// What crosses from host memory is half as much.
  at::Tensor rounded_on_host(Held& held, const at::Tensor& values) const;
  void make_half(std::size_t bucket, at::ScalarType type);
  void land(std::size_t bucket);

  Parameters& parameters_;
  Comm& comm_;
  WaitLog& log_;
  std::optional<at::ScalarType> type_;
  std::optional<at::ScalarType> cast_type_;  ///< once a cast was wanted
  std::vector<Held> held_;                   ///< by bucket
  at::Tensor stale_;                         ///< [own] values before the update
};

}  // namespace isobar
