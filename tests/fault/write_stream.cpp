// Writes lines as a training loop does, while the preloaded library holds up all writes, and says how many
// lines were taken before the first one waited, or all, and the time that lines waited, in microseconds:
// write_stream FILE LINES BYTES_A_LINE GATE. Once a line waits a second passes, and writes go on.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "record/stream_writer.h"
#include "support/set_clock.h"

using namespace isobar;

namespace {

int write_lines(int argc, char** argv) {
  if (argc != 5) throw Error("which file?", "write_stream", "write_stream FILE LINES BYTES_A_LINE GATE");
  SetClock clock;
  StreamWriter writer(argv[1], 20);
  const std::string padding(std::stoul(argv[3]), 'x');
  const int lines = std::stoi(argv[2]);
  clock.until_waiting(1);  // the thread that writes
  clock.advance_us(20'000);
  clock.until_waiting(1);
  writer.write(JsonLine("step").add("step", 0).add("padding", padding));
  clock.advance_us(20'000);
  clock.until_none_waits();  // it writes, and does not come back from it
  std::atomic<int> taken = 1;
  std::atomic<bool> all = false;
  int before_wait = 0;
  std::jthread watch([&] {
    while (!all && !clock.waits()) std::this_thread::yield();
    before_wait = taken;
    if (!all) clock.advance_us(1'000'000);
    std::filesystem::remove(argv[4]);
  });
  for (int i = 1; i < lines; ++i, ++taken)
    writer.write(JsonLine("step").add("step", i).add("padding", padding));
  all = true;
  watch.join();
  std::printf("%d %lld\n", before_wait, static_cast<long long>(writer.waited_us()));
  writer.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("write_stream", [&] { return write_lines(argc, argv); });
}
