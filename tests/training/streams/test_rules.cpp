// The host device itself: right uses of streams pass with any draw, and each mistake has its rule.
#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "device/stream.h"
#include "training/streams/checked_device.h"

using namespace isobar;
using namespace isobar::host_device;

namespace {

c10::Stream main_stream() { return device().stream(kHostDevice, 0).handle(); }
c10::Stream side(c10::StreamId id = 1) { return device().stream(kHostDevice, id).handle(); }

void put_behind(const c10::Stream& before, const c10::Stream& after) {
  c10::Event event(before.device_type());
  event.record(before);
  event.block(after);
}

at::Tensor pinned(double value) {
  return at::empty({64}, at::TensorOptions(at::kFloat).pinned_memory(true)).fill_(value);
}

}  // namespace

TEST_CASE("operators give what those of a processor give, views and gradients too") {
  check_right([] {
    at::Tensor here = at::arange(12, at::kFloat).view({3, 4});
    at::Tensor there = here.to(kHostDevice);
    CHECK(there.device() == kHostDevice);
    const auto both = [&](const auto& of) {
      const at::Tensor out = of(there);
      CHECK(out.device() == kHostDevice);
      CHECK(out.cpu().equal(of(here)));
    };
    both([](const at::Tensor& x) { return at::mm(x, x.t()); });
    both([](const at::Tensor& x) { return x.select(0, 1).add(3).sum(); });
    both([](const at::Tensor& x) { return x.view({4, 3}).narrow(1, 1, 2).contiguous(); });
    there.narrow(0, 0, 1).fill_(7);
    here.narrow(0, 0, 1).fill_(7);
    CHECK(there.cpu().equal(here));
    for (at::Tensor* const x : {&here, &there}) {
      x->set_requires_grad(true);
      (*x * *x).sum().backward();
    }
    CHECK(there.grad().cpu().equal(here.grad()));
    CHECK(there.detach().sum().item<float>() == here.detach().sum().item<float>());
  });
}

TEST_CASE("a stream that waits for another may use what it made") {
  check_right([] {
    at::Tensor x = at::zeros({8}, on_host_device());
    put_behind(main_stream(), side());
    {
      const c10::StreamGuard guard(side());
      x.add_(1);
    }
    put_behind(side(), main_stream());
    x.add_(1);
    CHECK(x.sum().item<float>() == 16);
  });
}

TEST_CASE("race: a wait is missing, or is for another stream") {
  for (const bool waits_for_another : {false, true}) {
    check_wrong("race", [&] {
      at::Tensor x = at::zeros({8}, on_host_device());
      put_behind(main_stream(), side());
      {
        const c10::StreamGuard guard(side());
        x.add_(1);
      }
      if (waits_for_another) put_behind(side(2), main_stream());
      x.add_(1);
      put_behind(side(), main_stream());
    });
  }
}

TEST_CASE("race: the host reads what another stream has yet to write") {
  check_wrong("race", [] {
    at::Tensor x = at::zeros({}, on_host_device());
    put_behind(main_stream(), side());
    {
      const c10::StreamGuard guard(side());
      x.add_(1);
    }
    x.item<float>();  // waits for the current stream alone
    put_behind(side(), main_stream());
  });
}

TEST_CASE("reuse: memory is given back while another stream uses it") {
  const auto use = [](bool keeps) {
    at::Tensor x = at::ones({8}, on_host_device());
    put_behind(main_stream(), side());
    const c10::StreamGuard guard(side());
    at::Tensor sum = x.sum();
    if (keeps) keep_for(x, side());
  };
  check_right([&] { use(true); });
  check_wrong("reuse", [&] { use(false); });
}

TEST_CASE("late copy: the host writes to page-locked memory too early") {
  const auto copy = [](bool waits) {
    if (!waits) device().stand_still();
    at::Tensor from = pinned(1);
    at::Tensor to = at::empty({64}, on_host_device());
    to.copy_(from, /*non_blocking=*/true);
    if (waits) current_stream(kHostDevice).synchronize();
    from.fill_(2);
    return to.sum().item<float>();
  };
  check_right([&] { CHECK(copy(true) == 64); });
  check_wrong("late copy", [&] { CHECK(copy(false) == 128); });
}

TEST_CASE("a download is there when it was waited for, and not before") {
  check_right([] {
    device().stand_still();
    at::Tensor to = pinned(0);
    to.copy_(at::ones({64}, on_host_device()), /*non_blocking=*/true);
    CHECK(std::isnan(to.sum().item<float>()));
    current_stream(kHostDevice).synchronize();
    CHECK(to.sum().item<float>() == 64);
  });
}

