"""The window in Chromium, used as a person would.

Usage: drive_tab.py ISOBAR_BROWSER PROJECT
"""
import json
import sys
import time

from chromium import wait
from program import append_step, write_run
from window import Window, needs, no_complaints, world

RUN = "one <b>bold &amp; <img src=x onerror=alert(1)>"
CONTROL, PASTE, COPY = 2, ["paste"], ["copy"]
CLIPBOARD = "navigator.clipboard.readText()"


def see_live_step(window, page):
    run = window.folder / "runs" / RUN
    page.until_still()
    append_step(run, 200)  # told in the title once all before it was shown
    page.until("the title to tell a step", "document.title.startsWith('201/1000 ')")
    page.still_picture()
    box = window.box("loss")
    before = page.picture(box)
    begin = time.monotonic()
    append_step(run, 201, 3.0)
    wait("the new step", lambda: page.chromium.compare(before, page.picture(box))["off"] > 100)
    print(f"a new step of a live run was seen {time.monotonic() - begin:.2f} s after it was written")
    page.until("the title to tell the step", "document.title.startsWith('202/1000 ')")
    summary = "document.getElementById('summary').textContent"
    page.until("the run in words", f"{summary}.includes({json.dumps(RUN)}) && {summary}.includes(': running')")
    assert page.run("document.querySelectorAll('b, img').length") == 0, "a run's name became markup"


def start_with_setting(window, page):
    window.click(page, "Settings")
    window.type(page, "filter keys", "train.steps")
    window.type(page, "set train.steps", "123")
    window.click(page, "Start")
    asked = window.until("./isobar to be started", lambda _: window.arguments.exists() and window.arguments.read_text())
    assert asked.split()[0] == "run" and "train.steps=123" in asked, asked
    print(f"Start: ./isobar {' '.join(asked.split())}")
    window.click(page, f"run {RUN}")
    window.box("loss")


def answer_question(window, page):
    window.click(page, "Lesson")
    window.click(page, "part goal 2")
    choice = window.until("a choice", lambda items: next((name for name in items if name.startswith("choice ")), ""))
    place = window.point_at(page, choice)
    page.wheel(*place, 2000)  # the button lies below what is seen
    window.until("the end of the page", lambda items: window.middle(choice) != place)
    window.click(page, choice)
    window.click(page, "Commit")
    file = window.folder / "progress.jsonl"
    answer = json.loads(window.until("the answer", lambda _: file.exists() and file.read_text()).splitlines()[-1])
    assert (answer["kind"], f"choice {answer['answer']}") == ("answer", choice), answer


def drag_plot(window, page):
    x, y, right, below = window.box("throughput")[:4]
    page.still_picture()
    before = page.picture((x, y, right, below))
    frames, bytes_before = page.frames(), sum(map(len, page.heard))
    seen = frames

    def next_frame():
        nonlocal seen
        wait("a frame of the plot on its way", lambda: page.frames() > seen)
        seen = page.frames()
    page.drag((x + 300, y + 100), (x + 180, y + 100), 6, next_frame)
    wait("the plot to move", lambda: page.chromium.compare(before, page.picture((x, y, right, below)))["off"] > 100)
    page.until_still()
    frames = page.frames() - frames
    print(f"a plot was dragged: {frames} frames, {(sum(map(len, page.heard)) - bytes_before) // frames} bytes each")


def copy_and_paste(window, page):
    page.chromium.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    window.click(page, "Settings")
    window.click(page, "Copy command")
    page.until("the command to be copied",
               f"{CLIPBOARD}.then((words) => words.startsWith('./isobar run 01_baseline'))")
    page.run("navigator.clipboard.writeText('b<o>l')")
    window.click(page, "filter runs")
    page.key("v", "KeyV", 86, CONTROL, commands=PASTE)
    window.until_shows("filter runs", "b<o>l")
    page.key("a", "KeyA", 65, CONTROL)
    page.key("x", "KeyX", 88, CONTROL)
    window.until_shows("filter runs", "")
    page.until("what was cut", f"{CLIPBOARD}.then((words) => words === 'b<o>l')")


