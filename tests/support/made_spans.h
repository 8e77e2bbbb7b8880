#pragma once
// Streams of spans as a run writes them, made up line by line.
#include <cstdint>
#include <string>

#include "core/files.h"
#include "record/json_line.h"
#include "support/temp_folder.h"

namespace isobar {

class MadeSpans {
 public:
  MadeSpans& attempt(int number, std::int64_t from_step = 0) {
    return line(JsonLine("attempt").add("schema", 1).add("attempt", number).add("from_step", from_step));
  }
  MadeSpans& span(std::int64_t step, const std::string& track, const std::string& name, std::int64_t begin_us,
                  std::int64_t duration_us, std::int64_t bytes = 0) {
    JsonLine out("span");
    out.add("step", step).add("track", track).add("name", name);
    out.add("begin_us", begin_us).add("duration_us", duration_us);
    if (bytes > 0) out.add("bytes", bytes);
    return line(out);
  }
  MadeSpans& line(const JsonLine& line) { return raw(line.text()); }
  MadeSpans& raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

  /// Puts them into a run folder.
  void write(const TempFolder& folder) const {
    write_file_whole(folder / "run.toml", "");
    write_file_whole(folder / "rank-0000.spans.jsonl", text_);
  }

 private:
  std::string text_;
};

}  // namespace isobar
