#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "kernels/normalise.h"
#include "support/catch.h"
#include "support/odd_floats.h"

using namespace isobar;

namespace {

constexpr float kUntouched = -7654.5F;

/// Called for every form of the function that this machine can run.
template <typename Check>
void for_each_form(const Check& check) {
  for (const InstructionSet set : instruction_sets_here()) {
    for (const Stores stores : {Stores::cached, Stores::streaming}) {
      INFO(name_of(set) << (stores == Stores::streaming ? ", streaming" : ", cached"));
      check([=](const float* in, float* out, std::int64_t n, float mean, float spread) {
        return normalise_values_with(set, in, out, n, mean, spread, stores);
      });
    }
  }
}

/// The definition, one value after the other; `volatile` keeps the compiler from a vector form.
std::vector<float> plain(const float* in, std::int64_t n, float mean, float spread) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) {
    const volatile float difference = in[i] - mean;
    out.push_back(difference / spread);
  }
  return out;
}

bool same_bits(const float* a, const std::vector<float>& b) {
  return b.empty() || std::memcmp(a, b.data(), b.size() * sizeof(float)) == 0;
}

bool all_untouched(const float* begin, const float* end) {
  return std::all_of(begin, end, [](float value) { return value == kUntouched; });
}

}  // namespace

TEST_CASE("every length and alignment gives the bits of the plain loop, and touches nothing beside") {
  const std::vector<float> values = mixed_floats(256, 3);
  for_each_form([&](const auto& normalise) {
    for (std::int64_t shift = 0; shift < 17; ++shift) {
      for (std::int64_t n = 0; n <= 200; ++n) {
        const float* const in = values.data() + (shift * 5) % 17;
        std::vector<float> out(256, kUntouched);
        const std::vector<float> wanted = plain(in, n, 3.25F, 7.1F);
        REQUIRE(normalise(in, out.data() + shift, n, 3.25F, 7.1F) == plain_count_nonfinite(wanted.data(), n));
        REQUIRE(same_bits(out.data() + shift, wanted));
        REQUIRE(all_untouched(out.data(), out.data() + shift));
        REQUIRE(all_untouched(out.data() + shift + n, out.data() + out.size()));
      }
    }
  });
}

TEST_CASE("a value of every class at every place of two vectors is counted where the result is not finite") {
  for_each_form([&](const auto& normalise) {
    for (const float value : floats_of_every_class()) {
      for (std::size_t place = 0; place < 70; ++place) {
        std::vector<float> in(70, 281.5F);
        in[place] = value;
        std::vector<float> out(70);
        const std::vector<float> wanted = plain(in.data(), 70, 280.0F, 9.7F);
        const std::int64_t bad = std::isfinite(value) ? 0 : 1;
        REQUIRE(normalise(in.data(), out.data(), 70, 280.0F, 9.7F) == bad);
        REQUIRE(same_bits(out.data(), wanted));
      }
    }
  });
}

TEST_CASE("results that overflow are counted, and those that become subnormal keep their bits") {
  const std::vector<float> in = mixed_floats(4000, 11);
  for_each_form([&](const auto& normalise) {
    for (const float spread : {1e-38F, 1.4e-45F, 3.4e38F, 1.1754944e-38F, 0.1F, 3.0F, 65536.0F}) {
      for (const float mean : {0.0F, -0.0F, 3.4e38F, 1e-40F}) {
        std::vector<float> out(in.size());
        const std::vector<float> wanted = plain(in.data(), 4000, mean, spread);
        REQUIRE(normalise(in.data(), out.data(), 4000, mean, spread) ==
                plain_count_nonfinite(wanted.data(), 4000));
        REQUIRE(same_bits(out.data(), wanted));
      }
    }
  });
}

TEST_CASE("in place it is the same") {
  for_each_form([&](const auto& normalise) {
    for (std::int64_t shift = 0; shift < 17; ++shift) {
      std::vector<float> values = mixed_floats(1017, 5);
      const std::vector<float> wanted = plain(values.data() + shift, 1000, 1.5F, 0.3F);
      normalise(values.data() + shift, values.data() + shift, 1000, 1.5F, 0.3F);
      REQUIRE(same_bits(values.data() + shift, wanted));
    }
  });
}

TEST_CASE("what is streamed is seen by the thread that is joined to it") {
  const std::vector<float> in = mixed_floats(1 << 20, 9);
  const std::vector<float> wanted = plain(in.data(), 1 << 20, 1.0F, 3.0F);
  for_each_form([&](const auto& normalise) {
    std::vector<float> out(in.size());
    std::thread writer([&] { normalise(in.data(), out.data(), 1 << 20, 1.0F, 3.0F); });
    writer.join();
    REQUIRE(same_bits(out.data(), wanted));
  });
}

TEST_CASE("the form that is chosen is one of those, and the widest") {
  const std::vector<float> in = mixed_floats(333, 2);
  std::vector<float> out(333);
  const std::vector<float> wanted = plain(in.data(), 333, 0.5F, 2.5F);
  CHECK(instruction_sets_here().front() == InstructionSet::sse2);
  CHECK(std::is_sorted(instruction_sets_here().begin(), instruction_sets_here().end()));
  CHECK(normalise_values(in.data(), out.data(), 333, 0.5F, 2.5F, Stores::cached) ==
        plain_count_nonfinite(wanted.data(), 333));
  CHECK(same_bits(out.data(), wanted));
}
