#include "kernels/emulated/device.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

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

constexpr std::size_t kStackBytes = 64 << 10;
constexpr std::size_t kLanes = 32;
constexpr std::size_t kSavedRegisters = 6;

/// Threads that meet: a block, or a warp of it.
struct Group {
  int running = 0;
  int waiting = 0;
  int round = 0;

  void release_if_all_wait() {
    if (running == 0 || waiting < running) return;
    waiting = 0;
    ++round;
  }
};

struct Fiber {
  std::unique_ptr<std::uintptr_t[]> stack =
      std::make_unique<std::uintptr_t[]>(kStackBytes / sizeof(std::uintptr_t));
  void* left = nullptr;  ///< top of its stack where it stopped
  uint3 thread = {};
  const Group* waits_for = nullptr;
  int round = 0;  ///< of that group when it began to wait
  int exchanges = 0;
  bool done = false;

  bool can_run() const { return !done && (waits_for == nullptr || waits_for->round != round); }
};

struct Warp {
  Group group;
  /// Taken in turns: who is slow may still read the values before these.
  std::array<std::array<std::uint64_t, kLanes>, 2> values;
};

struct Device {
  Order order = Order::forwards;
  const std::function<void()>* body = nullptr;
  std::vector<Fiber> fibers;
  std::size_t current = 0;
  void* scheduler = nullptr;
  Here here = {};
  Group block;
  std::vector<Warp> warps;
};
Device device;

void wait_for(Group& group) {
  Fiber& fiber = device.fibers[device.current];
  fiber.waits_for = &group;
  fiber.round = group.round;
  ++group.waiting;
  group.release_if_all_wait();
  if (!fiber.can_run()) isobar_switch_stack(&fiber.left, device.scheduler);
  fiber.waits_for = nullptr;
}

void fiber_main() {
  (*device.body)();
  Fiber& fiber = device.fibers[device.current];
  fiber.done = true;
  for (Group* const group : {&device.block, &device.warps[device.current / kLanes].group}) {
    --group->running;  // those who wait do not wait for a thread that has ended
    group->release_if_all_wait();
  }
  isobar_switch_stack(&fiber.left, device.scheduler);
}

/// A stack from which `fiber_main` is returned to.
void prepare(Fiber& fiber, std::size_t index, dim3 size) {
  const auto i = static_cast<unsigned int>(index);
  fiber.thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
  fiber.done = false;
  fiber.waits_for = nullptr;
  fiber.exchanges = 0;
  std::uintptr_t* top = fiber.stack.get() + kStackBytes / sizeof(std::uintptr_t);
  top -= reinterpret_cast<std::uintptr_t>(top) / sizeof(std::uintptr_t) % 2;  // a multiple of 16 bytes
  *--top = 0;  // where fiber_main would return to: it never does
  *--top = reinterpret_cast<std::uintptr_t>(&fiber_main);
  for (std::size_t saved = 0; saved < kSavedRegisters; ++saved) *--top = 0;
  fiber.left = top;
}

void begin_block(dim3 size, std::size_t threads) {
  if (device.fibers.size() < threads) device.fibers.resize(threads);
  device.block = {static_cast<int>(threads), 0, 0};
  device.warps.assign((threads + kLanes - 1) / kLanes, {});
  for (std::size_t i = 0; i < threads; ++i) {
    ++device.warps[i / kLanes].group.running;
    prepare(device.fibers[i], i, size);
  }
}

void run_block(const char* name, std::size_t threads) {
  while (device.block.running > 0) {
    bool moved = false;
    for (std::size_t i = 0; i < threads; ++i) {
      device.current = device.order == Order::forwards ? i : threads - 1 - i;
      Fiber& fiber = device.fibers[device.current];
      if (!fiber.can_run()) continue;
      moved = true;
      device.here.thread = fiber.thread;
      isobar_switch_stack(&device.scheduler, fiber.left);
    }
    if (moved) continue;
    std::fprintf(stderr, "%s: threads of a block wait for one another in vain\n", name);
    std::abort();
  }
}

}  // namespace

const Here& here() { return device.here; }

void set_order(Order order) { device.order = order; }

void run(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread) {
  device.body = &thread;
  device.here.grid = grid;
  device.here.block_size = block;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto at = static_cast<unsigned int>(device.order == Order::forwards ? i : blocks - 1 - i);
    device.here.block = {at % grid.x, at / grid.x % grid.y, at / grid.x / grid.y};
    begin_block(block, threads);
    run_block(name, threads);
  }
}

void wait_for_block() { wait_for(device.block); }

void exchange(void* value, std::size_t bytes, int distance) {
  Warp& warp = device.warps[device.current / kLanes];
  const std::size_t lane = device.current % kLanes;
  const auto turn = static_cast<std::size_t>(device.fibers[device.current].exchanges++ % 2);
  std::memcpy(&warp.values[turn][lane], value, bytes);
  wait_for(warp.group);
  std::memcpy(value, &warp.values[turn][lane ^ static_cast<std::size_t>(distance)], bytes);
}

}  // namespace isobar::emulated
