#include "core/standard_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace isobar {
namespace {

constexpr int kModes[] = {O_RDONLY, O_RDONLY, O_WRONLY};  // what can only be read takes no words

/// Before `main` and whatever opens a file there; with a low number, before objects of other files.
[[gnu::constructor(101)]] void take_standard_descriptors() {
  for (int number = 0; number < 3; ++number) {
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", kModes[number]);  // gets the lowest free number
  }
}

bool was_closed() {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

}  // namespace

bool reader_left(int descriptor) {
  pollfd end{descriptor, 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

Error lost_output() {
  return {
      "not all of it could be printed", "standard output",
      was_closed() ? "it is closed; > /dev/null prints to nobody" : "is the disk full that it is written to?",
      Exit::failed};
}

}  // namespace isobar
