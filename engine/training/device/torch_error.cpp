#include "device/torch_error.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kMost = 400;  // libtorch's errors can be pages long

/// "NUMBER UNIT" of "... after NUMBER UNIT ..."; "" where that does not stand there.
std::string amount_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + before.size());
  const std::size_t number = rest.find_first_not_of("0123456789.");
  if (number == 0 || number >= rest.size() || rest[number] != ' ') return "";
  const std::size_t unit = rest.find_first_not_of("BKMGTi", number + 1);
  return std::string(rest.substr(0, unit));
}

/// "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.72 GiB of which 1.06 GiB is free. ..."
Error out_of_memory(const std::string& text) {
  const std::string hint = "a smaller train.global_batch, model or grid needs less";
  const std::string asked = amount_after(text, "Tried to allocate ");
  const std::string all = amount_after(text, " has a total capacity of ");
  const std::string free = amount_after(text, " of which ");
  const std::size_t gpu = text.find("GPU ");
  if (asked.empty() || all.empty() || free.empty() || gpu == std::string::npos) {
    return {"the device is out of memory: " + printable(text, kMost), "CUDA", hint, Exit::failed};
  }
  return {fmt::format("the device is out of memory: {} more were asked for, and {} of {} are free", asked,
                      free, all),
          "cuda:" + text.substr(gpu + 4, text.find(' ', gpu + 4) - gpu - 4), hint, Exit::failed};
}

}  // namespace

Error as_error(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return out_of_memory(text);
  return {printable_line(text, kMost), "libtorch", "", Exit::failed};
}

}  // namespace isobar
