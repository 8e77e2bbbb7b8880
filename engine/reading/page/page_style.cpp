#include "page/page_style.h"

#include <fmt/format.h>

#include <string_view>

#include "draw/theme.h"

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

/// Of figures (page/figures.h).
constexpr std::string_view kDarkFigures =
    "svg [fill^=\"#\"][style]{fill:var(--dark)}svg [stroke^=\"#\"][style]{stroke:var(--dark)}\n";

}  // namespace

std::string page_style() {
  std::string out = ":root{" + variables(theme_of(false)) + "}\n" + std::string(kShape);
  out += "@media screen and (prefers-color-scheme:dark){\n:root{" + variables(theme_of(true)) + "}\n";
  return out + std::string(kDarkFigures) + "}\n" + std::string(kPaper);
}

}  // namespace isobar
