#pragma once
// What own pictures are drawn from, and the picture of each lesson.
#include <memory>

#include "analyse/run_reader.h"
#include "analyse/steady.h"
#include "draw/own_picture.h"

namespace isobar {

struct OwnRun {
  std::filesystem::path folder;
  std::shared_ptr<RunReader> reader;
  SteadyFigures steady;
  std::string note;  ///< where the values are from

  const RunView& view() const { return reader->view(); }
};

/// A picture without a body.
OwnPicture nothing_to_draw(const std::string& why, const std::string& hint);

/// The path over the contours of the loss, the line among its points, and the loss by step.
OwnPicture own_descent(const OwnRun& run);
OwnPicture own_step_and_memory(const OwnRun& run);
/// Throughput against workers where the run belongs to a sweep over them, else its timeline.
OwnPicture own_workers(const OwnRun& run);
/// Loop, device and what ran beside them: the threads that read, or the buckets of gradients.
OwnPicture own_loaders(const OwnRun& run);
OwnPicture own_buckets(const OwnRun& run);
/// Gradients over the ranges of types, else the roofline.
OwnPicture own_gradients(const OwnRun& run);
OwnPicture own_roofline(const OwnRun& run);
OwnPicture own_split_layers(const OwnRun& run);
OwnPicture own_host_and_device(const OwnRun& run);
/// Measured time over size, and the link that is fitted to it.
OwnPicture own_all_reduce(const OwnRun& run);

}  // namespace isobar
