// Stands in for isobar-h5 in tests: does what a crashed, hung or subverted one would, chosen by the name it
// is called by.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <string>

#include "foreign/h5_protocol.h"

using namespace isobar;

namespace {

void send_bytes(const void* bytes, std::size_t count) { (void)!::send(0, bytes, count, MSG_NOSIGNAL); }

/// Takes requests; true once there has been one.
bool wait_for_request() {
  H5Request request;
  return recv(0, &request, sizeof(request), MSG_WAITALL) == static_cast<ssize_t>(sizeof(request));
}

void wait_for_ever() {
  while (true) pause();
}

void answer(H5Say say, std::uint64_t bytes) {
  const H5Answer head{.say = say, .bytes = bytes};
  send_bytes(&head, sizeof(head));
}

void answer_table(const H5TableHead& head) {
  answer(H5Say::table, sizeof(head));
  send_bytes(&head, sizeof(head));
}

/// A table of a compressed file, which its reader will be asked for again.
void lure() { answer_table({.shape = {5, 3, 8, 16}, .chunk = {1, 3, 8, 16}, .storage = 2}); }

void spin() {
  while (getppid() != 0) {
  }
}

void drip() {
  answer(H5Say::table, 1'000'000);
  for (const char byte = 0;; usleep(20'000)) send_bytes(&byte, 1);
}

void flood() {
  answer(H5Say::table, std::numeric_limits<std::uint64_t>::max());
  const std::string bytes(1 << 20, 'x');
  while (::send(0, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
  }
}

void raise_really(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

const std::map<std::string, void (*)()> kActs = {
    {"crash", [] { raise_really(SIGSEGV); }},
    {"abort", [] { abort(); }},
    {"too_long", [] { raise_really(SIGPROF); }},
    {"exit3", [] { _exit(3); }},
    {"not_loaded", [] { _exit(127); }},
    {"hang", wait_for_ever},
    {"deaf", [] { shutdown(0, SHUT_RDWR), wait_for_ever(); }},
    {"spin", spin},
    {"drip", drip},
    {"flood", flood},
    {"garbage", [] { send_bytes("HTTP/1.1 200 OK\r\n\r\n", 19), wait_for_ever(); }},
    {"floats", [] { answer(H5Say::floats, 4), wait_for_ever(); }},
    {"long_refusal", [] { answer(H5Say::refusal, 1 << 30), wait_for_ever(); }},
    {"escape",
     [] {
       const std::string text = std::string("bad\x1b]0;title\x07 file\0hint\x1b[2J", 27);
       answer(H5Say::refusal, text.size());
       send_bytes(text.data(), text.size());
       wait_for_ever();
     }},
    {"huge_extents",
     [] {
       answer_table({.shape = {5, 1 << 20, 1 << 20, 1 << 20}, .storage = 2}), wait_for_ever();
     }},
    {"outside",
     [] {
       answer_table({.shape = {5, 3, 8, 16}, .offset = ~std::uint64_t{0} - 8}), wait_for_ever();
     }},
    {"crash_at_record", [] { lure(), wait_for_request(), raise_really(SIGBUS); }},
    {"hang_at_record", [] { lure(), wait_for_request(), wait_for_ever(); }},
    {"endless_record", [] { lure(), wait_for_request(), answer(H5Say::floats, 1 << 30), wait_for_ever(); }},
    {"empty_record", [] { lure(), wait_for_request(), answer(H5Say::floats, 0), wait_for_ever(); }},
    {"odd_record", [] { lure(), wait_for_request(), answer(H5Say::floats, 6), wait_for_ever(); }},
};

}  // namespace

int main(int, char** arguments) {
  if (!wait_for_request()) return 0;
  kActs.at(std::filesystem::path(arguments[0]).filename().string())();
  return 0;
}