TEST_CASE("other device, double record: events that are used wrongly") {
  const c10::Device second(c10::DeviceType::PrivateUse1, 1);
  check_wrong("other device", [&] {
    HostEvent event;
    device().record(event, device().stream(kHostDevice, 0));
    device().record(event, device().stream(second, 0));
  });
  check_wrong("double record", [] {
    HostEvent event;
    device().record(event, device().stream(kHostDevice, 0));
    device().record(event, device().stream(kHostDevice, 0));
  });
  check_right([] {
    HostEvent event;
    for (int i = 0; i < 3; ++i) {
      device().record(event, device().stream(kHostDevice, 0));
      while (!device().query(event)) {
      }
    }
  });
}

TEST_CASE("run-ahead: more is outstanding than is allowed") {
  const auto ask = [](bool waits) {
    device().stand_still();
    device().allow_outstanding(10);
    at::Tensor x = at::zeros({8}, on_host_device());
    for (int i = 0; i < 20; ++i) {
      x.add_(1);
      if (waits) current_stream(kHostDevice).synchronize();
    }
  };
  check_right([&] { ask(true); });
  check_wrong("run-ahead", [&] { ask(false); });
}

namespace {

/// Records `step` on a side stream and launches it twice.
void record_and_launch(const std::function<void()>& step) {
  std::shared_ptr<Capture> graph;
  {
    const c10::StreamGuard guard(side());
    put_behind(main_stream(), side());
    graph = device().begin_capture();
    try {
      step();
      device().end_capture(*graph);
    } catch (const std::exception&) {
      device().abandon_capture(*graph);
      return;
    }
  }
  put_behind(side(), main_stream());
  for (int i = 0; i < 2; ++i) device().launch(graph);
  current_stream(kHostDevice).synchronize();
  device().forget(*graph);
}

}  // namespace

TEST_CASE("what is recorded is done at each launch, and not before") {
  check_right([] {
    at::Tensor x = at::zeros({8}, on_host_device());
    at::Tensor doubled;
    record_and_launch([&] {
      doubled = x.add_(1) * 2;
      put_behind(side(), side(3));  // another stream joins the recording
      {
        const c10::StreamGuard guard(side(3));
        x.add_(1);
      }
      put_behind(side(3), side());
    });
    CHECK(x.sum().item<float>() == 32);
  });
}

TEST_CASE("capture: what is recorded reaches the default stream, is not brought back, or waits outside") {
  check_wrong("capture", [] { record_and_launch([] { put_behind(side(), main_stream()); }); });
  check_wrong("capture", [] {
    at::Tensor x = at::zeros({8}, on_host_device());
    record_and_launch([&] {
      put_behind(side(), side(3));
      const c10::StreamGuard guard(side(3));
      x.add_(1);
    });
  });
  check_wrong("capture", [] {
    c10::Event before(c10::DeviceType::PrivateUse1);
    before.record(main_stream());
    record_and_launch([&] { before.block(side()); });
  });
  check_wrong("capture", [] { device().begin_capture(); });  // of the default stream
}

TEST_CASE("a race within a recording is one") {
  check_wrong("race", [] {
    at::Tensor x = at::zeros({8}, on_host_device());
    record_and_launch([&] {
      put_behind(side(), side(3));
      x.add_(1);
      {
        const c10::StreamGuard guard(side(3));
        x.add_(1);
      }
      put_behind(side(3), side());
    });
  });
}

TEST_CASE("host read, allocation, synchronise: what the host may not do while it records") {
  const auto while_recording = [](const std::function<void(at::Tensor&)>& mistake) {
    return [mistake] {
      at::Tensor x = at::zeros({8}, on_host_device());
      record_and_launch([&] { mistake(x); });
    };
  };
  check_wrong("host read", while_recording([](at::Tensor& x) { x.sum().item<float>(); }));
  check_wrong("host read", while_recording([](at::Tensor& x) { x.equal(x); }));
  check_wrong("allocation", while_recording([](at::Tensor&) {
                const c10::StreamGuard guard(side(2));  // not recorded: its memory would not be the graph's
                at::ones({8}, on_host_device());
              }));
  check_wrong("allocation", while_recording([](at::Tensor&) { pinned(1); }));
  check_wrong("synchronise", while_recording([](at::Tensor& x) { x.cpu(); }));
  check_wrong("synchronise", while_recording([](at::Tensor&) { main_stream().synchronize(); }));
  check_wrong("synchronise", while_recording([](at::Tensor&) { side().synchronize(); }));
}

TEST_CASE("the same seed draws the same, another one another way") {
  const auto outstanding = [](std::uint64_t seed) {
    std::vector<std::size_t> out;
    CHECK(wrong_in(seed, [&] {
            at::Tensor x = at::zeros({8}, on_host_device());
            for (int i = 0; i < 50; ++i) {
              x.add_(1);
              out.push_back(device().outstanding());
            }
          }) == "");
    return out;
  };
  CHECK(outstanding(1) == outstanding(1));
  CHECK(outstanding(1) != outstanding(2));
}
