// isobar-h5: reads HDF5 files for another program of ours, which talks to it over a socket
// (foreign/h5_protocol.h). The only program that lets the HDF5 library parse a file it did not write.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "core/error.h"
#include "foreign/h5_program/foreign_file.h"
#include "foreign/h5_program/limits.h"
#include "foreign/h5_protocol.h"

namespace isobar {
namespace {

constexpr int kSocket = 0;
constexpr int kRequestSeconds = 60;  // of processor time

/// The next request and the file that came with it, if one did; nothing when the other side is done.
std::optional<H5Request> next_request(FileDescriptor& file) {
  H5Request request;
  iovec bytes{&request, sizeof(request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(kSocket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  if (got != static_cast<ssize_t>(sizeof(request)) || request.magic != kH5Magic) {
    throw Error("a request was expected on the input", "isobar-h5",
                "this program is started by others of Isobar");
  }
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head), sizeof(int));
    file = FileDescriptor(number);
  }
  return request;
}

void send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw system_error("cannot answer", "isobar-h5", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void answer(H5Say say, std::span<const std::byte> bytes) {
  const H5Answer head{.say = say, .bytes = bytes.size()};
  send(std::as_bytes(std::span(&head, 1)));
  send(bytes);
}

void answer_refusal(const std::string& reason, const std::string& hint) {
  const std::string text = reason.substr(0, 2000) + '\0' + hint.substr(0, 1000);
  answer(H5Say::refusal, std::as_bytes(std::span(text)));
}

void serve(const H5Request& request, FileDescriptor file, std::unique_ptr<ForeignFile>& open) {
  if (request.ask == H5Ask::open) {
    open.reset();
    if (!file.is_open()) throw Error("no file came with the request", "", "");
    open = std::make_unique<ForeignFile>(std::move(file));
    answer(H5Say::table, open->table());
  } else {
    if (!open) throw Error("no file is open", "", "");
    open->read(request, [](std::span<const float> values) { answer(H5Say::floats, std::as_bytes(values)); });
  }
}

int run() {
  quiet_hdf5();
  H5PLset_loading_state(0);  // no code is loaded because a file asks for it
  give_up_rights();
  std::unique_ptr<ForeignFile> open;
  FileDescriptor file;
  while (const std::optional<H5Request> request = next_request(file)) {
    allow_processor_time(kRequestSeconds);
    try {
      serve(*request, std::move(file), open);
    } catch (const Error& error) {
      answer_refusal(error.what(), error.hint());
    } catch (const std::bad_alloc&) {
      answer_refusal("reading it takes more memory than its reader may use",
                     "are its extents and chunks right?");
    }
  }
  return 0;
}

}  // namespace
}  // namespace isobar

int main() { return isobar::guarded_main("isobar-h5", isobar::run); }
