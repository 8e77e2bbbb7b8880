// Recording what streams are asked for, and asking for it again.
#include "support/host_device/device.h"

namespace isobar::host_device {

std::shared_ptr<Capture> HostDevice::begin_capture() {
  const std::scoped_lock lock(mutex_);
  HostStream& origin = current(current_device());
  if (origin.id == 0) refused("capture", "the default stream cannot be recorded");
  wait_for_all();
  recording_ = std::make_shared<Capture>();
  recording_->origin = &origin;
  recording_->thread = std::this_thread::get_id();
  recording_->streams = {&origin};
  origin.capture = recording_;
  return recording_;
}

void HostDevice::end_capture(Capture& capture) {
  const std::scoped_lock lock(mutex_);
  std::string lost;
  for (const HostStream* const stream : capture.streams) {
    if (capture.origin->clock.of(stream->line) < stream->clock.of(stream->line)) lost = stream->name();
  }
  abandon_capture(capture);
  if (!lost.empty()) refused("capture", "what was recorded on " + lost + " never came back");
}

void HostDevice::abandon_capture(Capture& capture) {
  const std::scoped_lock lock(mutex_);
  for (HostStream* const stream : capture.streams) stream->capture = nullptr;
  capture.open = false;
  recording_ = nullptr;
}

void HostDevice::launch(const std::shared_ptr<Capture>& capture) {
  const std::scoped_lock lock(mutex_);
  std::vector<Use> uses;
  for (const Node& node : capture->nodes) {
    for (const Use& use : node.uses) {
      const auto block = find(use.range.begin);
      if (use.block != 0 && (block == blocks_.end() || block->second.number != use.block))
        violated("reuse", node.what + " of a graph uses memory that was given back");
    }
    uses.insert(uses.end(), node.uses.begin(), node.uses.end());
  }
  ask(
      current(current_device()), "a graph", uses,
      [capture] {
        for (const Node& node : capture->nodes) node.run();
      },
      /*late=*/true);
}

void HostDevice::forget(Capture& capture) {
  const std::scoped_lock lock(mutex_);
  wait_for_all();
  for (const std::byte* const memory : capture.memory) {
    const auto block = find(memory);
    if (block != blocks_.end()) drop(block);
  }
  capture.memory.clear();
}

}  // namespace isobar::host_device
