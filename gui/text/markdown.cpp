#include "text/markdown.h"

#include <md4c.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "analyse/entity.h"
#include "core/utf8.h"

namespace isobar {

namespace {

// A short text can ask for a huge result (a wide table of empty cells, one long address used many times).
constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr std::size_t kCostOfPiece = 64;
constexpr int kDeepest = 100;

std::string attribute_text(const MD_ATTRIBUTE& attribute) {
  std::string out;
  if (attribute.text == nullptr || attribute.size == 0) return out;
  const std::string_view whole(attribute.text, attribute.size);
  for (std::size_t i = 0; attribute.substr_offsets[i] < attribute.size; ++i) {
    const std::size_t begin = attribute.substr_offsets[i];
    const std::string_view part = whole.substr(begin, attribute.substr_offsets[i + 1] - begin);
    if (attribute.substr_types[i] == MD_TEXT_ENTITY) {
      append_entity(out, part);
    } else {
      out += part;
    }
  }
  return out;
}

// Takes the calls of md4c, which walk the tree of the text, and lays its leaves out as a list.
class Flattener {
 public:
  void enter_block(MD_BLOCKTYPE type, const void* detail);
  void leave_block(MD_BLOCKTYPE type);
  void enter_span(MD_SPANTYPE type, const void* detail);
  void leave_span(MD_SPANTYPE type);
  void text(MD_TEXTTYPE type, std::string_view piece);
  void add_notice(std::string_view notice);

  bool is_full() const { return spent_ > kMostOutput; }
  std::vector<MarkdownBlock> take() { return std::move(blocks_); }

  std::exception_ptr failure;

 private:
  struct Container {
    enum class Kind { quote, list, item } kind = Kind::quote;
    bool ordered = false;
    std::uint64_t next_number = 0;
  };

  int depth(Container::Kind kind) const {
    const auto count =
        std::ranges::count_if(containers_, [&](const Container& one) { return one.kind == kind; });
    return std::min(static_cast<int>(count), kDeepest);
  }
  void open(Container container);
  void close_container();
  void begin_item();
  void place_marker();
  void push(MarkdownBlock block);
  void end_text();
  void begin_image(const MD_SPAN_IMG_DETAIL& detail);
  void end_image();
  void append(std::string_view piece, bool code);
  void append_cell_code(std::string_view piece);
  void end_html();
  std::vector<TextSpan>& current_spans();

