// A collective as it was asked for: in words, and whether it can be sent.
#include <fmt/format.h>

#include <array>

#include "comm/comm_core.h"
#include "core/error.h"

namespace isobar {
namespace {

const char* short_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    case at::kInt:
      return "i32";
    case at::kLong:
      return "i64";
    case at::kByte:
      return "u8";
    default:
      return nullptr;
  }
}

const char* op_name(Op op) {
  constexpr std::array<const char*, 4> kNames = {"all_reduce", "broadcast", "all_gather", "reduce_scatter"};
  return kNames[static_cast<std::size_t>(op)];
}

}  // namespace

std::string Collective::text() const {
  const char* const type = short_name(whole().scalar_type());
  constexpr std::array<const char*, 3> kReduce = {" sum", " mean", " max"};
  const bool reduces = op == Op::all_reduce || op == Op::reduce_scatter;
  return fmt::format("{}{} {}[{}]{} {}", op_name(op),
                     reduces ? kReduce[static_cast<std::size_t>(reduce)] : "",
                     type == nullptr ? c10::toString(whole().scalar_type()) : type, whole().numel(),
                     op == Op::broadcast ? fmt::format(" from rank {}", root) : "", what);
}

const char* Collective::name() const {
  constexpr std::array<const char*, 4> kNames = {"all-reduce", "broadcast", "all-gather", "reduce-scatter"};
  return kNames[static_cast<std::size_t>(op)];
}

void check_collective(const Collective& job, int size) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw Error("this cannot be sent: " + why, job.text(), hint, Exit::failed);
  };
  const at::ScalarType type = job.whole().scalar_type();
  if (short_name(type) == nullptr)
    refuse(std::string("its type is ") + c10::toString(type), "f32, f64, f16, bf16, i32, i64 and u8 can be");
  if (job.whole().numel() == 0) refuse("it is empty", "leave the collective out on all ranks");
  const bool reduces = job.op == Op::all_reduce || job.op == Op::reduce_scatter;
  if (reduces && job.reduce == Reduce::mean && !at::isFloatingType(type))
    refuse("whole numbers have no mean", "sum them");
  if (job.op == Op::broadcast && (job.root < 0 || job.root >= size))
    refuse(fmt::format("there is no rank {} among {}", job.root, size), "");
  for (const at::Tensor& tensor : {job.out, job.in}) {
    if (tensor.defined() && !tensor.is_contiguous()) refuse("it has gaps in memory", "contiguous() has none");
  }
  if (!job.in.defined()) return;
  const at::Tensor& part = job.op == Op::all_gather ? job.in : job.out;
  if (job.in.scalar_type() != job.out.scalar_type() || job.in.device() != job.out.device())
    refuse("input and output differ in type or device", "");
  if (part.numel() * size != job.whole().numel())
    refuse(fmt::format("{} values of each of {} ranks are not {}", part.numel(), size, job.whole().numel()),
           "");
}

}  // namespace isobar
