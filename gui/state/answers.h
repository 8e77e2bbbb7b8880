#pragma once
// An answer to settings that is worked out in a thread of its own: no frame waits for it.
#include <chrono>
#include <future>
#include <memory>

#include "config/lesson.h"

namespace isobar {

/// `Answer::of` is the question.
template <class Answer>
class Answers {
 public:
  using Ask = decltype(Answer::of);

  /// Takes in what was worked out, and begins with `ask` where that is another question and nothing is at
  /// work. `work` also gets the last answer, null before the first. Call it in each frame that shows the
  /// answer: then the newest question is answered in the end.
  template <class Work>
  void take(const Ask& ask, const LessonInfo& lesson, Work work) {
    if (is_busy()) {
      if (working_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
      last_ = std::make_shared<const Answer>(working_.get());
    }
    if (last_ && last_->of == ask) return;
    working_ = std::async(std::launch::async,
                          [ask, lesson, work, last = last_] { return work(ask, lesson, last.get()); });
  }
  bool is_busy() const { return working_.valid(); }
  /// It may be of an earlier question; null before the first.
  const std::shared_ptr<const Answer>& last() const { return last_; }

 private:
  std::future<Answer> working_;
  std::shared_ptr<const Answer> last_;
};

}  // namespace isobar
