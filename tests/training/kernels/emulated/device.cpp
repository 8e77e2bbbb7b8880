#include "kernels/emulated/device.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/emulated/watch.h"

// Saves the registers that a function must keep, and goes on where another stack was left. The C library's
// swapcontext does the same and asks the kernel for the signal mask each time, which takes most of a test.
extern "C" void isobar_switch_stack(void** left, void* next);
asm(R"(
.text
.globl isobar_switch_stack
.type isobar_switch_stack, @function
isobar_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size isobar_switch_stack, .-isobar_switch_stack
)");

namespace isobar::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;  // a sanitizer's report is written on it
constexpr std::size_t kLanes = 32;
constexpr unsigned int kWholeWarp = 0xffffffffU;
constexpr std::size_t kSavedRegisters = 6;

using LaneValues = std::array<std::uint64_t, kLanes>;

/// Lanes as bits.
struct Warp {
  unsigned int there = 0;
  unsigned int ended = 0;
  unsigned int waiting = 0;  ///< at `intrinsic`
  const char* intrinsic = nullptr;
  LaneValues brought = {};
  LaneValues received = {};  ///< until all of them have brought the next
};

struct Fiber {
  std::unique_ptr<std::uintptr_t[]> stack =
      std::make_unique_for_overwrite<std::uintptr_t[]>(kStackBytes / sizeof(std::uintptr_t));
  void* left = nullptr;  ///< top of its stack where it stopped
  uint3 thread = {};
  enum class Waits { no, for_block, for_warp } waits = Waits::no;
  std::uint32_t barriers = 0;  ///< passed
  bool done = false;

  bool can_run() const { return !done && waits == Waits::no; }
};

struct SharedArray {
  const void* declaration;
  std::byte* memory;
  std::size_t bytes;
  bool of_this_block;
};

struct Device {
  Order order = Order::forwards;
  const char* name = "";
  const std::function<void()>* body = nullptr;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::size_t threads = 0;  ///< of a block
  std::size_t current = 0;
  std::size_t running = 0;  ///< threads of the block that have not ended
  std::size_t waiting = 0;  ///< of those at the barrier
  void* scheduler = nullptr;
  Here here = {};
  std::uint32_t launch = 0;
  std::uint32_t block = 0;
  std::vector<SharedArray> shared;
};
Device device;

Fiber& current_fiber() { return device.fibers[device.current]; }

std::string place_text(const uint3& at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

/// Goes on in the scheduler until it comes back to this fiber.
void leave(Fiber& fiber) {
  void* kept = nullptr;
  leave_stack(fiber.done ? nullptr : &kept, nullptr, 0);
  isobar_switch_stack(&fiber.left, device.scheduler);
  arrive_on_stack(kept);
}

void release_block_if_all_wait() {
  if (device.running == 0 || device.waiting < device.running) return;
  device.waiting = 0;
  for (std::size_t i = 0; i < device.threads; ++i) {
    Fiber& fiber = device.fibers[i];
    if (fiber.waits != Fiber::Waits::for_block) continue;
    fiber.waits = Fiber::Waits::no;
    ++fiber.barriers;
  }
}

Warp& current_warp() { return device.warps[device.current / kLanes]; }
unsigned int current_lane() { return 1U << device.current % kLanes; }

/// `lanes`: those that the intrinsic cannot have.
void refuse_lanes(const char* intrinsic, unsigned int lanes, const char* why) {
  if (lanes == 0) return;
  refuse(std::string(intrinsic) + " names lane " + std::to_string(std::countr_zero(lanes)) +
         " of its warp, which " + why);
}

void fiber_main() {
  arrive_on_stack(nullptr);
  (*device.body)();
  Fiber& fiber = current_fiber();
  fiber.done = true;
  Warp& warp = current_warp();
  if (warp.waiting != 0) refuse_lanes(warp.intrinsic, current_lane(), "has ended");
  warp.ended |= current_lane();
  --device.running;  // those who wait do not wait for a thread that has ended
  release_block_if_all_wait();
  leave(fiber);
}

/// A stack from which `fiber_main` is returned to.
void prepare(Fiber& fiber, std::size_t index, dim3 size) {
  const auto i = static_cast<unsigned int>(index);
  fiber.thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
  fiber.done = false;
  fiber.waits = Fiber::Waits::no;
  fiber.barriers = 0;
  std::uintptr_t* top = fiber.stack.get() + kStackBytes / sizeof(std::uintptr_t);
  top -= reinterpret_cast<std::uintptr_t>(top) / sizeof(std::uintptr_t) % 2;  // a multiple of 16 bytes
  *--top = 0;  // where fiber_main would return to: it never does
  *--top = reinterpret_cast<std::uintptr_t>(&fiber_main);
  for (std::size_t saved = 0; saved < kSavedRegisters; ++saved) *--top = 0;
  fiber.left = top;
}

void begin_block(dim3 size) {
  if (device.fibers.size() < device.threads) device.fibers.resize(device.threads);
  device.running = device.threads;
  device.waiting = 0;
  for (SharedArray& array : device.shared) array.of_this_block = false;
  device.warps.assign((device.threads + kLanes - 1) / kLanes, {});
  for (std::size_t i = 0; i < device.threads; ++i) {
    device.warps[i / kLanes].there |= 1U << i % kLanes;
    prepare(device.fibers[i], i, size);
  }
}

void run_block() {
  while (device.running > 0) {
    bool moved = false;
    for (std::size_t i = 0; i < device.threads; ++i) {
      device.current = device.order == Order::forwards ? i : device.threads - 1 - i;
      Fiber& fiber = current_fiber();
      if (!fiber.can_run()) continue;
      moved = true;
      device.here.thread = fiber.thread;
      void* kept = nullptr;
      leave_stack(&kept, fiber.stack.get(), kStackBytes);
      isobar_switch_stack(&device.scheduler, fiber.left);
      arrive_on_stack(kept);
    }
    if (!moved) refuse("waits, and so do all threads of its block, for one another in vain");
  }
}

/// Waits for all lanes of the warp; what each of them brought.
const LaneValues& meet(const char* intrinsic, unsigned int mask, std::uint64_t value) {
  Warp& warp = current_warp();
  if (mask != kWholeWarp)
    refuse(std::string(intrinsic) + " has a mask of some lanes, of which none is emulated");
  refuse_lanes(intrinsic, ~warp.there, "is not there");
  refuse_lanes(intrinsic, warp.ended, "has ended");
  if (warp.waiting != 0 && warp.intrinsic != intrinsic && std::strcmp(warp.intrinsic, intrinsic) != 0) {
    refuse_lanes(intrinsic, warp.waiting, "is at another one");
  }
  warp.intrinsic = intrinsic;
  warp.brought[device.current % kLanes] = value;
  warp.waiting |= current_lane();
  if (warp.waiting != kWholeWarp) {
    current_fiber().waits = Fiber::Waits::for_warp;
    leave(current_fiber());
    return warp.received;
  }
  warp.waiting = 0;
  warp.received = warp.brought;
  const std::size_t first = device.current / kLanes * kLanes;
  for (std::size_t lane = 0; lane < kLanes; ++lane) device.fibers[first + lane].waits = Fiber::Waits::no;
  return warp.received;
}

}  // namespace

