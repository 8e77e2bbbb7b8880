// Who may come in: a test for each rule of docs/tab_protocol.md.
#include "core/error.h"
#include "support/catch.h"
#include "tab/door.h"

using namespace isobar;

namespace {

/// A door, and requests as a browser would make them.
struct House {
  Knock knock(const std::string& rest, bool has_pass = true) {
    target = "/" + door.place + "/" + rest;
    cookie = has_pass ? "other=1; isobar-" + door.place + "=" + door.pass : "other=1";
    return {.method = "GET",
            .target = target,
            .host = "127.0.0.1:8123",
            .origin = "",
            .cookie = cookie,
            .fetch_site = ""};
  }
  Knock socket() {
    Knock out = knock("socket");
    out.origin = "http://127.0.0.1:8123";
    out.fetch_site = "same-origin";
    out.upgrade = true;
    return out;
  }
  int status(const Knock& knock) const { return judge(door, knock).status; }

  Door door = make_door({"hub.example"});
  std::string target, cookie;
};

}  // namespace

TEST_CASE("Each door has secrets of its own: 64 bits of place, 128 of token and of pass") {
  const Door one = make_door({}), other = make_door({});
  CHECK(one.place.size() == 16);
  CHECK(one.token.size() == 32);
  CHECK(one.pass.size() == 32);
  for (const std::string& secret : {one.place, one.token, one.pass, one.proof})
    CHECK(secret.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one.place != other.place);
  CHECK(one.token != other.token);
  CHECK(one.pass != other.pass);
  CHECK(one.token != one.pass);
  CHECK(entry_of(one) == one.place + "/?token=" + one.token);
}

TEST_CASE("The token lets in once and for all: the answer is the page, with a cookie for scripts of nobody") {
  House house;
  const Admission in = judge(house.door, house.knock("?token=" + house.door.token, false));
  CHECK(in.status == 200);
  CHECK(in.room == Room::page);
  CHECK(in.set_cookie ==
        "isobar-" + house.door.place + "=" + house.door.pass + "; HttpOnly; SameSite=Strict");
  CHECK(in.set_cookie.find(house.door.token) == std::string::npos);
  const Admission again = judge(house.door, house.knock(""));
  CHECK(again.status == 200);
  CHECK(again.set_cookie.empty());
}

TEST_CASE("Without token and cookie, or with wrong ones, nobody comes in anywhere") {
  House house;
  for (const char* const room : {"", "page.css", "page.js", "frame.js", "alive", "socket"}) {
    CHECK(house.status(house.knock(room, false)) == 403);
    CHECK(house.status(house.knock(room)) == (std::string(room) == "socket" ? 426 : 200));
  }
  const std::string token = house.door.token, pass = house.door.pass;
  std::string wrong = token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& guess :
       {std::string(), wrong, token + "0", token.substr(1), token + "&a=b", pass}) {
    const Admission out = judge(house.door, house.knock("?token=" + guess));
    CHECK(out.status == 403);
    CHECK(out.set_cookie.empty());
    CHECK_FALSE(out.words.empty());
  }
  const std::string name = "isobar-" + house.door.place;
  for (const std::string& cookies :
       {name, name + "=", name + "=" + token, name + "x=" + pass, "x" + name + "=" + pass,
        name + "=" + pass + "0", "a=" + name + "=" + pass, std::string(";;;"), "isobar-=" + pass}) {
    Knock knock = house.knock("");
    knock.cookie = cookies;
    CHECK(house.status(knock) == 403);
  }
  for (const std::string& cookies :
       {name + "=" + pass, "a=b;" + name + "=" + pass, name + "=" + pass + "; a=b"}) {
    Knock knock = house.knock("");
    knock.cookie = cookies;
    CHECK(house.status(knock) == 200);
  }
}

TEST_CASE("Only GET is answered") {
  House house;
  for (const char* const method : {"POST", "HEAD", "OPTIONS", "PUT", "get", ""}) {
    Knock knock = house.knock("");
    knock.method = method;
    CHECK(house.status(knock) == 405);
  }
}

TEST_CASE("Names that do not mean this machine are refused, however they lead here") {
  House house;
  for (const char* const host : {"127.0.0.1", "127.0.0.1:1", "localhost:8123", "[::1]:8123", "[::1]",
                                 "hub.example", "hub.example:443"}) {
    Knock knock = house.knock("");
    knock.host = host;
    INFO(host);
    CHECK(house.status(knock) == 200);
  }
  for (const char* const host :
       {"", "evil.example", "evil.example:8123", "127.0.0.1.evil.example", "localhost.evil.example:80",
        "0.0.0.0:8123", "127.0.0.1:80:90", "[::1]evil", "[::2]", "hub.example.evil", "xhub.example",
        "127.0.0.1 ", "localhost;x", "::1", "localhost'"}) {
    Knock knock = house.knock("");
    knock.host = host;
    INFO(host);
    CHECK(house.status(knock) == 421);
  }
}

