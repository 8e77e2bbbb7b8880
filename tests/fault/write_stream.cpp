// Writes lines as a training loop does and says what it cost: write_stream FILE LINES BYTES_A_LINE. Output:
// the longest time that one line took and the time that lines waited, in microseconds.
#include <algorithm>
#include <cstdio>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "record/stream_writer.h"

using namespace isobar;

namespace {

int write_lines(int argc, char** argv) {
  if (argc != 4) throw Error("which file?", "write_stream", "write_stream FILE LINES BYTES_A_LINE");
  StreamWriter writer(argv[1], 20);
  const std::string padding(std::stoul(argv[3]), 'x');
  const int lines = std::stoi(argv[2]);
  std::int64_t longest_us = 0;
  for (int i = 0; i < lines; ++i) {
    const std::int64_t begin_us = steady_us();
    writer.write(JsonLine("step").add("step", i).add("padding", padding));
    longest_us = std::max(longest_us, steady_us() - begin_us);
  }
  const std::int64_t waited_us = writer.waited_us();
  writer.finish();
  std::printf("%lld %lld\n", static_cast<long long>(longest_us), static_cast<long long>(waited_us));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("write_stream", [&] { return write_lines(argc, argv); });
}