  std::vector<MarkdownBlock> blocks_;
  std::vector<Container> containers_;
  std::string marker_;  // of an item that has nothing in it yet
  std::vector<TextSpan> spans_;
  int heading_ = 0;
  bool in_code_ = false;
  bool in_table_ = false;
  bool in_html_ = false;
  std::string html_;    // of the block being read
  MarkdownBlock leaf_;  // the code block or table being read
  int bold_ = 0;
  int italic_ = 0;
  int code_ = 0;
  std::vector<std::string> links_;
  int images_ = 0;
  MarkdownBlock image_;
  std::size_t spent_ = 0;
};

void Flattener::open(Container container) {
  end_text();
  place_marker();
  containers_.push_back(container);
}

void Flattener::close_container() {
  end_text();
  place_marker();
  if (!containers_.empty()) containers_.pop_back();
}

void Flattener::begin_item() {
  std::string marker = "•";
  if (!containers_.empty() && containers_.back().ordered)
    marker = std::to_string(containers_.back().next_number++) + ".";
  open({Container::Kind::item});
  marker_ = std::move(marker);
}

// An item that begins with something other than text still shows its marker, on a line of its own.
void Flattener::place_marker() {
  if (marker_.empty()) return;
  MarkdownBlock item;
  item.kind = MarkdownBlock::Kind::item;
  item.level = depth(Container::Kind::list);
  item.marker = std::exchange(marker_, {});
  push(std::move(item));
}

void Flattener::push(MarkdownBlock block) {
  spent_ += kCostOfPiece;
  blocks_.push_back(std::move(block));
}

void Flattener::end_text() {
  trim_spans(spans_);
  if (spans_.empty()) return;
  MarkdownBlock block;
  block.spans = std::exchange(spans_, {});
  const Container::Kind inner = containers_.empty() ? Container::Kind::list : containers_.back().kind;
  if (heading_ > 0) {
    place_marker();
    block.kind = MarkdownBlock::Kind::heading;
    block.level = heading_;
  } else if (inner == Container::Kind::item) {
    block.kind = MarkdownBlock::Kind::item;
    block.level = depth(Container::Kind::list);
    block.marker = std::exchange(marker_, {});
  } else if (inner == Container::Kind::quote) {
    block.kind = MarkdownBlock::Kind::quote;
    block.level = depth(inner);
  }
  push(std::move(block));
}

void Flattener::enter_block(MD_BLOCKTYPE type, const void* detail) {
  if (type == MD_BLOCK_QUOTE) return open({Container::Kind::quote});
  if (type == MD_BLOCK_UL) return open({Container::Kind::list});
  if (type == MD_BLOCK_OL) {
    return open({Container::Kind::list, true, static_cast<const MD_BLOCK_OL_DETAIL*>(detail)->start});
  }
  if (type == MD_BLOCK_LI) return begin_item();
  if (type == MD_BLOCK_TR) {
    leaf_.rows.emplace_back();
    return;
  }
  if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) {
    spent_ += kCostOfPiece;
    leaf_.rows.back().emplace_back();
    return;
  }
  end_text();
  in_html_ = type == MD_BLOCK_HTML;
  if (type == MD_BLOCK_H) heading_ = static_cast<int>(static_cast<const MD_BLOCK_H_DETAIL*>(detail)->level);
  if (type != MD_BLOCK_HR && type != MD_BLOCK_CODE && type != MD_BLOCK_TABLE) return;
  place_marker();
  leaf_ = MarkdownBlock();
  leaf_.level = depth(Container::Kind::list);
  in_code_ = type == MD_BLOCK_CODE;
  in_table_ = type == MD_BLOCK_TABLE;
  leaf_.kind = in_code_    ? MarkdownBlock::Kind::code
               : in_table_ ? MarkdownBlock::Kind::table
                           : MarkdownBlock::Kind::rule;
  if (in_code_) leaf_.language = attribute_text(static_cast<const MD_BLOCK_CODE_DETAIL*>(detail)->lang);
}

void Flattener::leave_block(MD_BLOCKTYPE type) {
  if (type == MD_BLOCK_QUOTE || type == MD_BLOCK_UL || type == MD_BLOCK_OL || type == MD_BLOCK_LI)
    return close_container();
  if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) return trim_spans(leaf_.rows.back().back());
  if (type == MD_BLOCK_HTML) return end_html();
  if (type == MD_BLOCK_HR || type == MD_BLOCK_CODE || type == MD_BLOCK_TABLE) {
    in_code_ = in_table_ = false;
    if (!leaf_.code.empty() && leaf_.code.back() == '\n') leaf_.code.pop_back();
    push(std::exchange(leaf_, {}));
    return;
  }
  if (type == MD_BLOCK_THEAD || type == MD_BLOCK_TBODY || type == MD_BLOCK_TR) return;
  end_text();
  heading_ = 0;
}

void Flattener::end_html() {
  in_html_ = false;
  for (HtmlPiece& piece : html_pieces(std::exchange(html_, {}))) {
    if (piece.kind == HtmlPiece::Kind::text) {
      append(piece.words, false);
      end_text();
      continue;
    }
    place_marker();
    MarkdownBlock block;
    block.kind =
        piece.kind == HtmlPiece::Kind::fold ? MarkdownBlock::Kind::fold : MarkdownBlock::Kind::fold_end;
    if (!piece.words.empty()) block.spans.push_back({.text = std::move(piece.words)});
    push(std::move(block));
  }
}

void Flattener::enter_span(MD_SPANTYPE type, const void* detail) {
  if (type == MD_SPAN_STRONG) ++bold_;
  if (type == MD_SPAN_EM) ++italic_;
  if (type == MD_SPAN_CODE) ++code_;
  if (type == MD_SPAN_IMG) begin_image(*static_cast<const MD_SPAN_IMG_DETAIL*>(detail));
  if (type == MD_SPAN_A) {
    links_.push_back(attribute_text(static_cast<const MD_SPAN_A_DETAIL*>(detail)->href));
    spent_ += links_.back().size();
  }
}

void Flattener::leave_span(MD_SPANTYPE type) {
  if (type == MD_SPAN_STRONG) --bold_;
  if (type == MD_SPAN_EM) --italic_;
  if (type == MD_SPAN_CODE) --code_;
  if (type == MD_SPAN_IMG) end_image();
  if (type == MD_SPAN_A && !links_.empty()) links_.pop_back();
}

// An image becomes a block between the text before and after it. In a heading or a table only its words are
// kept, as a link; of an image among the words of another, only the words.
void Flattener::begin_image(const MD_SPAN_IMG_DETAIL& detail) {
  if (++images_ > 1) return;
  image_ = MarkdownBlock();
  image_.kind = MarkdownBlock::Kind::image;
  image_.level = depth(Container::Kind::list);
  image_.target = attribute_text(detail.src);
  spent_ += image_.target.size();
  if (in_table_ || heading_ > 0) {
    links_.push_back(image_.target);
  } else {
    end_text();
    place_marker();
  }
}

