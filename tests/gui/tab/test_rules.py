"""Who may come in, and what a connection may say: by hand, so as no browser would.

Usage: test_rules.py ISOBAR_BROWSER PROJECT
"""
import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

from program import Program, Tab
from tab_client import Client, number, signed


def asked_by_another(path, entry):
    """What another user of this machine gets from the socket: a process of its own, since it does not come back from that.

    It starts in the socket's own folder, so that no folder above can be what keeps it out.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(path.parent)
            nobody = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            answer = repr(Client(Path(path.name)).ask(entry))
        except BaseException as error:
            answer = type(error).__name__
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


def status(program, target, method="GET", **headers):
    return program.client().ask(target, method, **headers)[0]


def check(what, found, wanted):
    assert found == wanted, f"{what}: {found} and not {wanted}"


def check_requests(program):
    here, cookie = program.target, program.cookie()
    for what, wanted, target, headers in [
            ("the page", 200, here, {"Cookie": cookie}), ("alive", 200, here + "alive", {"Cookie": cookie}),
            ("a prefix that a proxy left", 200, "/user/ana/proxy/1" + here + "page.js", {"Cookie": cookie}),
            ("no token", 403, here, {}), ("a wrong token", 403, here + "?token=" + "0" * 32, {}),
            ("a short token", 403, program.entry[:-1], {}), ("a long token", 403, program.entry + "0", {}),
            ("a wrong cookie", 403, here, {"Cookie": cookie[:-1] + "g"}), ("another name of a cookie", 403, here, {"Cookie": "x" + cookie}),
            ("nowhere", 404, "/", {"Cookie": cookie}), ("no such file", 404, here + "other", {"Cookie": cookie}),
            ("up", 404, here + "../" + "page.js", {"Cookie": cookie}), ("up, encoded", 404, here + "%2e%2e/page.js", {"Cookie": cookie}),
            ("a dot, encoded", 404, here + "page%2ejs", {"Cookie": cookie}), ("a file of the system", 404, here + "/etc/passwd", {"Cookie": cookie}),
            ("another name", 421, here, {"Cookie": cookie, "Host": f"evil.example:{program.port}"}), ("no name", 421, here, {"Cookie": cookie, "Host": None}),
            ("a name with ours in it", 421, here, {"Cookie": cookie, "Host": "localhost.evil.example"}),
            ("the other port of ssh -L", 200, here, {"Cookie": cookie, "Host": "localhost:1234"}),
            ("a page from elsewhere", 403, here + "page.js", {"Cookie": cookie, "Origin": "http://evil.example"}),
            ("another port's page", 403, here + "page.js", {"Cookie": cookie, "Origin": "http://127.0.0.1:1"}),
            ("no page", 403, here + "page.js", {"Cookie": cookie, "Origin": "null"}),
            ("the socket without upgrade", 426, here + "socket", {"Cookie": cookie})]:
        check(what, status(program, target, **headers), wanted)
    check("another method", status(program, here, "POST", Cookie=cookie), 405)
    check("a long request", status(program, here + "a" * 33000, Cookie=cookie), 431)
    check("a long header", status(program, here, Cookie=cookie, X="a" * 33000), 431)
    for garbage in (b"\0" * 100, b"GET\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + os.urandom(200), b"GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789"):
        client = program.client()
        client.socket.sendall(garbage)
        answer = b"".join(iter(lambda: client.socket.recv(1000), b""))
        assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
    print("requests: each rule has its answer")


def check_upgrades(program):
    cookie, target = program.cookie(), program.target + "socket"
    for what, wanted, given, headers in [
            ("a tab", 101, cookie, {}), ("a tab that says so", 101, cookie, {"Sec-Fetch-Site": "same-origin"}),
            ("no cookie", 403, "", {}), ("a page from elsewhere", 403, cookie, {"Origin": "http://evil.example"}),
            ("another port's page", 403, cookie, {"Origin": f"http://127.0.0.1:{program.port ^ 1}"}), ("no page", 403, cookie, {"Origin": None}),
            ("another site", 403, cookie, {"Sec-Fetch-Site": "cross-site"}), ("a site beside", 403, cookie, {"Sec-Fetch-Site": "same-site"}),
            ("another version", 400, cookie, {"Sec-WebSocket-Protocol": "isobar.9"}), ("no version", 400, cookie, {"Sec-WebSocket-Protocol": None})]:
        check(what, program.client().upgrade(target, given, **headers), wanted)
    print("upgrades: each rule has its answer")


def closes(client):
    """All that comes until the program closes the connection."""
    client.socket.settimeout(300)
    try:
        while True:
            client.receive()
    except ConnectionError:
        return True


def entered(program):
    client = program.client()
    assert client.upgrade(program.target + "socket", program.cookie()) == 101
    return client


def check_messages(program):
    size = number(800) + number(600) + number(256)
    hello = bytes([1]) + number(1) + size
    for what, messages in {
            "an unknown kind": [hello, b"\x63"], "nothing": [hello, b""], "a move too short": [hello, b"\x05"], "a byte too many": [hello, b"\x0d\0"],
            "a move too far": [hello, b"\x05" + number(1 << 40) + b"\0"], "a second hello": [hello, hello], "no hello": [b"\x0d"],
            "another version": [bytes([1]) + number(2) + size],
            "too large": [b"\x01\x01" + number(1 << 20) * 2 + number(256)], "a huge scale": [b"\x01\x01" + number(800) * 2 + number(256 * 99)],
            "text that is no UTF-8": [hello, b"\x0a\x02\xff\xfe"], "text longer than it is": [hello, b"\x0a\x7fabc"],
            "a button of no mouse": [hello, b"\x07\x63\x01\0" + signed(1) * 2], "a key of no keyboard": [hello, b"\x09" + number(1 << 20) + b"\1\0"],
            "65 KiB": [hello, b"\x0b" + number(65 * 1024) + b"a" * 65 * 1024]}.items():
        client = entered(program)
        for message in messages:
            client.send(message)
        assert closes(client), what
    client = entered(program)
    client.send(hello, opcode=1)
    assert closes(client), "text"
    client = entered(program)
    client.socket.sendall(bytes([130, len(hello)]) + hello)
    assert closes(client), "not masked"
    client = entered(program)
    client.socket.sendall(bytes([130, 255]) + b"\xff" * 8 + bytes(4))
    assert closes(client), "a length of 2^64 - 1"
    client = entered(program)
    client.send(hello)
    client.send(b"x" * 40000, opcode=2, whole=False)
    client.send(b"x" * 40000, opcode=0)
    assert closes(client), "65 KiB in fragments"
    for reserved in (3, 11):
        client = entered(program)
        client.send(hello, opcode=reserved)
        assert closes(client), f"opcode {reserved}"
    print("messages: what is none of ours closes the connection")


def check_good_messages(program):
    """Fragments, ping and close, as RFC 6455 has them."""
    client = entered(program)
    client.send(b"\x01\x01", whole=False)
    client.send(b"", opcode=0, whole=False)
    client.send(b"once", opcode=9)  # between fragments
    client.send(number(800) + number(600) + number(256), opcode=0)
    heard = set()
    client.socket.settimeout(300)
    while not {(2, 1), (10, ord("o"))} <= heard:
        opcode, payload = client.receive()
        heard.add((opcode, payload[0]))
        assert opcode != 10 or payload == b"once", payload
    client.send(b"\x03\xe8bye", opcode=8)
    while True:
        opcode, payload = client.receive()
        if opcode == 8:
            break
    assert payload[:2] == b"\x03\xe8", payload
    assert closes(client)
    print("fragments make one message, a ping is answered, and so is a close")


def check_socket(program, project, base):
    """The same on a Unix socket, which nobody else can use."""
    path = base / "mine/socket"
    with Program(program, project, base / "work", "--socket", str(path), "--port", "20123") as server:
        assert oct(path.stat().st_mode & 0o777) == "0o600" and oct(path.parent.stat().st_mode & 0o777) == "0o700"
        assert server.port == 20123 and f" -N -L 20123:{path} " in server.said, server.said
        check("as through ssh -L", status(server, server.entry, Host="localhost:20123"), 200)
        tab = Tab(server)
        tab.until("a frame", lambda: tab.frames > 0)
        refused = subprocess.run([program, "--socket", str(path)], capture_output=True, text=True, timeout=300)
        assert refused.returncode == 1 and "already in use" in refused.stderr, refused.stderr
        if os.geteuid() != 0:
            print("skipped: only root can be another user")
        else:
            check("another user", asked_by_another(path, server.entry), "PermissionError")
            path.parent.chmod(0o755)
            check("another user in an open folder", asked_by_another(path, server.entry), "PermissionError")
            path.chmod(0o666)
            answer = asked_by_another(path, server.entry)
            assert answer in ("ConnectionError", "ConnectionResetError", "BrokenPipeError"), answer
            path.parent.chmod(0o700)
        server.kill()  # leaves its socket behind
    assert path.exists()
    with Program(program, project, base / "work", "--socket", str(path)) as server:
        check("in the place of a stale socket", status(server, server.entry), 200)
        server.stop()
    assert not path.exists(), "its socket was left"
    for what, words in {"a folder that others may enter": ["--socket", str(base / "work/socket")], "a long path": ["--socket", "/tmp/" + "a" * 120 + "/socket"],
                        "no name": ["--socket", ""]}.items():
        refused = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
        assert refused.returncode == 2 and "--socket" in refused.stderr or "chmod 700" in refused.stderr, what + refused.stderr
    path.write_text("a file of a person")
    refused = subprocess.run([program, "--socket", str(path)], capture_output=True, text=True, timeout=300)
    assert refused.returncode == 1 and path.read_text() == "a file of a person", refused.stderr
    with open("/dev/full", "w") as full:
        lost = subprocess.run([program], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert lost.returncode == 1 and "not all of it could be printed" in lost.stderr, lost.stderr
    print("a Unix socket: ours alone, taken over when stale, and gone at the end")


def main():
    program, project = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="isobar-tab-", ignore_cleanup_errors=True) as name:
        base = Path(name)
        (base / "work").mkdir()
        (base / "work").chmod(0o755)
        with Program(program, project, base / "work") as server:
            tab = Tab(server)
            check_requests(server)
            check_upgrades(server)
            check_messages(server)
            check_good_messages(server)
            seen = tab.frames
            tab.client.move(300, 300)
            tab.client.key(86, True)
            tab.client.key(86, False)
            tab.until("a frame after all that", lambda: tab.frames > seen)
        with Program(program, project, base / "work", "--host", "hub.example.org") as server:
            cookie = server.cookie()
            check("a proxy's name", status(server, server.target, Host="hub.example.org", Cookie=cookie, Origin="https://hub.example.org"), 200)
            check("with the host of its own", status(server, server.target, Cookie=cookie, Origin="https://hub.example.org"), 200)
            check("another", status(server, server.target, Host="hub.example.com", Cookie=cookie), 421)
        check_socket(program, project, base)


if __name__ == "__main__":
    main()