TEST_CASE("Pages from elsewhere may not ask, another port of this machine among them") {
  House house;
  for (const char* const origin : {"http://127.0.0.1:8123", "https://127.0.0.1:8123", "https://hub.example",
                                   "https://hub.example:8000"}) {
    Knock knock = house.knock("");
    knock.origin = origin;
    INFO(origin);
    CHECK(house.status(knock) == 200);
  }
  for (const char* const origin :
       {"http://127.0.0.1:9999", "http://127.0.0.1", "http://localhost:8123", "http://evil.example", "null",
        "file://", "ftp://127.0.0.1:8123", "127.0.0.1:8123", "http://127.0.0.1:8123.evil.example",
        "https://hub.example.evil"}) {
    Knock knock = house.knock("?token=" + house.door.token);
    knock.origin = origin;
    INFO(origin);
    CHECK(house.status(knock) == 403);
  }
}

TEST_CASE("A socket is for the page alone: asked for as one, by a page that says which it is") {
  House house;
  CHECK(judge(house.door, house.socket()).status == 101);
  CHECK(judge(house.door, house.socket()).room == Room::socket);
  Knock knock = house.socket();
  knock.upgrade = false;
  CHECK(house.status(knock) == 426);
  knock = house.socket();
  knock.origin = "";
  CHECK(house.status(knock) == 403);
  knock = house.socket();
  knock.fetch_site = "";  // of a browser that does not say
  CHECK(house.status(knock) == 101);
  for (const char* const site : {"cross-site", "same-site", "none", "Same-Origin"}) {
    knock = house.socket();
    knock.fetch_site = site;
    INFO(site);
    CHECK(house.status(knock) == 403);
  }
  knock = house.socket();
  knock.cookie = "";
  CHECK(house.status(knock) == 403);
  knock = house.socket();
  knock.origin = "http://127.0.0.1:8124";
  CHECK(house.status(knock) == 403);
}

TEST_CASE("Folders that a proxy leaves in front do not matter, nor does it where it takes them away") {
  House house;
  const std::string place = "/" + house.door.place + "/";
  Knock knock = house.knock("page.js");
  for (const std::string& target :
       {place + "page.js", "/user/name/proxy/1234" + place + "page.js", "/a%20b" + place + "page.js"}) {
    knock.target = target;
    CHECK(judge(house.door, knock).status == 200);
    CHECK(judge(house.door, knock).room == Room::script);
  }
  const std::string entry = "/user/name/proxy/1234/" + entry_of(house.door);
  knock = house.knock("", false);
  knock.target = entry;
  CHECK(house.status(knock) == 200);
}

TEST_CASE("There are six rooms and nothing else, by whatever path") {
  House house;
  const std::vector<std::pair<const char*, Room>> rooms = {{"", Room::page},
                                                           {"page.css", Room::style},
                                                           {"page.js", Room::script},
                                                           {"frame.js", Room::frame_script},
                                                           {"alive", Room::alive}};
  for (const auto& [name, room] : rooms) {
    CHECK(judge(house.door, house.knock(name)).status == 200);
    CHECK(judge(house.door, house.knock(name)).room == room);
  }
  for (const char* const rest :
       {"../", "../page.js", "%2e%2e/page.js", "%2e./", "..%2fpage.js", "page.js/", "page.js?token=1",
        "page.js#", "PAGE.JS", "?other", "? token=", "/", "//etc/passwd", "..\\page.js", "page.js%00",
        "run.toml", "socket/", "index.html"}) {
    INFO(rest);
    CHECK(house.status(house.knock(rest)) == 404);
  }
  Knock knock = house.knock("");
  const std::string place = house.door.place, other = make_door({}).place;
  for (const std::string& target :
       {std::string("/"), std::string(), "/" + place, place + "/", "/" + other + "/", "/x" + place + "/",
        "/" + place + "x/", "/%2f" + place + "%2f", "/?" + place + "/", "/a?/" + place + "/page.js",
        "/" + place + "/../" + other + "/", std::string("*")}) {
    knock.target = target;
    INFO(target);
    CHECK(house.status(knock) == 404);
  }
}

TEST_CASE("The page may load from where it came and from nowhere else") {
  CHECK(content_policy("127.0.0.1:8123") ==
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' "
        "ws://127.0.0.1:8123 wss://127.0.0.1:8123; base-uri 'none'; form-action 'none'; frame-ancestors "
        "'self'");
}

TEST_CASE("A proxy's name for the machine is taken as browsers write it, and nothing else is") {
  CHECK(host_name("Hub.Example.org") == "hub.example.org");
  CHECK(host_name("[FE80::1]") == "[fe80::1]");
  for (const char* const bad :
       {"", "[]", "https://hub.example", "hub.example:443", "hub example", "hub/x", "h\x1b"})
    CHECK_THROWS_AS(host_name(bad), Error);
}
