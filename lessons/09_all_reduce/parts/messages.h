#pragma once
// Messages between any two ranks of one machine, over shared memory, each of them under way as long as an
// emulated link would need: what the collectives of lesson 09 are made of. Torch-free.
#include <cstdint>
#include <memory>
#include <span>

#include "09_all_reduce/parts/link_times.h"
#include "ring/meeting.h"

namespace isobar {

class Messages {
 public:
  /// Meets the other ranks beside the file of `meeting`; alone where its size is 1. Error (exit code 1) for
  /// memory that cannot be had (with both figures), and for a rank that does not come.
  Messages(const RingMeeting& meeting, const MessageLink& link);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int rank() const;
  int size() const;

  // One thread at a time. Each waits for another rank at most the time of `meeting`. Error (exit code 1) that
  // names the rank on which it hangs, on all ranks the same one: it has ended, it sent nothing ("rank 1 did
  // not send its next message for 2 s"), it took nothing, or another number of values. Nothing works
  // afterwards.

  /// Returns when all of it is in the slots to that rank, or taken out of them: what is larger than the slots
  /// waits for the other rank. The link has it longer.
  void send(int to, std::span<const float> values);
  /// The next message of that rank, which has as many values. Returns when it has arrived on the link.
  void receive(int from, std::span<float> into);
  /// Both at once, so that a ring in which all send cannot stand still. `out` and `into` have no value in
  /// common.
  void exchange(int to, std::span<const float> out, int from, std::span<float> into);
  /// Returns when all ranks have called it. It is no message, and takes no time on the link.
  void meet();

  std::int64_t sent_messages() const;
  std::int64_t sent_bytes() const;

  // Mistakes on purpose.
  /// The next message is counted and never sent. Those behind it wait for it, as on any link that keeps
  /// order.
  void drop_next();
  /// From here on `receive` and `exchange` do not wait for the link: where a message has been sent and has
  /// not arrived, `into` keeps what it held, and the message is lost.
  void forget_to_wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace isobar