const Here& here() { return device.here; }
Moment moment() { return {device.launch, device.block, static_cast<std::uint32_t>(device.current)}; }
std::uint32_t barriers_passed(std::uint32_t thread) { return device.fibers[thread].barriers; }

void set_order(Order order) { device.order = order; }

void refuse(const std::string& what) {
  std::fprintf(stderr, "%s, block %s, thread %s: %s\n", device.name, place_text(device.here.block).c_str(),
               place_text(current_fiber().thread).c_str(), what.c_str());
  std::abort();
}

void run(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread) {
  device.name = name;
  device.body = &thread;
  device.here.grid = grid;
  device.here.block_size = block;
  device.threads = std::size_t{block.x} * block.y * block.z;
  ++device.launch;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  for (std::size_t i = 0; i < blocks; ++i) {
    device.block = static_cast<std::uint32_t>(device.order == Order::forwards ? i : blocks - 1 - i);
    const unsigned int at = device.block;
    device.here.block = {at % grid.x, at / grid.x % grid.y, at / grid.x / grid.y};
    begin_block(block);
    run_block();
  }
  for (const SharedArray& array : device.shared) give_back(array.memory);
  device.shared.clear();
}

void wait_for_block() {
  Fiber& fiber = current_fiber();
  fiber.waits = Fiber::Waits::for_block;
  ++device.waiting;
  release_block_if_all_wait();
  if (!fiber.can_run()) leave(fiber);
}

void exchange(const char* intrinsic, unsigned int mask, void* value, std::size_t bytes, int distance) {
  std::uint64_t brought = 0;
  std::memcpy(&brought, value, bytes);
  const std::size_t from = device.current % kLanes ^ static_cast<std::size_t>(distance);
  if (from >= kLanes) refuse(std::string(intrinsic) + " asks beyond its warp");
  std::memcpy(value, &meet(intrinsic, mask, brought)[from], bytes);
}

std::uint64_t sum_of_lanes(const char* intrinsic, unsigned int mask, std::uint64_t value) {
  const LaneValues& values = meet(intrinsic, mask, value);
  std::uint64_t sum = 0;
  for (const std::uint64_t one : values) sum += one;
  return sum;
}

void* shared_memory(const void* declaration, const char* name, std::size_t bytes, std::size_t alignment) {
  SharedArray* found = nullptr;
  for (SharedArray& array : device.shared) {
    if (array.declaration == declaration) found = &array;
  }
  if (found == nullptr) {
    device.shared.push_back({declaration, take(Memory::shared, name, bytes, alignment), bytes, false});
    found = &device.shared.back();
  }
  if (!found->of_this_block) std::memset(found->memory, 0xff, bytes);  // NaN, as float and as double
  found->of_this_block = true;
  return found->memory;
}

}  // namespace isobar::emulated
