#include "device/torch_error.h"

#include <fmt/format.h>

#include <regex>
#include <string>

#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kMost = 400;  // what libtorch says can be pages long

Error out_of_memory(const std::string& text) {
  static const std::regex kAsked(R"(Tried to allocate ([0-9.]+ \w+))");
  static const std::regex kFree(
      R"(GPU ([0-9]+) has a total capacity of ([0-9.]+ \w+) of which ([0-9.]+ \w+) is free)");
  std::smatch asked;
  std::smatch free;
  const std::string hint = "a smaller train.global_batch, model or grid needs less";
  if (!std::regex_search(text, asked, kAsked) || !std::regex_search(text, free, kFree)) {
    return {"the device is out of memory: " + printable(text, kMost), "CUDA", hint, Exit::failed};
  }
  return {fmt::format("the device is out of memory: {} more were asked for, and {} of {} are free",
                      asked[1].str(), free[3].str(), free[2].str()),
          "cuda:" + free[1].str(), hint, Exit::failed};
}

}  // namespace

Error as_error(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return out_of_memory(text);
  return {printable(text.substr(0, text.find('\n')), kMost), "libtorch", "", Exit::failed};
}

}  // namespace isobar
