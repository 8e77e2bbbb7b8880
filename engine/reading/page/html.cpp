#include "page/html.h"

#include <fmt/format.h>

#include "core/text.h"

namespace isobar {

void Html::element(std::string_view name, std::string_view words, std::string_view css_class) {
  const std::string attribute = css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class);
  out_ += fmt::format("<{0}{1}>{2}</{0}>\n", name, attribute, xml_escaped(words));
}

void Html::command(std::string_view words) {
  out_ += fmt::format("<pre><code>{}</code></pre>\n", xml_escaped(words));
}

void Html::begin_section(std::string_view id, std::string_view title) {
  out_ += fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n",
                      id, xml_escaped(title));
}

std::string HtmlTable::markup() const {
  if (rows_.empty()) return "";
  std::string out = "<div class=\"wide\"><table>\n";
  if (!caption_.empty()) out += "<caption>" + xml_escaped(caption_) + "</caption>\n";
  out += "<thead><tr>";
  for (std::size_t i = 0; i < heads_.size(); ++i)
    out +=
        fmt::format("<th scope=\"col\"{}>{}</th>", i < left_ ? "" : " class=\"n\"", xml_escaped(heads_[i]));
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows_) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", xml_escaped(row[i]))
                    : fmt::format("<td{}>{}</td>", i < left_ ? "" : " class=\"n\"", xml_escaped(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

std::string html_document(std::string_view title, std::string_view style,
                          const std::vector<HtmlLink>& contents, std::string_view body) {
  const std::string name = xml_escaped(title);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += kHtmlMark;
  out +=
      "\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\">\n";
  out += fmt::format("<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n", name,
                     style, name);
  if (!contents.empty()) {
    out += "<nav aria-label=\"Contents\"><ul>\n";
    for (const HtmlLink& link : contents)
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", link.id, xml_escaped(link.title));
    out += "</ul></nav>\n";
  }
  return out + fmt::format("</header>\n<main>\n{}</main>\n</body>\n</html>\n", body);
}

}  // namespace isobar
