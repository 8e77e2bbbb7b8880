#include "kernels/drawn_shapes.h"

#include <cmath>

#include "core/random.h"

namespace isobar {
namespace {

/// The draws of one case, in the order in which they are asked for.
class Draws {
 public:
  Draws(const char* kernel, int index)
      : key_(stream_key(static_cast<std::uint64_t>(index) + 1, kernel)), edge_(index < kEdges) {}

  /// least .. most; the first cases get one of the two. Else small ones are as likely as large ones.
  std::int64_t size(std::int64_t least, std::int64_t most) {
    if (edge_) return flip() ? most : least;
    const double places = std::pow(static_cast<double>(most - least + 1), uniform_at(key_, ++count_));
    return least + static_cast<std::int64_t>(places) - 1;
  }
  /// The same, and half of them multiples of `step`: those go in whole pieces.
  std::int64_t size(std::int64_t least, std::int64_t most, std::int64_t step) {
    const std::int64_t any = size(least, most);
    return flip() && any >= step ? any / step * step : any;
  }
  std::uint64_t below(std::uint64_t bound) { return below_at(key_, ++count_, bound); }
  bool flip() { return below(2) == 0; }
  /// Elements from an aligned place; none half of the time.
  std::size_t offset() { return flip() ? 0 : static_cast<std::size_t>(below(8)); }
  ElementType type() { return kElementTypes[below(3)]; }

 private:
  static constexpr int kEdges = 12;
  std::uint64_t key_;
  std::uint64_t count_ = 0;
  bool edge_;
};

constexpr std::int64_t kWidest = 1100;  // beyond what residual_norm keeps in registers

KernelCase rows_case(Draws& draw, std::int64_t most_values) {
  KernelCase out;
  out.type = draw.type();
  out.columns = draw.size(1, kWidest, 8);
  out.rows = draw.size(1, std::min<std::int64_t>(400, most_values / out.columns));
  out.offset = draw.offset();
  out.scale = draw.below(4) == 0 ? 30 : 3;
  out.in_place = draw.flip();
  return out;
}

void check_drawn_head(KernelPlace& place, Draws& draw) {
  HeadLossShape shape;
  shape.patch = draw.size(1, 8);
  shape.batch = draw.size(1, 4);
  shape.channels = draw.size(1, 300);
  shape.height = shape.patch * draw.size(1, 3);
  const std::int64_t most = 40'000 / (shape.batch * shape.channels * shape.height * shape.patch);
  shape.width = shape.patch * draw.size(1, std::max<std::int64_t>(1, std::min<std::int64_t>(most, 40)));
  const ElementType type = draw.type();
  const std::size_t offset = draw.offset();
  check_head_loss(place, {type, 0, 0, offset, 2, draw.flip()}, shape);
}

void check_drawn_fields(KernelPlace& place, Draws& draw) {
  FieldCase test;
  test.fields = draw.size(1, 5);
  test.samples = draw.size(1, 4);
  test.channels = draw.size(1, 20);
  test.plane = draw.size(1, 60'000 / (test.samples * test.channels), 4);
  test.offset = draw.offset();
  const std::uint64_t packed = draw.below(3);
  if (packed > 0) test.packed = packed == 1 ? PackedField::f16 : PackedField::i16;
  test.output = static_cast<FieldOutput>(draw.below(3));
  test.extreme = draw.below(4) == 0;
  check_normalise(place, test);
}

void check_drawn_norm(KernelPlace& place, Draws& draw) {
  NormOperands parts;
  parts.branch = draw.below(4) != 0;
  parts.branch_bias = parts.branch && draw.below(4) != 0;
  parts.direct = draw.below(4) != 0;
  parts.cast = draw.below(4) != 0;
  KernelCase test = rows_case(draw, 40'000);
  test.scale = 2;
  check_residual_norm(place, test, parts);
}

}  // namespace

void check_drawn(KernelPlace& place, DrawnKernel kernel, int index) {
  switch (kernel) {
    case DrawnKernel::bias_gelu: {
      Draws draw("bias_gelu", index);
      const KernelCase test = rows_case(draw, 60'000);
      return check_bias_gelu(place, test, draw.below(3) == 0);
    }
    case DrawnKernel::residual_norm: {
      Draws draw("residual_norm", index);
      return check_drawn_norm(place, draw);
    }
    case DrawnKernel::head_loss: {
      Draws draw("head_loss", index);
      return check_drawn_head(place, draw);
    }
    case DrawnKernel::adam: {
      Draws draw("adam", index);
      const std::int64_t n = draw.size(1, 60'000, 4);
      const std::size_t offset = draw.offset();
      const auto steps = static_cast<float>(draw.size(1, 10'000));
      return check_adam(place, n, offset,
                        {1e-3F, steps, draw.flip() ? 1.0F : 1.0F / 65536, draw.below(8) == 0 ? 1.0F : 0.0F});
    }
    case DrawnKernel::gradient_norm: {
      Draws draw("gradient_norm", index);
      const std::int64_t n = draw.size(0, 60'000, 4);
      const std::size_t offset = draw.offset();
      return check_gradient_norm(place, n, offset, draw.flip() && n > 4 ? 5 : 0);
    }
    case DrawnKernel::count_nonfinite: {
      Draws draw("count_nonfinite", index);
      const std::int64_t n = draw.size(0, 60'000);
      return check_count_nonfinite(place, n, draw.offset());
    }
    case DrawnKernel::normalise: {
      Draws draw("normalise", index);
      return check_drawn_fields(place, draw);
    }
  }
}

}  // namespace isobar
