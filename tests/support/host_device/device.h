#pragma once
// A device for tests that behaves as a GPU with streams does, in the memory of the host: libtorch's
// PrivateUse1. Operators run when they are asked for, in program order, so that values are those of a CPU;
// what a device promises about order is kept beside them. Each stream and event has a vector clock, each
// operator says by its schema what it reads and writes, and what the order does not promise is a violation,
// whatever happened to come first. Uploads, downloads and graphs do their work late, when something needs it
// or a seeded draw lets the device go on: a copy that nobody waits for is seen in the values as well.
//
//   race         memory is touched without a happens-before
//   reuse        memory is given back while another stream, or a graph, may still use it
//   late copy    the host changes page-locked memory before a copy out of it is done
//   capture      what is recorded reaches a stream that is not, or waits for one, or never comes back
//   host read    the host reads the device while it records
//   allocation   memory that is not the graph's is asked for while it records
//   synchronise  the host waits for the device while it records
//   other device an event of one device is used on another
//   double record  an event is recorded again before anybody asked for the first time
//   run-ahead    more work is outstanding than a test allows
//
// What CUDA refuses with an error is thrown besides. Threads of the host are taken to be ordered as they ran.
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/host_device/memory_log.h"

namespace isobar::host_device {

struct Violation {
  std::string rule;
  std::string what;
};

/// Memory that a piece of work reads or writes.
struct Use {
  Range range;
  bool writes = false;
  std::uint64_t block = 0;  ///< of a node of a graph: the memory that it was recorded with
};
Use use_of(const at::Tensor& tensor, bool writes);
Use use_of(const void* memory, std::size_t bytes, bool writes);

/// Work of a stream.
struct Piece {
  std::string what;
  std::vector<std::shared_ptr<Piece>> behind;  ///< that must be done first
  std::function<void()> run;                   ///< what is still to be done
  VectorClock clock;                           ///< what is done when it is
  double end_us = 0;                           ///< on the device's clock
  bool ran = false;
  bool passed = false;  ///< the host may know that it is done
};

struct Capture;

struct HostStream {
  c10::Device device;
  c10::StreamId id;
  std::size_t line;
  VectorClock clock = {};
  std::shared_ptr<Piece> last = {};
  std::deque<std::shared_ptr<Piece>> queue = {};  ///< not passed yet
  std::shared_ptr<Capture> capture = {};

  c10::Stream handle() const { return c10::Stream(c10::Stream::UNSAFE, device, id); }
  std::string name() const;
};

struct HostEvent {
  HostStream* stream = nullptr;  ///< null: not recorded yet
  std::shared_ptr<Piece> piece = {};
  VectorClock clock = {};
  std::shared_ptr<Capture> capture = {};
  bool heard = true;  ///< somebody waited for it, or asked
};

/// Work that is recorded and done when the graph is launched.
struct Node {
  std::string what;
  std::vector<Use> uses;
  std::function<void()> run;
};

struct Capture {
  HostStream* origin = nullptr;
  std::thread::id thread;
  std::set<HostStream*> streams;
  std::vector<Node> nodes;
  MemoryLog log;
  std::vector<const std::byte*> memory;  ///< that was taken while it was recorded, and is the graph's
  bool open = true;
};

class HostDevice {
 public:
  static HostDevice& get();  ///< makes it known to libtorch when it is first asked for

  /// Forgets all that was; draws come from `seed`.
  void begin(std::uint64_t seed);
  /// What was done wrong since then; the device is idle afterwards.
  std::vector<Violation> end();
  /// More pieces than that which are not done are a violation; 0 = any number.
  void allow_outstanding(std::size_t pieces) { most_outstanding_ = pieces; }
  std::size_t outstanding() const;
  /// Nothing is done by itself from now on, only what is waited for.
  void stand_still() { stands_still_ = true; }
  /// Pieces take so long from now on, on the device's clock.
  void takes(double us) { piece_us_ = us; }
  double now_us() const;  ///< where the device has got to

