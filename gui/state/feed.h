#pragma once
// Reads run folders in a thread of its own, so that a slow file system never holds a frame.
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "analyse/run_store.h"
#include "draw/field_map.h"
#include "log/run_files.h"

namespace isobar {

struct FieldSet : Fields {
  std::string run;
  std::int64_t step = 0;
  std::string problem = {};  ///< why it could not be read; `values` is empty then
};

/// What the window shows, as it was when it was read.
struct FeedState {
  std::shared_ptr<const StoreSnapshot> runs = std::make_shared<StoreSnapshot>();
  std::shared_ptr<const FieldSet> fields;                   ///< the last that was asked for
  std::shared_ptr<const std::vector<std::string>> console;  ///< last lines of the file that is followed
  std::shared_ptr<const std::vector<std::string>> log;      ///< those of what was started here
  bool first_look_done = false;
};

struct FeedWishes {
  std::set<std::string> open;  ///< runs of which everything is wanted
  std::string fields_run;      ///< "" = none
  std::int64_t fields_step = 0;
  std::filesystem::path console;  ///< file to follow; "" = none
  std::filesystem::path log;      ///< a second one, of what was started here
  bool operator==(const FeedWishes&) const = default;
};

class Feed {
 public:
  /// `on_change` is called from the reading thread whenever `state` would be another.
  Feed(std::vector<std::filesystem::path> places, std::function<void()> on_change);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  FeedState state() const;
  void wish(const FeedWishes& wishes);
  void add_place(const std::filesystem::path& place);

 private:
  void run();
  bool read_fields(const FeedWishes& wishes);
  /// A file whose last lines are shown.
  struct Followed {
    std::filesystem::path file;
    Stamp stamp;
    bool operator==(const Followed&) const = default;
  };
  using Lines = std::shared_ptr<const std::vector<std::string>>;
  bool follow(const std::filesystem::path& file, Followed& last, Lines& lines);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  RunStore store_;
  FeedWishes wishes_;
  std::vector<std::filesystem::path> new_places_;
  FeedState state_;
  std::function<void()> on_change_;
  bool changed_wishes_ = false;
  bool stopping_ = false;
  Followed console_, log_;
  std::thread thread_;
};

}  // namespace isobar