void Flattener::end_image() {
  if (--images_ > 0) return;
  if (in_table_ || heading_ > 0) {
    links_.pop_back();
  } else {
    push(std::exchange(image_, {}));
  }
}

std::vector<TextSpan>& Flattener::current_spans() {
  if (in_table_) return leaf_.rows.back().back();
  return images_ > 0 && heading_ == 0 ? image_.spans : spans_;
}

void Flattener::append(std::string_view piece, bool code) {
  if (piece.empty()) return;
  TextSpan span{.text = std::string(piece),
                .bold = bold_ > 0,
                .italic = italic_ > 0,
                .code = code,
                .link = links_.empty() ? "" : links_.back()};
  spent_ += piece.size();
  std::vector<TextSpan>& spans = current_spans();
  if (!spans.empty()) {
    TextSpan& last = spans.back();
    if (last.bold == span.bold && last.italic == span.italic && last.code == code && last.link == span.link) {
      last.text += piece;
      return;
    }
  }
  spent_ += kCostOfPiece + span.link.size();
  spans.push_back(std::move(span));
}

// In a cell even code writes '|' as "\\|", or it would end the cell.
void Flattener::append_cell_code(std::string_view piece) {
  for (std::size_t bar = piece.find("\\|"); bar != std::string_view::npos; bar = piece.find("\\|")) {
    append(piece.substr(0, bar), true);
    append("|", true);
    piece.remove_prefix(bar + 2);
  }
  append(piece, true);
}

void Flattener::text(MD_TEXTTYPE type, std::string_view piece) {
  if (in_code_) {
    spent_ += piece.size();
    leaf_.code += piece;
    return;
  }
  if (in_html_) {
    spent_ += piece.size();
    html_ += piece;
    return;
  }
  if (type == MD_TEXT_BR) return append("\n", false);
  if (type == MD_TEXT_SOFTBR) return append(" ", false);
  if (type == MD_TEXT_CODE && in_table_) return append_cell_code(piece);
  if (type != MD_TEXT_ENTITY) return append(piece, code_ > 0);
  std::string decoded;
  append_entity(decoded, piece);
  append(decoded, false);
}

// What was open when the reading stopped is shown as far as it came.
void Flattener::add_notice(std::string_view notice) {
  if (in_html_) end_html();
  end_text();
  place_marker();
  if (in_code_ || in_table_) push(std::exchange(leaf_, {}));
  MarkdownBlock block;
  block.spans.push_back({.text = std::string(notice), .italic = true});
  push(std::move(block));
}

// md4c is C: no exception may pass through it, and what is not 0 makes it stop.
template <typename Action>
int guarded(void* user, Action action) noexcept {
  auto& flattener = *static_cast<Flattener*>(user);
  try {
    action(flattener);
  } catch (...) {
    flattener.failure = std::current_exception();
    return 1;
  }
  return flattener.is_full() ? 1 : 0;
}

}  // namespace

std::vector<MarkdownBlock> parse_markdown(std::string_view text) {
  const std::string clean = with_bounded_nesting(clean_utf8(text), kDeepest);
  MD_PARSER parser = {};
  parser.flags = MD_FLAG_TABLES | MD_FLAG_PERMISSIVEURLAUTOLINKS;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* user) {
    return guarded(user, [&](Flattener& to) { to.enter_block(type, detail); });
  };
  parser.leave_block = [](MD_BLOCKTYPE type, void*, void* user) {
    return guarded(user, [&](Flattener& to) { to.leave_block(type); });
  };
  parser.enter_span = [](MD_SPANTYPE type, void* detail, void* user) {
    return guarded(user, [&](Flattener& to) { to.enter_span(type, detail); });
  };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* user) {
    return guarded(user, [&](Flattener& to) { to.leave_span(type); });
  };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* piece, MD_SIZE size, void* user) {
    return guarded(user, [&](Flattener& to) { to.text(type, {piece, size}); });
  };
  Flattener flattener;
  const int result = md_parse(clean.data(), static_cast<MD_SIZE>(clean.size()), &parser, &flattener);
  if (flattener.failure) std::rethrow_exception(flattener.failure);
  if (result != 0) flattener.add_notice("The rest of this text is not shown: it is too large when laid out.");
  return flattener.take();
}

}  // namespace isobar
