#pragma once
// HTML as text that is put together: whatever comes from a run, a file or a person goes through an
// element, a cell or an attribute, which escape it. Markup of ours alone goes through `raw`.
#include <string>
#include <string_view>
#include <vector>

#include "log/table.h"

namespace isobar {

/// In the head of every document of ours.
inline constexpr std::string_view kHtmlMark = "<meta name=\"generator\" content=\"Isobar\">";

class Html {
 public:
  /// Markup of ours, or made by another Html or SvgCanvas.
  void raw(std::string_view markup) { out_ += markup; }
  /// <h2>words</h2>
  void element(std::string_view name, std::string_view words, std::string_view css_class = {});
  void paragraph(std::string_view words, std::string_view css_class = {}) { element("p", words, css_class); }
  /// Rows below their heads, the first cell of each names it; nothing of an empty one. Wide ones scroll
  /// within themselves.
  void table(const Table& table);
  /// A command line, in a frame.
  void command(std::string_view words);
  /// `id` is of ours: letters and '-'.
  void begin_section(std::string_view id, std::string_view title);
  void end_section() { out_ += "</section>\n"; }

  const std::string& markup() const { return out_; }

 private:
  std::string out_;
};

struct HtmlLink {
  std::string id, title;
};

/// The whole page, with its style in it: nothing is fetched, nothing is run.
std::string html_document(std::string_view title, const std::vector<HtmlLink>& contents,
                          std::string_view body);

/// Light, dark by the reader's wish, and light on paper.
std::string page_style();

}  // namespace isobar
