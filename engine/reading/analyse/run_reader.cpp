#include "analyse/run_reader.h"

#include "analyse/run_files.h"
#include "core/clock.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

RunReader::RunReader(fs::path folder, bool keep_series)
    : folder_(std::move(folder)),
      log_(RunFolder{folder_}.stream_file(0)),
      builder_{RunViewBuilder(folder_.string()), {}, keep_series} {
  check_run_folder(folder_);
}

bool RunReader::update() {
  const bool grew = log_.update(builder_);
  std::error_code code;
  if (const fs::path stream = RunFolder{folder_}.stream_file(0); fs::exists(stream, code)) {
    // Once it was seen to grow, its age is known without a look at clocks of two machines.
    if (grew && has_read_) grown_us_ = steady_us();
    has_read_ = has_read_ || !grew;
    builder_.view.judge(
        grown_us_ > 0 ? static_cast<double>(steady_us() - grown_us_) * 1e-6 : silence_s(stream), folder_);
  }
  return grew;
}

RunView glance(const fs::path& folder) {
  const fs::path path = RunFolder{folder}.stream_file(0);
  RunViewBuilder builder(folder.string());
  std::error_code code;
  if (!fs::exists(path, code)) return builder.view();
  take_ends(read_ends(folder, 0), builder);
  builder.judge(silence_s(path), folder);
  return builder.view();
}

}  // namespace isobar
