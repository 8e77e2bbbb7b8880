#include "tab/door.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/find.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::string_view kTokenName = "?token=";

std::string secret(std::size_t bytes) {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    throw system_error("the system gives no random numbers", "getrandom", errno);
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) {
    for (const unsigned half : {random[i] / 16U, random[i] % 16U}) out += "0123456789abcdef"[half];
  }
  return out;
}

/// Takes as long for a wrong guess as for a right one.
bool is_secret(std::string_view guess, std::string_view secret) {
  if (guess.size() != secret.size()) return false;
  unsigned wrong = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) wrong |= static_cast<unsigned>(guess[i] ^ secret[i]);
  return wrong == 0;
}

/// "name:123" without the port; "[::1]:123" likewise.
std::string_view name_of(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool in_brackets = host.find(']') != std::string_view::npos && colon < host.find(']');
  return colon == std::string_view::npos || in_brackets ? host : host.substr(0, colon);
}

bool is_this_machine(std::string_view name) {
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

bool is_known(const Door& door, std::string_view name) {
  return is_this_machine(name) || holds(door.hosts, name);
}

bool is_host_written(std::string_view host) {
  return !host.empty() && host.size() <= 255 &&
         host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") ==
             std::string_view::npos;
}

/// A page of this machine comes by the very name and port that we are asked by; one of a proxy by a name that
/// was allowed, since proxies rewrite the host.
bool is_our_page(const Door& door, std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    origin.remove_prefix(scheme.size());
    return origin == host || (!is_this_machine(name_of(origin)) && is_known(door, name_of(origin)));
  }
  return false;
}

std::string_view cookie_of(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return one.substr(name.size() + 1);
  }
  return {};
}

std::string cookie_name(const Door& door) { return "isobar-" + door.place; }

/// What stands behind ".../PLACE/": a proxy may leave its own folders in front, or take them away.
std::optional<std::string_view> behind_place(const Door& door, std::string_view target) {
  const std::string wanted = "/" + door.place + "/";
  const std::size_t query = std::min(target.find('?'), target.size());
  const std::size_t at = target.substr(0, query).rfind(wanted);
  if (at == std::string_view::npos) return {};
  return target.substr(at + wanted.size());
}

std::optional<Room> room_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Room>, 6> kRooms = {
      {{"", Room::page},
       {"page.css", Room::style},
       {"page.js", Room::script},
       {"frame.js", Room::frame_script},
       {"alive", Room::alive},
       {"socket", Room::socket}}};
  const auto* const room = find_where(kRooms, [&](const auto& one) { return one.first == name; });
  return room == nullptr ? std::nullopt : std::optional(room->second);
}

Admission refused(int status, std::string words) { return {status, Room::page, "", std::move(words)}; }

}  // namespace

std::string host_name(std::string_view name) {
  std::string out;
  for (const char letter : name)
    out += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  const bool in_brackets = out.size() > 2 && out.front() == '[' && out.back() == ']';
  const std::string_view inside =
      std::string_view(out).substr(in_brackets ? 1 : 0, out.size() - (in_brackets ? 2 : 0));
  const std::string_view letters =
      in_brackets ? "0123456789abcdef:." : "abcdefghijklmnopqrstuvwxyz0123456789.-_";
  if (inside.empty() || inside.size() > 253 || inside.find_first_not_of(letters) != std::string_view::npos)
    throw Error(
        "\"" + printable(name, 80) + "\" is no name of a host", "--host",
        "as it stands between :// and the next / or : in the browser's address bar: --host hub.example.org");
  return out;
}

Door make_door(std::vector<std::string> hosts) {
  return {secret(8), secret(16), secret(16), secret(16), std::move(hosts)};
}

std::string entry_of(const Door& door) { return door.place + "/" + std::string(kTokenName) + door.token; }

Admission judge(const Door& door, const Knock& knock) {
  if (knock.method != "GET") return refused(405, "Only GET is answered here.");
  if (!is_host_written(knock.host) || !is_known(door, name_of(knock.host))) {
    return refused(
        421, "This window is not known by that name. If a proxy leads here, start it with --host NAME.");
  }
  // Another page may not so much as ask; a person who follows a link or types the address may.
  if (!knock.origin.empty() && !is_our_page(door, knock.origin, knock.host))
    return refused(403, "Pages from elsewhere may not ask here.");
  const std::optional<std::string_view> rest = behind_place(door, knock.target);
  if (!rest) return refused(404, "Nothing is here. ./isobar gui --browser prints the address.");
  const bool entering = rest->starts_with(kTokenName);
  const std::optional<Room> room = room_of(entering ? std::string_view() : *rest);
  if (!room) return refused(404, "Nothing is here.");
  if (entering) {
    if (!is_secret(rest->substr(kTokenName.size()), door.token))
      return refused(403, "This address is not valid any more. ./isobar gui --browser prints a new one.");
    return {200, Room::page, cookie_name(door) + "=" + door.pass + "; HttpOnly; SameSite=Strict", ""};
  }
  if (!is_secret(cookie_of(knock.cookie, cookie_name(door)), door.pass))
    return refused(403, "Open the address that ./isobar gui --browser printed: it lets this browser in.");
  if (*room != Room::socket) return {200, *room, "", ""};
  if (!knock.upgrade) return refused(426, "Only the WebSocket of the page may connect here.");
  if (knock.origin.empty()) return refused(403, "The request does not say from which page it comes.");
  const bool foreign = !knock.fetch_site.empty() && knock.fetch_site != "same-origin";
  if (foreign) return refused(403, "Pages from elsewhere may not connect.");
  return {101, Room::socket, "", ""};
}

std::string content_policy(std::string_view host) {
  const std::string name(host);
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' ws://" +
         name + " wss://" + name + "; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
}

}  // namespace isobar
