"""report.html in Chromium: from a file, without a network, without a word in the console; and printed.

Usage: open_report.py ISOBAR_CLI PROJECT
"""
import base64
import os
import re
import subprocess
import sys

from window import needs, no_complaints, world
from program import write_run


def main():
    needs("chromium", "tidy")
    program, project = sys.argv[1:]
    with world() as (folder, chromium):
        name = "one <b>bold &amp; <img src=x onerror=alert(1)>"
        runs = [write_run(folder / "runs" / run, steps, ended=True) for run, steps in ((name, 300), ("two", 200))]
        file = folder / "report.html"
        subprocess.run([program, "report", *runs, "-o", file], cwd=folder, check=True,
                       env=dict(os.environ, ISOBAR_HOME=project, ISOBAR_PROGRESS=str(folder / "progress.jsonl")))
        tidy = subprocess.run(["tidy", "-quiet", "-errors", "--drop-empty-elements", "no", file], capture_output=True,
                              text=True)
        assert tidy.returncode == 0, tidy.stderr
        page = chromium.page()
        page.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1,
                  uploadThroughput=-1)
        for scripts_off in (True, False):
            page.call("Emulation.setScriptExecutionDisabled", value=scripts_off)
            page.go(file.as_uri())
            page.call("Page.bringToFront")
            words = page.run("document.body.innerText")
            assert "one <b>bold &amp; <img" in words and "300" in words, f"no name and no figures in: {words}"
            assert page.run("document.querySelectorAll('svg').length") > 0, "there is no plot"
            assert page.run("document.querySelectorAll('img[src=x]').length") == 0, "a run's name became markup"
        outside = [one for one in page.requests if not one.startswith(("file:", "data:", "blob:", "about:"))]
        assert not outside, f"the page asks the network for {outside}"
        printed = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
        sheets = len(re.findall(rb"/Type\s*/Page\b", printed))
        assert printed.startswith(b"%PDF") and sheets > 0, "nothing was printed"
        no_complaints(page)
        print(f"report.html: {file.stat().st_size} bytes, {sheets} sheets of paper, nothing asked of the network")
        keep = os.environ.get("ISOBAR_KEEP_PICTURES")  # a folder, to look at them
        if keep:
            for name, data in (("report.pdf", printed), ("report.png", page.picture())):
                with open(os.path.join(keep, name), "wb") as out:
                    out.write(data)


if __name__ == "__main__":
    main()
