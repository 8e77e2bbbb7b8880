#pragma once
// Which elements of a bucket each rank owns: what the exercise of lesson 13 stands for.
#include <cstdint>

#include "core/seam.h"
#include "model/shared_layout.h"

namespace isobar {

/// Elements [begin, begin + count) of a bucket.
struct BucketStretch {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// How many elements of a bucket with `content` each of `parts` ranks owns, padding included: the fewest that
/// are a multiple of 16 and hold all of it.
std::int64_t owned_length(std::int64_t content, std::int64_t parts);

/// What rank `part` of `parts` owns of the parameter at `parameter`, in a bucket of which each owns `length`
/// elements. in_own counts from the first one that it owns.
OwnStretch owned_stretch(const BucketStretch& parameter, std::int64_t length, std::int64_t parts,
                         std::int64_t part);

namespace seams {

inline constinit Seam<std::int64_t(std::int64_t content, std::int64_t parts)> owned_length{
    isobar::owned_length};
inline constinit Seam<OwnStretch(const BucketStretch& parameter, std::int64_t length, std::int64_t parts,
                                 std::int64_t part)>
    owned_stretch{isobar::owned_stretch};

}  // namespace seams
}  // namespace isobar
