# Cases of run_all.sh: the window in a browser, and the tests that take one.
# shellcheck shell=bash

case_browser() {
  isobar gui --browser --screenshot out.png
  expect "code 2" [ "$CODE" = 2 ]
  expect "not both" says "do not go together"
  expect "nothing was set up to say it" [ ! -s "$WORLD/calls" ]
  touch "$WORLD/no-packages"
  isobar --yes gui --browser runs --port 2000
  expect "code 0" [ "$CODE" = 0 ]
  expect "its package is named" says "libboost-dev"
  expect "none of the tests" [ "${OUT/chromium/}" = "$OUT" ]
  expect "built" called "ninja isobar-browser"
  expect "words unchanged" says "cli <--browser> <runs> <--port> <2000>"
}
case_browser_of_tests() {
  without chromium nginx-light
  isobar --yes test
  expect "plain test brings no browser" [ "${OUT/chromium/}" = "$OUT" ]
  expect "nor installs one" count_is chromium 0
  isobar --yes test --nightly --list
  expect "nor does a list" count_is chromium 0
  isobar --yes test --browser
  expect "packages are named" says "chromium nginx-light"
  expect "and installed" called "install --no-install-recommends chromium nginx-light"
  expect "those tests alone" called "-C browser -L ^browser$"
  : >"$WORLD/calls"
  isobar --yes test --nightly
  expect "the night brings them too" called "install --no-install-recommends chromium nginx-light"
  isobar --yes test --browser --nightly
  expect "both are the night" [ "$(grep '^ctest.* -j' "$WORLD/calls" | tail -n 1 | grep -o -- '-C.*')" = '-C nightly -L ^nightly$' ]
}
case_browser_without_root() {
  user_machine
  rm "$WORLD/no-packages"
  without chromium
  as_user test --browser
  expect "code 1" [ "$CODE" = 1 ]
  expect "who can" says "only root can install a browser"
  expect "what to ask for" says "apt-get install --no-install-recommends chromium"
  expect "nothing was built" count_is ninja 0
  as_user test --nightly
  expect "the night goes on: code 0" [ "$CODE" = 0 ]
  expect "and says so" says "tests that take one are skipped. Missing: chromium"
}
case_browser_that_apt_lacks() {
  without chromium nginx-light
  printf 'Package: chromium\nVersion: 2:1snap1\nDescription: Transitional package - chromium snap\n' >"$WORLD/chromium-sheet"
  script apt-cache <<'BODY'
[ "$2" != chromium ] || { cat "$WORLD/chromium-sheet" 2>/dev/null || exit 100; }
BODY
  mkdir -p "$MACHINE/var/lib/apt/lists"
  isobar --yes test --browser
  expect "where no list was read, all are asked for" called "install --no-install-recommends chromium nginx-light"
  : >"$MACHINE/var/lib/apt/lists/x_Packages"
  : >"$WORLD/calls"
  for kind in snap unknown; do
    isobar --yes test --browser
    expect "$kind: code 0" [ "$CODE" = 0 ]
    expect "$kind: it says so" says "apt has no package for chromium (a snap does not count): tests that take it are skipped"
    expect "$kind: the rest is installed" called "install --no-install-recommends nginx-light"
    expect "$kind: but not that" count_is "recommends chromium" 0
    rm -f "$WORLD/chromium-sheet"
  done
}
case_services_of_tests_do_not_start() {
  without nginx-light
  script systemctl <<'BODY'
log "systemctl $*"
[ ! -e "$WORLD/systemctl-fails" ]
BODY
  sed -i "s/printf 'Inst %s (1)/printf 'Inst nginx (1)\\\\nInst nginx-light (1)\\\\n'; &/" "$WORLD/bin/apt-get"
  isobar --yes test --browser
  expect "where nothing starts services" count_is systemctl 0
  mkdir -p "$MACHINE/run/systemd/system"
  isobar --yes test --browser
  expect "the plan" says "mask their services, so that none starts: nginx.service"
  expect "before it is installed" [ "$(grep -E '^systemctl|^apt-get.* -y .* install' "$WORLD/calls" | tail -n 2 | head -n 1)" = "systemctl mask nginx.service" ]
  touch "$WORLD/systemctl-fails"
  : >"$WORLD/calls"
  isobar --yes test --browser
  expect "refused: code 1" [ "$CODE" = 1 ]
  expect "in words" says "services could not be masked: nginx.service"
  expect "not installed" [ "$(grep -cE '^apt-get.* -y .* install' "$WORLD/calls")" = 0 ]
}
case_browser_without_boost() {
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  mkdir -p "$WORLD/boost/include/boost"
  script g++ <<'BODY'
[[ " $* " = *" -I$WORLD/boost/include "* ]] && [ -e "$WORLD/boost/include/boost/beast.hpp" ]
BODY
  script pkg-config </dev/null
  as_user doctor
  expect "not there" says "boost/beast.hpp is missing"
  expect "what to bring" says "headers of Boost 1.74, or name its prefix in CMAKE_PREFIX_PATH"
  : >"$WORLD/boost/include/boost/beast.hpp"
  CMAKE_PREFIX_PATH=/nowhere:$WORLD/boost as_user doctor
  expect "there" says "ok: ./isobar gui --browser"
}
case_window_without_zlib() {
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  script g++ </dev/null
  script pkg-config <<'BODY'
[[ " $* " != *" zlib "* || -e "$WORLD/zlib" ]]
BODY
  as_user doctor
  expect "said" says "imgui, glfw3, md4c, freetype2 or zlib is missing"
  as_user run 01_baseline
  expect "code 0" [ "$CODE" = 0 ]
  expect "the rest is configured, without the window" called "-DISOBAR_GUI=OFF"
  touch "$WORLD/zlib" "$TREE/isobar"
  : >"$WORLD/calls"
  as_user run 01_baseline
  expect "with it, the window too" called "-DISOBAR_GUI=ON"
}

# without NAME...: packages that dpkg does not have.
without() {
  sed -i "s/^for name in .*/&\n  [[ ' $* ' != *\" \$name \"* ]] || continue/" "$WORLD/bin/dpkg-query"
}