def write_with_accents(window, page):
    """A sign that takes two keys, and one of an input method: only what they end as is typed."""
    window.click(page, "filter runs")
    page.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Dead", code="BracketLeft", windowsVirtualKeyCode=229)
    page.call("Input.imeSetComposition", text="´", selectionStart=1, selectionEnd=1)
    assert page.run("document.getElementById('keys').className") == "composing"
    page.call("Input.insertText", text="é")
    page.key("@", "KeyQ", 81, 0, "@")
    window.until_shows("filter runs", "é@")
    page.key("Backspace", number=8)
    page.key("Backspace", number=8)
    window.until_shows("filter runs", "")
    page.key("Escape", number=27)
    page.until_still()  # the window has left the field, and takes letters for its keys again


def select_words(window, page):
    """Words of the console: selecting them is the browser's, and the program hears of no press."""
    page.key("c", "KeyC", 67, 0, "c")
    words = "[...document.querySelectorAll('#texts span')]"
    page.until("the console's words", f"{words}.some((span) => span.textContent === '<i>three</i>\\n')")
    page.until_still()
    box = page.run(f"{words}.find((span) => span.textContent.startsWith('line two')).getBoundingClientRect().toJSON()")
    said = len(page.said)
    page.drag((box["left"] + 1, box["top"] + 3), (box["right"] + 200, box["bottom"] + 10))
    page.chromium.listen(0.5)
    assert not [message for message in page.said[said:] if message[0] == 7], "the program was told of the press"
    page.key("c", "KeyC", 67, CONTROL, commands=COPY)
    page.until("the words to be copied", f"{CLIPBOARD}.then((words) => words === 'line two\\n<i>three</i>')")
    with (window.folder / "runs" / RUN / "console.log").open("a") as console:
        console.write("line four\n")
    page.until("the new line", f"{words}.some((span) => span.textContent === 'line four\\n')")
    assert page.run("getSelection().toString().includes('two')"), "a new line took the selection away"
    page.move(700, 300)
    page.key("c", "KeyC", 67, 0, "c")  # not taken for a copy; the keys go to the window again
    page.until("the console to close", f"!{words}.some((span) => span.textContent === 'line four\\n')")


def at_scale(window, page, scale, least=0.0, size=(1440, 900)):
    """So many of the screen's pixels: larger letters, and what is clicked is what lies there."""
    page.resize(size, scale)
    page.until("the canvas to be exact", "(({ width, height }) => `${width} ${height}` === '%d %d')"
               "(document.getElementById('canvas'))" % size)
    height = wait(f"letters larger than {least}", lambda: (
        box := window.box("Settings")) and box[3] - box[1] > least and box[3] - box[1])
    page.until_still()
    window.change_theme(page)
    return height


def main():
    needs("chromium")
    program, project = sys.argv[1:]
    with world() as (folder, chromium):
        write_run(folder / "runs" / RUN, 200, ended=False, console="line one\nline two\n<i>three</i>\n")
        with Window(program, project, folder, "--lesson", "01_baseline", "--theme", "dark", "--run",
                    f"runs/{RUN}") as window:
            page = chromium.page(window.address())
            see_live_step(window, page)
            start_with_setting(window, page)
            answer_question(window, page)
            drag_plot(window, page)
            copy_and_paste(window, page)
            write_with_accents(window, page)
            select_words(window, page)
            height = 0.0
            for scale in (1.0, 1.25, 2.0):
                height = at_scale(window, page, scale, height)
            at_scale(window, page, 10.0, height, (2560, 1600))  # five times as large, on a fine screen
            assert "token" not in page.run("location.href"), "the token stays in the address"
            no_complaints(page)


if __name__ == "__main__":
    main()
