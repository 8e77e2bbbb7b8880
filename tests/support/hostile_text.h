#pragma once
// Sixty texts that try to become code, options, other lines or other paths wherever they are put.
#include <string>
#include <vector>

namespace isobar {

/// Each would make the file `canary` if a shell ever ran it.
inline std::vector<std::string> hostile_texts(const std::string& canary) {
  const std::string touch = "touch " + canary;
  return {"; " + touch,
          "& " + touch + " &",
          "| " + touch,
          "|| " + touch,
          "&& " + touch,
          "$(" + touch + ")",
          "`" + touch + "`",
          "$(" + touch + " )x",
          "x$(" + touch + ")",
          "\"$(" + touch + ")\"",
          "'; " + touch + "; '",
          "\"; " + touch + "; \"",
          "'\"'\"'; " + touch + "; '\"'\"'",
          "\\'; " + touch + " #",
          "a'b\"c`d",
          "${IFS}" + touch,
          "$IFS$9" + touch,
          "{touch," + canary + "}",
          "<(" + touch + ")",
          ">(" + touch + ")",
          ">" + canary,
          ">>" + canary + " ",
          "<" + canary,
          "\n" + touch,
          "\n" + touch + "\n",
          "x\n" + touch,
          "\r" + touch,
          "x\r\n" + touch,
          "\n#SBATCH --account=other",
          "x\n#SBATCH --wrap=" + touch,
          "#SBATCH --account=other",
          " #SBATCH --x=1",
          "# x",
          "#!/bin/sh",
          "--wrap=" + touch,
          "-A other",
          "-",
          "--",
          "--help",
          "@" + canary,
          "%j",
          "%x-%j.out",
          "%n%s%p",
          "../../etc",
          "/../..//x",
          "~root",
          "*",
          "?",
          "[a-z]*",
          "!!",
          "!$",
          "a[$(" + touch + ")]",
          "$((a[$(" + touch + ")]))",
          "\x1b[2J\x1b]0;x\x07",
          "\xe2\x80\xae"
          "x",
          "\xff\xfe",
          "\xc0\xaf",
          "x\xe2\x80\x8b"
          "y",
          std::string(100'000, 'A'),
          "-hetjob-$(" + touch + ")"};
}

}  // namespace isobar
