"""A headless Chromium, driven through chromedriver (WebDriver) with the standard library only."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from programs import PATIENCE_S, Program

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of a reference to one, by the standard
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": "\ue00d", "Right": "\ue014"}
WAIT_TEXT = """
const [selector, pattern, patience_ms, done] = arguments;
const begin = performance.now();
const look = () => {
  const e = document.querySelector(selector);
  const text = e && e.checkVisibility() ? e.innerText : "";
  const matched = new RegExp(pattern).test(text);
  if (matched || performance.now() - begin > patience_ms) done([matched, text]);
  else setTimeout(look, 20);
};
look();
"""


def unavailable():
    """Why there is no browser here; nothing if there is one."""
    driver = shutil.which("chromedriver")
    chromium = find_chromium()
    if driver is None or chromium is None:
        return "needs chromium and chromedriver (Debian: chromium, chromium-driver)"
    for program in (driver, chromium):
        try:
            run = subprocess.run([program, "--version"], capture_output=True, text=True,
                                 timeout=PATIENCE_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{program} cannot be run: {error}"
        # On Ubuntu it is a script that asks for a snap.
        if run.returncode != 0 or not re.search(r"\d+\.\d+", run.stdout):
            return f"{program} cannot be run: {(run.stderr or run.stdout).strip()[:200]}"
    return None


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


class WebDriverError(Exception):
    """What chromedriver refuses."""


def start_driver(environment):
    """A chromedriver, and its port. The one that it takes of IPv6 can be another program's of IPv4:
    then it ends, and is started again."""
    for _ in range(5):
        driver = Program(shutil.which("chromedriver"), "--port=0", env=environment)
        try:
            return driver, int(driver.wait_for(r"successfully on port (\d+)")[0])
        except AssertionError:
            said = driver.output()
            driver.end()
            if "port not available" not in said:
                raise
    raise AssertionError(f"no free port for chromedriver:\n{said}")


class Browser:
    """One browser with one window. Ends with its profile."""

    def __init__(self, *more, width=1280, height=900):
        self.profile = tempfile.TemporaryDirectory(prefix="rota-chromium-",
                                                   ignore_cleanup_errors=True)
        environment = {**os.environ, "HOME": self.profile.name, "TMPDIR": self.profile.name}
        self.session = None
        self.driver, self.port = start_driver(environment)
        try:
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu",
                         "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
                         "--disable-background-networking", "--disable-component-update",
                         "--no-proxy-server", f"--window-size={width},{height}",
                         f"--user-data-dir={self.profile.name}/profile", *more]
            options = {"args": arguments, "binary": find_chromium()}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                      "goog:loggingPrefs": {"browser": "ALL"},
                      "timeouts": {"script": 2000 * PATIENCE_S}}
            made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = made["sessionId"]
        except BaseException:
            print(self.driver.output(), flush=True)
            self.end()
            raise

    def call(self, method, path, body=None):
        """One command of the WebDriver protocol."""
        if self.session is not None:
            path = f"/session/{self.session}{path}"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        data = None if method != "POST" else json.dumps(body or {}).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, data, timeout=3 * PATIENCE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise WebDriverError(f"{value['error']}: {value['message'][:500]}") from None

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What a piece of JavaScript returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        """What an element shows; empty if it is not there, or hidden."""
        return self.run("const e = document.querySelector(arguments[0]);"
                        "return e && e.checkVisibility() ? e.innerText : '';", selector)

    def wait_text(self, selector, pattern):
        """The text of an element, as soon as it matches a regular expression of JavaScript. The
        browser itself looks: asking it all the time would keep it busy."""
        script, arguments = WAIT_TEXT, [selector, pattern, 1000 * PATIENCE_S]
        matched, text = self.call("POST", "/execute/async", {"script": script, "args": arguments})
        if not matched:
            raise AssertionError(f"not within {PATIENCE_S} s: {selector} shows {pattern!r}; "
                                 f"it shows {text!r}; log: {self.log()}")
        return text

    def press(self, *keys):
        """Keys as a person presses them: names of KEYS, or text."""
        actions = []
        for key in keys:
            for value in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions",
                  {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def focused(self):
        """The id of the element that has the focus, or its tag."""
        return self.run("const e = document.activeElement; return e.id || e.tagName;")

    def tab_to(self, element_id, limit=100):
        """Moves the focus by the Tab key, as far as an element."""
        passed = []
        for _ in range(limit):
            self.press("Tab")
            passed.append(self.focused())
            if passed[-1] == element_id:
                return
        raise AssertionError(f"Tab does not lead to {element_id}, only to {passed}")

    def click(self, selector):
        """The first that is there: again if the page has put another in its place meanwhile."""
        for tries_left in range(9, -1, -1):
            found = self.call("POST", "/element", {"using": "css selector", "value": selector})
            try:
                return self.call("POST", f"/element/{found[ELEMENT]}/click")
            except WebDriverError as error:
                if tries_left == 0 or "stale element reference" not in str(error):
                    raise

    def cdp(self, command, **parameters):
        """A command of the browser's own protocol, for what the standard has not."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self):
        """What the console of the browser says since it was asked last."""
        return self.call("POST", "/se/log", {"type": "browser"})

    def end(self):
        if self.session is not None:
            try:
                self.call("DELETE", "")
            except (OSError, WebDriverError):
                pass  # the driver ends it
        self.driver.end()
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()


def start_or_skip(*more):
    """As start(); where there is none, or it does not run, the test that asks for it is skipped."""
    reason = unavailable()
    if not reason:
        try:
            return start(*more)
        except WebDriverError as error:
            reason = f"chromium does not start here: {error}"
    print(f"skipped: {reason}", flush=True)
    sys.exit(77)


def start(*more):
    """A browser, with more arguments. Tried again if it does not come up in time, or if the driver
    ends at once: it wants the same port with IPv4 and IPv6, and somebody may have the second.
    Throws WebDriverError, AssertionError."""
    for _ in range(4):
        try:
            return Browser(*more)
        except (WebDriverError, AssertionError) as error:
            print(f"chromium does not start: {error}; once more", flush=True)
    return Browser(*more)
