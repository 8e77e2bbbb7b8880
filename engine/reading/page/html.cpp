#include "page/html.h"

#include <fmt/format.h>

#include "core/text.h"
#include "draw/colour.h"

namespace isobar {
namespace {

constexpr std::string_view kShape =
    "body{margin:0 auto;max-width:1040px;padding:24px 20px 64px;background:var(--ground);color:var(--text);"
    "font:16px/1.5 Inter,system-ui,sans-serif}\n"
    "h1{font-size:26px;margin:0 0 8px}h2{font-size:20px;margin:40px 0 8px}"
    "h3{font-size:16px;margin:28px 0 4px}h2+h3{margin-top:8px}\n"
    "p{max-width:75ch;margin:8px 0}.dim,figcaption,caption{color:var(--dim)}.dim{font-size:14px}\n"
    "nav ul{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;padding:0;margin:8px 0}"
    "a{color:var(--link)}\n"
    ".wide{overflow-x:auto;margin:12px 0}"
    "table{border-collapse:collapse;font-size:15px;font-variant-numeric:tabular-nums}\n"
    "caption{text-align:left;font-size:14px;padding:4px 0}\n"
    "th,td{padding:4px 14px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}\n"
    "th:last-child,td:last-child{padding-right:0}th{font-weight:600}tbody th{font-weight:400}\n"
    "td{overflow-wrap:break-word;max-width:36ch}.n{text-align:right;white-space:nowrap}\n"
    "thead th{vertical-align:bottom;white-space:normal}\n"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:8px 12px;background:var(--raised);"
    "font:14px/1.5 'JetBrains Mono',monospace}\n"
    "figure{margin:16px 0}figure svg{display:block;width:100%;height:auto;"
    "font-family:Inter,system-ui,sans-serif}figcaption{font-size:14px;margin-top:4px}\n"
    ".said{font-size:18px}.mark{color:var(--warn);margin:4px 0}\n"
    ".point{fill:transparent}.point:hover{fill:var(--link);fill-opacity:.35}\n";

constexpr std::string_view kPaper =
    "@media print{:root{--ground:#fff;--raised:#fff}body{max-width:none;padding:0;font-size:11px}"
    "h1{font-size:20px}h2{font-size:15px;margin:20px 0 4px}h3{font-size:12px}.said{font-size:12px}"
    "table,caption,figcaption,.dim,pre{font-size:10px}th,td{padding:2px 10px 2px 0}p{max-width:none}"
    "nav{display:none}h2,h3,caption,thead{break-after:avoid}figure,tr,pre,.wide{break-inside:avoid}"
    ".wide{overflow:visible}pre{border:1px solid var(--line)}"
    "svg{box-sizing:border-box;border:1px solid var(--line)}a{color:inherit;text-decoration:none}}\n";

std::string variables(const Theme& theme) {
  return fmt::format("--ground:{};--text:{};--dim:{};--line:{};--raised:{};--warn:{};--link:{}",
                     hex_text(theme.ground), hex_text(theme.text), hex_text(theme.dim), hex_text(theme.line),
                     hex_text(theme.raised), hex_text(theme.warn),
                     hex_text(readable(theme.accent, theme.ground, 4.5)));
}

/// The dark style of figures (page/figures.h).
constexpr std::string_view kDarkFigures =
    "svg [fill^=\"#\"][style]{fill:var(--dark)}svg [stroke^=\"#\"][style]{stroke:var(--dark)}\n";

}  // namespace

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

std::string html_document(std::string_view title, const std::vector<HtmlLink>& contents,
                          std::string_view body) {
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
                     page_style(), name);
  if (!contents.empty()) {
    out += "<nav aria-label=\"Contents\"><ul>\n";
    for (const HtmlLink& link : contents)
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", link.id, xml_escaped(link.title));
    out += "</ul></nav>\n";
  }
  return out + fmt::format("</header>\n<main>\n{}</main>\n</body>\n</html>\n", body);
}

std::string page_style() {
  std::string out = ":root{" + variables(theme_of(false)) + "}\n" + std::string(kShape);
  out += "@media screen and (prefers-color-scheme:dark){\n:root{" + variables(theme_of(true)) + "}\n";
  return out + std::string(kDarkFigures) + "}\n" + std::string(kPaper);
}

}  // namespace isobar