  // Streams of the calling thread.
  c10::DeviceIndex current_device() const;
  void set_device(c10::DeviceIndex device);
  HostStream& current(c10::DeviceIndex device);
  HostStream& exchange(HostStream& stream);
  HostStream& stream(c10::Device device, c10::StreamId id);
  HostStream& from_pool(c10::DeviceIndex device);

  /// Work on `stream`. With `late` it is done when something needs it, else at once; while the stream is
  /// recorded, not at all.
  void ask(HostStream& stream, const std::string& what, const std::vector<Use>& uses,
           const std::function<void()>& run, bool late = false);
  /// What the last piece of work asked of `stream` uses besides.
  void also(HostStream& stream, const std::string& what, const std::vector<Use>& uses);
  /// The host waits for `stream` and reads that memory.
  void read(HostStream& stream, const std::string& what, const Use& use);

  void record(HostEvent& event, HostStream& stream);
  void block(HostEvent& event, HostStream& stream);
  bool query(HostEvent& event);
  void wait(HostEvent& event);
  double elapsed_us(HostEvent& begin, HostEvent& end);
  void wait(HostStream& stream);
  void wait_for_all();

  void* allocate(std::size_t bytes);
  void free(void* memory);
  /// `memory` is used by `stream` as well; it is not given to others before that stream is done with it.
  void keep(const void* memory, HostStream& stream);
  /// With `kept` by libtorch's allocator, which keeps it until copies out of it are done.
  void* allocate_pinned(std::size_t bytes, bool kept);
  void free_pinned(void* memory);
  bool is_pinned(const void* memory) const;
  bool is_kept(const void* memory) const;

  std::shared_ptr<Capture> begin_capture();  ///< of the current stream
  void end_capture(Capture& capture);
  void abandon_capture(Capture& capture);
  void launch(const std::shared_ptr<Capture>& capture);
  void forget(Capture& capture);

  void violated(const std::string& rule, const std::string& what);
  /// The same, and throws.
  [[noreturn]] void refused(const std::string& rule, const std::string& what);
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  using Memory = std::unique_ptr<std::byte[]>;
  struct Block {
    Memory memory;  ///< that it lies in
    std::size_t bytes = 0;
    HostStream* stream = nullptr;   ///< null: page-locked memory of the host
    std::set<std::size_t> used_on;  ///< lines
    bool kept = false;
    bool of_graph = false;
    std::uint64_t number = 0;  ///< from 1; never given twice
  };
  using Blocks = std::map<const std::byte*, Block>;
  HostDevice();
  void* add(std::size_t bytes, Block block);
  Blocks::const_iterator find(const void* memory) const;
  void note(MemoryLog& log, HostStream& stream, const std::string& what, const std::vector<Use>& uses);
  std::shared_ptr<Piece> append(HostStream& stream, const std::string& what, double us);
  void pass(const std::shared_ptr<Piece>& piece);
  void let_go_on(std::uint64_t most);
  void check_waiting(const HostStream* stream, const std::string& what);
  void drop(Blocks::const_iterator block);

  mutable std::recursive_mutex mutex_;
  std::deque<HostStream> streams_;
  Blocks blocks_;
  std::vector<Memory> dropped_;  ///< that late work may still touch
  MemoryLog log_;
  VectorClock host_;
  std::vector<Violation> violations_;
  std::mt19937_64 random_;
  std::size_t most_outstanding_ = 0;
  std::size_t next_of_pool_ = 0;
  std::uint64_t blocks_made_ = 0;
  bool stands_still_ = false;
  double piece_us_ = 1;
  std::shared_ptr<Capture> recording_;
};

inline HostDevice& device() { return HostDevice::get(); }

inline constexpr c10::DeviceIndex kDevices = 2;
inline constexpr c10::StreamId kStreams = 9;  ///< of each device; the first is its default stream
inline const c10::Device kHostDevice(c10::DeviceType::PrivateUse1, 0);

/// Registers operators, guard and allocators with libtorch.
void register_operators();
void register_guard();

}  // namespace isobar::host_device
