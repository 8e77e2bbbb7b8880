#pragma once
// comm.sync = buckets whose messages a page makes: each bucket goes the way of a task (bucket_task.h).
#include <memory>

#include "compress/bucket_task.h"
#include "compress/compression.h"
#include "train/gradient_sync.h"

namespace isobar {

/// A bucket's task begins when the bucket is full, behind all before it. Where it has several rounds, bucket
/// i begins its next one when bucket i + 1 has begun, so that all ranks send in one order and backward hides
/// what it can; `finish` does the rest. With comm.overlap = false all of it is done in `finish`.
///
/// What comm.sync names otherwise, and none with comm.average = weights. `compression` and what `way` holds
/// outlive it. A rank alone goes the same way: the cost of arithmetic without that of messages.
std::unique_ptr<GradientSync> make_compressed_sync(Parameters& parameters, Comm& comm,
                                                   const CommConfig& config, Compression& compression,
                                                   BucketWay way);

}  // namespace isobar
