"""Another program at the port of a window that was killed: it answers as the window does, without its secrets."""
import base64
import hashlib
import socketserver
import threading

from program import BEAT, COPIED, FRAME, PROOF, VISIT, WORDS
from tab_client import words

EVIL = "evil.example"
# What a page that believes it would show, copy, or answer.
LIES = [bytes([WORDS]) + words(EVIL) * 2, bytes([VISIT]) + words(f"http://{EVIL}/"), bytes([COPIED]) + words(EVIL),
        bytes([BEAT]), bytes([FRAME]) + b"no frame"]
HELLO, SHOWN = 1, 3


class Impostor(socketserver.ThreadingTCPServer):
    """Tells its lies to the first page that connects, without a proof; and to later ones after a wrong one."""
    allow_reuse_address, daemon_threads = True, True

    def __init__(self, port, target):
        self.target = target  # other pages may ask here too
        super().__init__(("127.0.0.1", port), Visit)
        self.heard, self.visits, self.enough = [], 0, threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Visit(socketserver.StreamRequestHandler):
    timeout = 300

    def handle(self):
        lines = [line.decode().strip().split(": ", 1) for line in iter(self.rfile.readline, b"\r\n")]
        if self.server.target not in lines[0][0]:
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        key = {line[0].lower(): line[-1] for line in lines}.get("sec-websocket-key")
        if not key:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        known = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()  # RFC 6455
        self.wfile.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         f"Sec-WebSocket-Accept: {base64.b64encode(known).decode()}\r\n"
                         "Sec-WebSocket-Protocol: isobar.1\r\n\r\n".encode())
        self.server.visits += 1
        first = self.server.visits == 1
        for lie in LIES if first else [bytes([PROOF]) + words("0" * 32), *LIES]:
            self.wfile.write(bytes([130, len(lie)]) + lie)
        if first:
            threading.Thread(target=self.end).start()
        while self.hear():
            pass

    def end(self):
        self.server.enough.wait()
        self.wfile.write(bytes([136, 0]))

    def hear(self):
        """Keeps the kind of one message; false at the end."""
        head = self.rfile.read(2)
        if len(head) < 2 or head[0] & 15 == 8:
            return False
        size = head[1] & 127
        if size == 126:
            size = int.from_bytes(self.rfile.read(2), "big")
        mask, payload = self.rfile.read(4), self.rfile.read(size)
        self.server.heard.append(payload[0] ^ mask[0])
        return True
