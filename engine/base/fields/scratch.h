#pragma once
// Memory for what has to be copied once more on its way. Internal to fields/.
#include <cstddef>
#include <memory>

namespace isobar {

/// `values` floats with any content. Up to 1 MiB stays with the thread for its next one: memory that is new
/// costs more than what is done with it. A thread has one of them at a time.
class Scratch {
 public:
  explicit Scratch(std::size_t values) {
    if (values <= kKept) {
      thread_local const std::unique_ptr<float[]> kept = std::make_unique_for_overwrite<float[]>(kKept);
      values_ = kept.get();
    } else {
      own_ = std::make_unique_for_overwrite<float[]>(values);
      values_ = own_.get();
    }
  }
  float* data() const { return values_; }

 private:
  static constexpr std::size_t kKept = (std::size_t{1} << 20) / sizeof(float);
  std::unique_ptr<float[]> own_;
  float* values_ = nullptr;
};

}  // namespace isobar
