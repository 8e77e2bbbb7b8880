#pragma once
// Which rank waits for which, in memory that all of them see: so that an error names the rank on which the
// others hang, and all ranks name the same one. Torch-free.
#include <cstdint>
#include <optional>
#include <string>

namespace isobar {

/// room: for a message to that rank; link: a message of that rank has been sent and is still under way, which
/// is nobody's fault.
enum class AwaitedThing { message, room, meeting, link };

class WaitBoard {
 public:
  static std::uint64_t bytes(int size);
  /// In `bytes(size)` zeros at the begin of a page, which outlive this.
  WaitBoard(std::byte* place, int rank, int size) : place_(place), rank_(rank), size_(size) {}

  /// This rank waits, or soon may, for `other`, which in a meeting is the rank that has not come. A wait that
  /// fails does not end. Of a circle of waits the first is to blame: `since_us` is from before this rank gave
  /// another one anything to wait on.
  void begin(AwaitedThing thing, int other, std::int64_t since_us) noexcept;
  void end() noexcept;
  /// This rank comes to meeting `number`; numbers are 1, 2, 3, ... on every rank.
  void come(std::int64_t number) noexcept;

  struct Wait {
    int rank = 0;  ///< the rank that waits
    AwaitedThing thing = AwaitedThing::message;
    int other = 0;  ///< for which it waits
    std::int64_t since_us = 0;
  };
  /// On which wait this rank's own hangs: the last of the chain, of a circle the one that began first;
  /// a chain ends with who waits for the link.
  Wait cause() const;

  /// The text to report of the failure: `text`, unless another rank has set one before; long ones are cut.
  /// Any rank, any thread.
  std::string blame(const std::string& text);
  /// The text that was set; nullopt while all is well.
  std::optional<std::string> blamed() const;

 private:
  struct Header;
  struct Row;
  Header& header() const;
  Row& row(int rank) const;
  std::optional<Wait> wait_of(int rank) const;

  std::byte* place_;
  int rank_;
  int size_;
};

}  // namespace isobar
