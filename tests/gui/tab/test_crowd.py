"""Many connections, slow ones, and ones that stop: a real tab goes on, and memory stays bounded.

Usage: test_crowd.py ISOBAR_BROWSER PROJECT
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from program import TEXTURE, Program, Tab, append_step, left_s, wait, write_run
from tab_client import number

MIB = 1 << 20


def open_files(program):
    return len(os.listdir(f"/proc/{program.process.pid}/fd"))


def step(run, tab, number):
    """A step is written, and a later frame comes."""
    seen = tab.frames
    append_step(run, number)
    tab.until("a frame with the step", lambda: tab.frames > seen)


def check_memory(grown, most_mib):
    """A sanitizer keeps what was freed."""
    assert os.environ.get("ISOBAR_SANITIZER") or grown < most_mib * MIB, f"{grown / MIB:.0f} MiB more"


def check_thousand(program, tab, run):
    """Every other one sends half a request; all stay as they are."""
    crowd = []
    for i in range(1000):
        crowd.append(program.client())
        if i % 2:
            crowd[-1].socket.sendall(f"GET {program.target} HTTP/1.1\r\nHost: loc".encode())
        if i % 100 == 99:
            step(run, tab, 100 + i // 100)
            assert open_files(program) < 256, open_files(program)
    assert program.client().ask(program.entry)[0] == 200, "a page is answered among them"
    last = crowd[-1]
    last.socket.settimeout(0.2)
    while left_s() > 0:  # half a request has ten seconds
        try:
            assert last.socket.recv(1000) == b""
            break
        except TimeoutError:
            tab.take(0)
    assert left_s() > 0, "half a request was never closed"
    step(run, tab, 110)
    for client in crowd:
        client.socket.close()
    print("a thousand connections: a tab goes on, and a page is answered")


def check_many_tabs(program, tab, run):
    """One more than there may be is closed, and takes nothing from the others."""
    cookie = program.cookie()
    others = [Tab(program, cookie=cookie) for _ in range(63)]
    too_many = Tab(program, cookie=cookie)
    too_many.until_closed("one tab too many")
    step(run, tab, 111)
    for other in others:
        other.client.socket.close()
    print("64 tabs, and no more")


def check_never_reads(program, tab, run):
    """It greets and reads nothing, while there is much to be told."""
    slow = program.client()
    assert slow.upgrade(program.target + "socket", program.cookie()) == 101
    slow.hello(1288, 904)
    step(run, tab, 112)
    before, first = program.memory(), tab.frames
    for _ in range(600):  # of 20 kB each
        seen = tab.frames
        tab.client.key(ord("V"), True)
        tab.client.key(ord("V"), False)
        tab.until("another view", lambda: tab.frames > seen)
    step(run, tab, 113)
    grown = program.memory() - before
    check_memory(grown, 6)
    print(f"a tab that reads nothing: {grown / MIB:.1f} MiB more after {tab.frames - first} frames of another")
    slow.socket.close()


def check_greedy(program, tab, run):
    """It wants letters of another size again and again, says that it drew them, and reads nothing: it is closed."""
    greedy = program.client()
    assert greedy.upgrade(program.target + "socket", program.cookie()) == 101
    greedy.hello(1288, 904)
    greedy.key(340, True)  # it leads
    before, most = program.memory(), 0
    try:
        for i in range(1000):
            tab.heard.clear()
            greedy.send(bytes([2]) + number(1288) + number(904) + number((3 + i % 2) * 256))
            tab.until("letters of that size", lambda: (greedy.drawn((1 << 32) - 1), TEXTURE in tab.heard)[1])
            most = max(most, program.memory())
        raise SystemExit("it was never closed")
    except ConnectionError:
        pass
    check_memory(most - before, 160)
    step(run, tab, 114)
    print(f"a tab that wants all and reads nothing is closed: {(most - before) / MIB:.0f} MiB at most")


def check_stopped(program, tab, run):
    """A browser that is stopped for a while, as by a machine that sleeps, goes on with the newest."""
    client = subprocess.Popen([sys.executable, __file__, "--client", str(program.port), program.entry], stdout=subprocess.PIPE, text=True)
    count = lambda: int(client.stdout.readline())
    try:
        seen = count()
        client.send_signal(signal.SIGSTOP)
        wait("it to be stopped", lambda: Path(f"/proc/{client.pid}/stat").read_text().split(") ")[1][0] == "T")
        for at in range(115, 120):
            step(run, tab, at)
        client.send_signal(signal.SIGCONT)
        while count() <= seen + 1:
            step(run, tab, at := at + 1)
    finally:
        client.kill()
        client.wait()
    print("a client that was stopped goes on")


def be_client(port, entry):
    """Says after each frame how many it has had."""
    class Place:
        def __init__(self):
            self.target, self.items_file = entry.split("?")[0], None

        def client(self):
            from tab_client import Client
            return Client(port)

        def cookie(self):
            from tab_client import enter
            return enter(port, entry)
    tab, told = Tab(Place()), 0
    while True:
        tab.take(300)
        if tab.frames != told:
            told = tab.frames
            print(told, flush=True)


def main():
    if sys.argv[1] == "--client":
        return be_client(int(sys.argv[2]), sys.argv[3])
    program, project = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, max(2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory(prefix="isobar-tab-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        run = write_run(folder / "runs/live")
        with Program(program, project, folder, "runs", "--lesson", "01_baseline", "--run", "runs/live") as server:
            tab = Tab(server)
            tab.until("the run", lambda: tab.frames > 0 and tab.title.startswith(("100/", "died: ")))
            for part in (check_thousand, check_many_tabs, check_never_reads, check_greedy, check_stopped):
                part(server, tab, run)
            server.stop()


if __name__ == "__main__":
    main()
