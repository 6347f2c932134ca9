"""The chat in two windows of Chromium: web_chat_test.py PROGRAM."""

import sys

import browser
from programs import Program, check, equal


def main():
    with Program(sys.argv[1], "127.0.0.1:0") as server:
        host, port = server.address()
        if reason := browser.unavailable():
            print(f"without a browser: {reason}")
            return
        with browser.start() as ann, browser.start() as bob:
            for window in (ann, bob):
                window.open(f"http://{host}:{port}/")
                window.wait_text("#state", "connected")
            for window, other, text in ((ann, bob, "hello, bob <b>€</b>"), (bob, ann, "hello")):
                window.click("#say")
                window.press(text, "Enter")
                window.wait_text("#lines", "you: " + text[:5])
                shown = other.wait_text("#lines li:last-child", "^hello")
                equal(shown, text)
            ann.run("document.getElementById('say').value = 'x'.repeat(1000)")
            ann.press("Enter")
            bob.wait_text("#lines li:last-child", "^x{1000}$")
            check(bob.run("return document.documentElement.scrollWidth <= innerWidth"),
                  "a long word is no wider than the window")
            check(not [entry for entry in ann.log() if entry["level"] == "SEVERE"
                       and "favicon" not in entry["message"]], "no errors in the page")


if __name__ == "__main__":
    main()
