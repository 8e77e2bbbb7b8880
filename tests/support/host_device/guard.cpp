// What libtorch asks of a device: streams and events, allocators, and page-locked memory.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstring>

#include "support/host_device/device.h"

namespace isobar::host_device {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

HostEvent& event_in(void* event) { return *static_cast<HostEvent*>(event); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device to) const override {
    const c10::Device before = getDevice();
    setDevice(to);
    return before;
  }
  c10::Device getDevice() const override { return {kType, device().current_device()}; }
  void setDevice(c10::Device to) const override { device().set_device(to.index()); }
  void uncheckedSetDevice(c10::Device to) const noexcept override { device().set_device(to.index()); }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  static HostStream& stream_of(const c10::Stream& stream) {
    return device().stream(stream.device(), stream.id());
  }
  c10::Stream getStream(c10::Device of) const override {
    return device().current(of.has_index() ? of.index() : device().current_device()).handle();
  }
  c10::Stream getDefaultStream(c10::Device of) const override { return device().stream(of, 0).handle(); }
  c10::Stream getStreamFromGlobalPool(c10::Device of, bool) const override {
    return device().from_pool(of.has_index() ? of.index() : device().current_device()).handle();
  }
  c10::Stream getNewStream(c10::Device of, int) const override { return getStreamFromGlobalPool(of, false); }
  c10::Stream exchangeStream(c10::Stream to) const override {
    return device().exchange(stream_of(to)).handle();
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return &stream_of(stream); }
  bool queryStream(const c10::Stream& stream) const override {
    HostEvent end;
    device().record(end, stream_of(stream));
    return device().query(end);
  }
  void synchronizeStream(const c10::Stream& stream) const override { device().wait(stream_of(stream)); }
  void synchronizeDevice(const c10::DeviceIndex) const override { device().wait_for_all(); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) *event = new HostEvent;
    device().record(event_in(*event), stream_of(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    device().block(event_in(event), stream_of(stream));
  }
  bool queryEvent(void* event) const override { return event == nullptr || device().query(event_in(event)); }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) device().wait(event_in(event));
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<HostEvent*>(event);
  }
  double elapsedTime(void* begin, void* end, const c10::DeviceIndex) const override {
    return device().elapsed_us(event_in(begin), event_in(end)) * 1e-3;
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    device().keep(data.get(), stream_of(stream));
  }
};

struct DeviceMemory final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device here(kType, device().current_device());
    if (bytes == 0) return {nullptr, nullptr, raw_deleter(), here};
    void* const memory = device().allocate(bytes);
    return {memory, memory, raw_deleter(), here};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* memory) {
      if (memory != nullptr) device().free(memory);
    };
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

struct PinnedMemory final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const memory = device().allocate_pinned(bytes, /*kept=*/true);
    return {memory, memory, raw_deleter(), c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* memory) { device().free_pinned(memory); };
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return device().current_device(); }
  void setCurrentDevice(c10::DeviceIndex to) const override { device().set_device(to); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex to) const override {
    const c10::DeviceIndex before = getCurrentDevice();
    setCurrentDevice(to);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex to) const override { return exchangeDevice(to); }
  bool isPinnedPtr(const void* memory) const override { return device().is_pinned(memory); }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static PinnedMemory memory;
    return &memory;
  }
};

}  // namespace

void register_guard() {
  static DeviceMemory memory;
  static Hooks hooks;
  c10::register_privateuse1_backend("host");
  c10::SetAllocator(kType, &memory);
  at::RegisterPrivateUse1HooksInterface(&hooks);
  static const c10::impl::DeviceGuardImplRegistrar guard(kType, new Guard);
}

}  // namespace isobar::host_device
