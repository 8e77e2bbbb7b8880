#pragma once
// A place where the engine calls what a program may have plugged in: its own function until then. So a lesson
// trains with a part that a learner wrote, without a change of its page or of the code that calls the seam.
#include <type_traits>
#include <utility>

namespace isobar {

template <class Function>
class Seam;

/// Each is constinit and stands in the namespace `seams`, in the header of what calls it.
template <class Result, class... Arguments>
class Seam<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);

  constexpr explicit Seam(Function ours) : in_use_(ours) {}

  Result operator()(Arguments... arguments) const { return in_use_(std::forward<Arguments>(arguments)...); }
  /// For this process from now on. Not while anything calls it.
  void plug(Function theirs) { in_use_ = theirs; }

 private:
  Function in_use_;
};

/// Plugs in while the program starts: a constant outside of all functions, in an object file that only the
/// programs with such a part link.
struct PluggedIn {
  template <class Function>
  PluggedIn(Seam<Function>& seam, std::type_identity_t<typename Seam<Function>::Function> theirs) {
    seam.plug(theirs);
  }
};

}  // namespace isobar
