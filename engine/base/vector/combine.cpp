#include "vector/combine.h"

#include <type_traits>

#include "vector/stored_types.h"

namespace isobar {
namespace {

template <typename Number>
struct Plain {
  using Stored = Number;
  ISOBAR_INLINE static Number load(Number stored) { return stored; }
  ISOBAR_INLINE static Number store(Number value) { return value; }
};

struct Sum {
  template <typename Value>
  ISOBAR_INLINE static Value of(Value a, Value b) {
    if constexpr (std::is_integral_v<Value>) {
      using Wrapping = std::make_unsigned_t<Value>;
      return static_cast<Value>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    } else {
      return a + b;
    }
  }
};

struct Larger {
  template <typename Value>
  ISOBAR_INLINE static Value of(Value a, Value b) {
    return a > b || a != a ? a : b;
  }
};

template <typename Type, typename Op, bool divides, bool twice>
struct CombineLoop {
  const Combine& job;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using Stored = typename Type::Stored;
    using Value = decltype(Type::load(Stored()));
    const auto* const a = static_cast<const Stored*>(job.a);
    const auto* const b = static_cast<const Stored*>(job.b);
    auto* const out = static_cast<Stored*>(job.out);
    auto* const also = static_cast<Stored*>(job.also);
    [[maybe_unused]] const auto divisor = static_cast<Value>(job.divisor);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      Stored value = Type::store(Op::of(Type::load(a[i]), Type::load(b[i])));
      if constexpr (divides) value = Type::store(Type::load(value) / divisor);
      out[i] = value;
      if constexpr (twice) also[i] = value;
    }
  }
};

template <typename Type, typename Op, bool divides>
void run(InstructionSet set, const Combine& job) {
  if (job.also == nullptr) {
    const CombineLoop<Type, Op, divides, false> loop{job};
    return form_of<CombineLoop<Type, Op, divides, false>>(set)(loop, 0, job.n);
  }
  const CombineLoop<Type, Op, divides, true> loop{job};
  form_of<CombineLoop<Type, Op, divides, true>>(set)(loop, 0, job.n);
}

template <typename Type>
void run_type(InstructionSet set, const Combine& job) {
  if (job.takes_larger) return run<Type, Larger, false>(set, job);
  if constexpr (!std::is_integral_v<decltype(Type::load(typename Type::Stored()))>) {
    if (job.divisor != 1) return run<Type, Sum, true>(set, job);
  }
  run<Type, Sum, false>(set, job);
}

}  // namespace

void combine(InstructionSet set, const Combine& job) {
  switch (job.type) {
    case CombineType::f32:
      return run_type<Float32>(set, job);
    case CombineType::f64:
      return run_type<Plain<double>>(set, job);
    case CombineType::f16:
      return run_type<Float16>(set, job);
    case CombineType::bf16:
      return run_type<Bfloat16>(set, job);
    case CombineType::i32:
      return run_type<Plain<std::int32_t>>(set, job);
    case CombineType::i64:
      return run_type<Plain<std::int64_t>>(set, job);
    case CombineType::u8:
      return run_type<Plain<std::uint8_t>>(set, job);
  }
}

}  // namespace isobar
