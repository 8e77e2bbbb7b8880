// A collective as it was asked for: in words, and whether it can be sent.
#include <fmt/format.h>

#include <array>
#include <utility>

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
  constexpr std::array<const char*, 5> kNames = {"all_reduce", "broadcast", "all_gather", "reduce_scatter",
                                                 "all_to_all"};
  return kNames[static_cast<std::size_t>(op)];
}

/// What is wrong with `counts` of the elements of `tensor`; "" = nothing.
std::string misfit(const std::vector<std::int64_t>& counts, const at::Tensor& tensor, int size) {
  if (tensor.dim() != 1) return fmt::format("a tensor of {} dimensions is not flat", tensor.dim());
  if (counts.size() != static_cast<std::size_t>(size))
    return fmt::format("{} counts for {} ranks", counts.size(), size);
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    if (count < 0) return fmt::format("{} elements for a rank", count);
    sum += count;
  }
  if (sum != tensor.numel())
    return fmt::format("counts of {} elements, of a tensor of {}", sum, tensor.numel());
  return "";
}

std::string all_to_all_misfit(const Collective& job, int rank, int size) {
  for (const auto& [counts, tensor] : {std::pair{&job.sends, &job.in}, {&job.receives, &job.out}}) {
    if (std::string why = misfit(*counts, *tensor, size); !why.empty()) return why;
  }
  const auto own = static_cast<std::size_t>(rank);
  if (job.sends[own] != job.receives[own])
    return fmt::format("{} elements for this rank itself, which wants {}", job.sends[own], job.receives[own]);
  return "";
}

}  // namespace

std::string Collective::text() const {
  const char* const type = short_name(whole().scalar_type());
  constexpr std::array<const char*, 3> kReduce = {" sum", " mean", " max"};
  const bool reduces = op == Op::all_reduce || op == Op::reduce_scatter;
  if (op == Op::all_to_all)  // whose sizes are not those of other ranks
    return fmt::format("all_to_all {} {}", type == nullptr ? c10::toString(out.scalar_type()) : type, what);
  return fmt::format("{}{} {}[{}]{} {}", op_name(op),
                     reduces ? kReduce[static_cast<std::size_t>(reduce)] : "",
                     type == nullptr ? c10::toString(whole().scalar_type()) : type, whole().numel(),
                     op == Op::broadcast ? fmt::format(" from rank {}", root) : "", what);
}

const char* Collective::name() const {
  constexpr std::array<const char*, 5> kNames = {"all-reduce", "broadcast", "all-gather", "reduce-scatter",
                                                 "all-to-all"};
  return kNames[static_cast<std::size_t>(op)];
}

void check_collective(const Collective& job, int rank, int size) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw Error("this cannot be sent: " + why, job.text(), hint, Exit::failed);
  };
  const at::ScalarType type = job.whole().scalar_type();
  if (short_name(type) == nullptr)
    refuse(std::string("its type is ") + c10::toString(type), "f32, f64, f16, bf16, i32, i64 and u8 can be");
  if (job.op != Op::all_to_all && job.whole().numel() == 0)
    refuse("it is empty", "leave the collective out on all ranks");
  const bool reduces = job.op == Op::all_reduce || job.op == Op::reduce_scatter;
  if (reduces && job.reduce == Reduce::mean && !at::isFloatingType(type))
    refuse("whole numbers have no mean", "sum them");
  if (job.op == Op::broadcast && (job.root < 0 || job.root >= size))
    refuse(fmt::format("there is no rank {} among {}", job.root, size), "");
  for (const at::Tensor& tensor : {job.out, job.in}) {
    if (tensor.defined() && !tensor.is_contiguous()) refuse("it has gaps in memory", "contiguous() has none");
  }
  if (!job.in.defined()) return;
  if (job.in.scalar_type() != job.out.scalar_type() || job.in.device() != job.out.device())
    refuse("input and output differ in type or device", "");
  if (job.op == Op::all_to_all) {
    if (const std::string why = all_to_all_misfit(job, rank, size); !why.empty())
      refuse(why, "flat tensors, and one count for each rank");
    return;
  }
  const at::Tensor& part = job.op == Op::all_gather ? job.in : job.out;
  if (part.numel() * size != job.whole().numel())
    refuse(fmt::format("{} values of each of {} ranks are not {}", part.numel(), size, job.whole().numel()),
           "");
}

}  // namespace isobar
