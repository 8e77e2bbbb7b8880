#pragma once
// The task of a bucket that the page of lesson 11 has.
#include "compress/bucket_task.h"
#include "compress/compression.h"

namespace isobar::testing {

/// `compression` outlives it.
inline BucketWay way_of(Compression& compression) {
  return [&compression](SentBucket& bucket) -> BucketTask {
    while (const auto payload = compression.transform(bucket)) co_await bucket.all_reduce(*payload);
    compression.finish(bucket);
  };
}

}  // namespace isobar::testing
