#pragma once
// How often values come from memory, counted: of a matrix only a few pages can be touched at a time, as if
// that were all of the cache, and each page that comes in is one more.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace isobar::exercise {

class PagedMatrix {
 public:
  static constexpr std::size_t kRows = 16;
  static constexpr std::size_t kMost = 8;  ///< passes; from there on nothing is counted

  /// Values in a page, which is a row.
  static std::size_t columns() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / sizeof(float); }

  explicit PagedMatrix(std::string name) : name_(std::move(name)) {
    void* const memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for a matrix");
    begin_ = static_cast<std::byte*>(memory);
    all().push_back(this);
  }
  PagedMatrix(const PagedMatrix&) = delete;
  PagedMatrix& operator=(const PagedMatrix&) = delete;

  const std::string& name() const { return name_; }
  std::span<float> values() const { return {reinterpret_cast<float*>(begin_), kRows * columns()}; }

  /// From now on pages are counted. The process of a check ends with it: nothing is put back.
  static void count() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (before().sa_handler == SIG_DFL) sigaction(SIGSEGV, &action, &before());
    for (PagedMatrix* const matrix : all()) mprotect(matrix->begin_, matrix->bytes(), PROT_NONE);
  }

  /// How often all of it came in.
  double passes() const { return static_cast<double>(came_in_) / kRows; }

 private:
  static constexpr std::size_t kOpen = 4;

  static std::vector<PagedMatrix*>& all() {
    static std::vector<PagedMatrix*> matrices;
    return matrices;
  }
  static struct sigaction& before() {
    static struct sigaction action {};
    return action;
  }

  static std::size_t page() { return columns() * sizeof(float); }
  static std::size_t bytes() { return kRows * page(); }

  static void on_fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
    auto* const address = static_cast<std::byte*>(info->si_addr);
    for (PagedMatrix* const matrix : all())
      if (address >= matrix->begin_ && address < matrix->begin_ + bytes()) return matrix->come_in(address);
    sigaction(SIGSEGV, &before(), nullptr);  // not ours: it happens again, and the handler before reports it
  }

  void come_in(std::byte* address) {
    while (busy_.test_and_set()) {
    }
    std::byte* const came = address - (address - begin_) % static_cast<std::ptrdiff_t>(page());
    std::byte*& place = open_[came_in_++ % kOpen];
    if (came_in_ >= kMost * kRows) {
      mprotect(begin_, bytes(), PROT_READ | PROT_WRITE);
      busy_.clear();
      return;
    }
    if (place != nullptr) mprotect(place, page(), PROT_NONE);
    place = came;
    mprotect(came, page(), PROT_READ | PROT_WRITE);
    busy_.clear();
  }

  std::string name_;
  std::byte* begin_ = nullptr;
  std::atomic_flag busy_;
  std::array<std::byte*, kOpen> open_{};
  std::size_t came_in_ = 0;
};

}  // namespace isobar::exercise
