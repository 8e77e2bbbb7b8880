#include "browser_words.h"

#include <cmath>

#include "tab/bytes.h"

namespace isobar {
namespace {

void put_box(std::string& out, const Box& box) {
  for (const float value : {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0})
    put_signed(out, std::lround(value));
}

}  // namespace

void TabWords::take(PageWords now, std::int64_t now_us) {
  if (!pace_.take(std::move(now), now_us)) return;
  std::string out(1, static_cast<char>(TabHears::words));
  put_words(out, pace_.told().title);
  put_words(out, pace_.told().summary());
  words_ = std::make_shared<const std::string>(std::move(out));
}

void TabWords::take(const std::vector<ReadableRow>& rows) {
  if (rows == rows_) return;
  rows_ = rows;
  std::string out(1, static_cast<char>(TabHears::texts));
  put_number(out, rows_.size());
  for (const ReadableRow& row : rows_) {
    put_box(out, row.box);
    put_box(out, row.seen);
    put_words(out, row.words);
  }
  texts_ = std::make_shared<const std::string>(std::move(out));
}

void TabWords::deliver(const Tabs& tabs, const std::function<void(TabId, Tabs::Message)>& send) {
  for (auto& [tab, told] : told_) {
    if (words_ != nullptr && told.words != words_) send(tab, told.words = words_);
    if (texts_ != nullptr && told.texts != texts_ && tabs.may_take(tab)) send(tab, told.texts = texts_);
  }
}

}  // namespace isobar
