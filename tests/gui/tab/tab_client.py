"""A tab without a browser: HTTP and WebSocket by hand, so that tests may also say what no browser would."""
import base64
import os
import socket
import struct
import zlib


def number(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def signed(value):
    return number(2 * value if value >= 0 else -2 * value - 1)


def words(text):
    return number(len(text.encode())) + text.encode()


class Client:
    """One connection to 127.0.0.1:PORT or to a Unix socket."""
    inputs = 0  # of all connections

    def __init__(self, place):
        if isinstance(place, int):
            self.socket = socket.create_connection(("127.0.0.1", place), timeout=300)
            self.host = f"127.0.0.1:{place}"
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(300)
            self.socket.connect(str(place))
            self.host = "localhost"
        self.left = b""

    def ask(self, target, method="GET", **headers):
        """Status, headers and body of the answer."""
        lines = {"Host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        text = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        self.socket.sendall(text.encode("latin-1") + b"\r\n")
        head = self.take_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        found = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
        status = int(head[0].split()[1])
        return status, found, b"" if status == 101 else self.take(int(found.get("Content-Length", 0)))

    def take_until(self, end):
        while end not in self.left:
            self.more()
        before, self.left = self.left.split(end, 1)
        return before

    def take(self, size):
        while len(self.left) < size:
            self.more()
        out, self.left = self.left[:size], self.left[size:]
        return out

    def more(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError("closed")
        self.left += part

    def upgrade(self, target, cookie, **headers):
        key = base64.b64encode(os.urandom(16)).decode()
        return self.ask(target, **{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
                                   "Sec-WebSocket-Protocol": "isobar.1", "Origin": f"http://{self.host}", "Cookie": cookie, **headers})[0]

    def send(self, message, opcode=2, whole=True):
        size = len(message)
        head = bytes([(128 if whole else 0) | opcode])
        head += bytes([128 | size]) if size < 126 else bytes([254]) + struct.pack(">H", size) if size < 65536 else bytes([255]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(message)))

    def receive(self):
        """Opcode and payload of the next message. After a time-out nothing is lost: it may be asked for again."""
        while True:
            found = self.whole_message()
            if found:
                return found
            self.more()

    def whole_message(self):
        at, payload, opcode = 0, b"", 0
        while len(self.left) >= at + 2:
            first, size = self.left[at], self.left[at + 1] & 127
            opcode = first & 15 or opcode
            wide = {126: 2, 127: 8}.get(size, 0)
            if wide:
                size = int.from_bytes(self.left[at + 2:at + 2 + wide], "big")
            begin = at + 2 + wide
            if len(self.left) < begin + size:
                return None
            payload, at = payload + self.left[begin:begin + size], begin + size
            if first & 128:
                self.left = self.left[at:]
                return opcode, payload
        return None

    # What a tab says (docs/tab_protocol.md).
    def hello(self, width=1440, height=900, scale=1.0, version=1):
        self.send(bytes([1]) + number(version) + number(width) + number(height) + number(round(scale * 256)))

    def drawn(self, frame):
        self.send(bytes([4]) + number(frame))

    def input(self, message):
        Client.inputs += 1
        self.send(message)

    def move(self, x, y):
        self.input(bytes([5]) + signed(round(16 * x)) + signed(round(16 * y)))

    def button(self, x, y, down, code=0, held=0):
        self.input(bytes([7, code, int(down), held]) + signed(round(16 * x)) + signed(round(16 * y)))

    def key(self, code, down, held=0):
        self.input(bytes([9]) + number(code) + bytes([int(down), held]))

    def text(self, typed):
        self.input(bytes([10]) + words(typed))


def enter(place, entry):
    """The cookie for an entry "/PLACE/?token=..."."""
    status, headers, _ = Client(place).ask(entry)
    assert status == 200, status
    return headers["Set-Cookie"].split(";")[0]


class Reader:
    """Numbers and words of a message."""

    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.payload[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def words(self):
        size = self.number()
        self.at += size
        return self.payload[self.at - size:self.at].decode()

    def text(self):
        """A row that can be selected: its box, what is seen of it, its words."""
        return [self.signed() for _ in range(8)], self.words()


def frame_head(payload):
    """Number, base, width and height of a frame message."""
    reader = Reader(zlib.decompress(payload[1:], -15))
    reader.number()
    return [reader.number() for _ in range(4)]
