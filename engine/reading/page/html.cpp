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

void Html::table(const Table& table) {
  if (table.empty()) return;
  const auto side = [&](std::size_t column) { return column < table.left ? "" : " class=\"n\""; };
  out_ += "<div class=\"wide\"><table>\n";
  if (!table.caption.empty()) out_ += "<caption>" + xml_escaped(table.caption) + "</caption>\n";
  out_ += "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    out_ += fmt::format("<th scope=\"col\"{}>{}</th>", side(i), xml_escaped(table.columns[i].head));
  out_ += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    out_ += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out_ += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", xml_escaped(row[i]))
                     : fmt::format("<td{}>{}</td>", side(i), xml_escaped(row[i]));
    }
    out_ += "</tr>\n";
  }
  out_ += "</tbody>\n</table></div>\n";
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
