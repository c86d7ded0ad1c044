"""Clicks through pages of `lagmond report` in headless Chromium; for Scripts/check-report.

    check-report.py hostile REAL.jsonl   changes real lines to lines that attempt to inject code into the page, and prints them
    check-report.py check FOLDER         checks real.html, many.html, hostile.html and empty.html there
"""
import base64
import json
import pathlib
import sys
import time

ATTACKS = [
    "</script><script>window.hostile=1</script>", "<img src=x onerror=\"window.hostile=2\">", "\"'><svg onload=window.hostile=3>",
    "<!--<script>", "]]>{{7*7}}${window.hostile=4}", "\u2028window.hostile=5\u2029", "\u202egnp.exe\u202c", "a\u0000b\u001b[2J",
    "javascript:window.hostile=6", "x" * 3000, "<style>*{display:none}</style>", "&lt;b&gt;", "__proto__", "constructor",
]


def hostile(path):
    lines = [line for line in open(path, encoding="utf-8") if '"phase":"end"' in line]
    for number, attack in enumerate(ATTACKS):
        record = json.loads(lines[number % len(lines)])
        for key in ("message", "fingerprint", "culprit", "loop", "host_name", "process_name", "thread_name", "syscall", "wchan", "service_name"):
            record[key] = attack
        record["id"] = record["id"][:-2] + f"{number:02x}"
        # An incident needs two stalls.
        record["incident"] = ATTACKS[number // 2]
        record[attack[:100]] = {attack[:100]: [attack]}
        for frame in record["frames"]:
            frame["symbol"] = frame["module"] = frame["file"] = attack
        record["lock_owner"] = {"thread_id": 1, "thread_name": attack, "frames": record["frames"][:2]}
        record["workers"] = [{"thread_ids": [1, attack], "frames": [None, 3, {"pc": attack}]}]
        record["sample_tree"] = [{"ms": 10.0, "samples": 1, "frames": [attack], "children": [{"ms": "x", "samples": 1, "frames": 7}]}]
        print(json.dumps(record, separators=(",", ":"), ensure_ascii=number % 2 == 0))
    print(json.dumps({"schema": "lagmonitor.stall.v1", "frames": 7}))
    print('{"half":')


class Browser:
    """A page in Chromium without a network, and the errors in it."""

    # Runs before the page's own script: collects violations of the page's content security policy.
    WATCH = "window.refused = []; document.addEventListener('securitypolicyviolation', (e) => window.refused.push(e.violatedDirective + ' ' + e.blockedURI));"

    def __init__(self, scripts=True, scheme="light", width=1440, height=1000):
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"):
            options.add_argument(argument)
        if not scripts:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        self.run("Network.enable", {})
        self.run("Network.emulateNetworkConditions", {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
        self.run("Page.addScriptToEvaluateOnNewDocument", {"source": self.WATCH})
        self.look(scheme, width, height)

    def run(self, command, parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def look(self, scheme, width, height=1000):
        self.run("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.run("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        time.sleep(0.3)

    def open(self, path, fragment=""):
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.path = path
        # If only the fragment changed, Chromium would not reload the page.
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri() + fragment)
        time.sleep(0.3)

    def js(self, text, *arguments):
        return self.driver.execute_script("return " + text, *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.js("document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector):
        element = self.one(selector) if isinstance(selector, str) else selector
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        time.sleep(0.15)

    def keys(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()
        time.sleep(0.15)

    def requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if url.split("#")[0] != self.path.as_uri() and url != "about:blank"]

    def picture(self, path, whole=True):
        size = self.js("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"clip": {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 8000), "scale": 1}} if whole else {}
        data = self.run("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole, **clip})
        path.write_bytes(base64.b64decode(data["data"]))


class Checks:
    def __init__(self):
        self.failures = 0
        self.count = 0

    def that(self, name, is_so, found=None):
        self.count += 1
        if is_so:
            return
        self.failures += 1
        print(f"check-report: {name}: failed" + ("" if found is None else f": {found!r}"), file=sys.stderr)

    def clean(self, name, browser):
        """The page made no requests, violated no policy, logged no errors, and ran no foreign script."""
        self.that(f"{name}: nothing in the console", (log := browser.driver.get_log("browser")) == [], log)
        self.that(f"{name}: no request", (urls := browser.requests()) == [], urls)
        self.that(f"{name}: the policy refused nothing", (refused := browser.js("window.refused")) == [], refused)
        self.that(f"{name}: no foreign script ran", browser.js("typeof window.hostile") == "undefined")


def group(checks, browser):
    """A click on a group selects it, opens its details, and filters the other parts of the page."""
    rows = len(browser.all("#group-table tbody tr"))
    checks.that("group: there are groups", rows > 3, rows)
    name = browser.text("#group-table tbody tr:nth-child(2) .pick")
    before = browser.text("#flame .note")
    stalls = len([row for row in browser.all("#worst-table tbody tr") if row.is_displayed()])
    browser.click("#group-table tbody tr:nth-child(2) .pick")
    checks.that("group: the detail opens", browser.one("#detail").is_displayed())
    checks.that("group: the detail is the group's", name in browser.text("#detail"), browser.text("#detail")[:200])
    checks.that("group: the call graph is the group's", name in browser.text("#flame .note") != before)
    checks.that("group: the heat map is the group's", name in browser.text("#heat .note"))
    shown = len([row for row in browser.all("#worst-table tbody tr") if row.is_displayed()])
    checks.that("group: the stalls are the group's", 0 < shown < stalls, (shown, stalls))
    checks.that("group: the filter says so", name in browser.text("#filter"))
    checks.that("group: the timeline dims the others", len(browser.all("#timeline-chart .mark.dim")) > 0)
    browser.keys("\ue00c")  # Escape
    checks.that("group: Escape closes the detail", not browser.one("#detail").is_displayed())
    browser.click("#clear-group")
    checks.that("group: the filter disappears", not browser.one("#filter").is_displayed())
    checks.that("group: the call graph shows all stalls again", browser.text("#flame .note") == before)


def keyboard(checks, browser):
    browser.js("document.querySelector('#group-table .pick').focus()")
    browser.keys("\ue007")  # Enter
    checks.that("keyboard: Enter on a group opens its detail", browser.one("#detail").is_displayed())
    browser.keys("\ue00c")
    browser.click("#clear-group")
    browser.js("document.querySelector('#icicle button[tabindex=\"0\"]').focus()")
    first = browser.js("document.activeElement.getAttribute('aria-label')")
    browser.keys("\ue015")  # Arrow down
    second = browser.js("document.activeElement.getAttribute('aria-label')")
    checks.that("keyboard: an arrow moves in the call graph", first != second and second is not None, (first, second))
    browser.keys("\ue007")  # Enter
    zoomed = browser.js("document.activeElement.getAttribute('aria-label')")
    checks.that("keyboard: Enter zooms in, and the focus stays", zoomed == second and browser.one("#flame-out").is_enabled(), zoomed)
    browser.keys("\ue00c")
    browser.click("#flame-out") if browser.one("#flame-out").is_enabled() else None
    browser.js("document.querySelector('#heat-map').focus()")
    browser.keys("\ue014", "\ue013", "\ue007")  # right, up, Enter
    checks.that("keyboard: a cell of the heat map can be selected", browser.one("#clear-box").is_displayed())
    browser.keys("\ue00c")
    checks.that("keyboard: Escape clears the selection", not browser.one("#filter").is_displayed())
    browser.js("document.querySelector('#timeline-chart').focus()")
    browser.keys("\ue014", "\ue007")
    checks.that("keyboard: the timeline opens a stall", browser.one("#detail").is_displayed())
    browser.keys("\ue00c")


def search(checks, browser):
    field = browser.one("#flame-search")
    browser.js("arguments[0].scrollIntoView({block: 'center'})", field)
    field.send_keys("lockInOpposite")
    time.sleep(0.2)
    found = browser.text("#flame-found")
    matches = browser.all("#icicle .match")
    checks.that("search: matches are marked", len(matches) > 0)
    checks.that("search: only matches are marked", all("lockInOpposite" in match.get_attribute("aria-label") for match in matches))
    weight = browser.js("document.querySelector('#group-table tbody tr td:nth-child(3)').firstChild.textContent")
    checks.that("search: the matches' share is shown", weight in found and "%" in found and "1 function" in found, (found, weight))
    field.clear()
    field.send_keys("no such function")
    time.sleep(0.2)
    checks.that("search: no match is reported", browser.text("#flame-found").startswith("0 functions: 0 ms"), browser.text("#flame-found"))
    field.clear()
    field.send_keys(" \ue003")  # Backspace
    time.sleep(0.2)
    checks.that("search: nothing is marked without a search term", len(browser.all("#icicle .match")) == 0)


def zoom(checks, browser):
    frame = browser.one("#icicle button.app:not(.above)[aria-label*='fetchFromSlowServer']")
    before = frame.size["width"]
    browser.click(frame)
    frame = browser.one("#icicle button[aria-label*='fetchFromSlowServer']")
    whole = browser.one("#icicle").size["width"]
    checks.that("zoom: a click makes the frame as wide as the graph", before < whole / 2 and frame.size["width"] > whole * 0.97, (before, whole))
    checks.that("zoom: the path to the frame is shown", "fetchFromSlowServer" in browser.text("#flame-crumbs"))
    browser.click("#flame-out")
    browser.click("#flame-reset")
    frame = browser.one("#icicle button[aria-label*='fetchFromSlowServer']")
    checks.that("zoom: and back", abs(frame.size["width"] - before) < 2, (before, frame.size["width"]))
    rows = len(browser.all("#icicle button"))
    browser.click("#flame-fold")
    checks.that("zoom: common callers unfold", len(browser.all("#icicle button")) > rows)
    browser.click("#flame-fold")


def folded(checks, browser):
    """The callers common to all stacks of a process are folded into one row, so that the graph begins near the differences."""
    rows = "Math.max(...[...document.querySelectorAll('#icicle button')].map((each) => parseFloat(each.style.top)))"
    folds = browser.all("#icicle button.folded")
    checks.that("folded: there is a fold", len(folds) > 0 and "callers common to all below" in folds[0].get_attribute("aria-label"))
    names = browser.js("[...document.querySelectorAll('#icicle button')].map((each) => each.getAttribute('aria-label'))")
    checks.that("folded: _start is in it", not any(name.startswith("_start,") for name in names) and "_start" in folds[0].get_attribute("title"))
    before = browser.js(rows)
    browser.click("#flame-fold")
    names = browser.js("[...document.querySelectorAll('#icicle button')].map((each) => each.getAttribute('aria-label'))")
    is_deeper = browser.js(rows) > before
    has_start = any(name.startswith("_start,") for name in names)
    checks.that("folded: the unfolded graph is deeper and has _start", is_deeper and has_start, (is_deeper, has_start, names[:3]))
    browser.click("#flame-fold")
    checks.that("folded: folding again restores the graph", browser.js(rows) == before)


def inverted(checks, browser):
    """The inverted graph shows the same total time, leaves first."""
    note = browser.text("#flame .note")
    total = browser.js("document.querySelector('#icicle button').node.ms")
    leaf = "(() => { let node = document.querySelector('#icicle button').node; while (node.children.length) node = node.children[0]; return node.frame; })()"
    heaviest = browser.js(leaf)
    browser.click("#flame-invert")
    checks.that("inverted: the page shows that it is inverted", browser.one("#flame-invert").get_attribute("aria-pressed") == "true" and browser.text("#flame .note") != note)
    root = "document.querySelector('#icicle button').node"
    checks.that("inverted: no time is lost", abs(browser.js(f"{root}.ms") - total) < 0.01 * total, (browser.js(f"{root}.ms"), total))
    parts = browser.js(f"{root}.children.reduce((sum, each) => sum + each.ms, 0) + {root}.pruned")
    checks.that("inverted: the children add up to the total", abs(parts - total) < 0.01 * total, (parts, total))
    checks.that("inverted: the heaviest leaf is on top", browser.js(f"{root}.children.some((each) => each.frame === arguments[0])", heaviest))
    first = browser.js("[...document.querySelectorAll('#icicle button')].filter((each) => each.style.top === '19px').map((each) => each.getAttribute('aria-label'))")
    checks.that("inverted: _start is not a leaf", first != [] and not any(name.startswith("_start,") for name in first), first[:5])
    browser.click("#flame-invert")
    checks.that("inverted: inverting again restores the graph", browser.text("#flame .note") == note and browser.js(leaf) == heaviest)


def colours(checks, browser):
    """Only frames of the program have the program's colour, in the graph and in the details."""
    libraries = "[...document.querySelectorAll('#icicle button.app')].map((each) => each.title).filter((title) => /\\n(lib[^\\n]*\\.so|ld-linux|\\[vdso\\])/.test(title))"
    browser.click("#flame-fold") if browser.one("#flame-fold").is_displayed() else None
    checks.that("colours: there are frames of the program and of libraries", browser.all("#icicle button.app") != [] and browser.all("#icicle button:not(.app)") != [])
    checks.that("colours: no library frame has the program's colour", browser.js(libraries) == [], browser.js(libraries))
    browser.click("#flame-fold") if browser.one("#flame-fold").is_displayed() else None
    own = browser.js("""(() => {
        const wrong = [];
        for (const script of document.querySelectorAll('script[id^=stall-]')) {
            const stall = JSON.parse(script.textContent);
            location.hash = '#' + new URLSearchParams({ stall: stall.id });
            dispatchEvent(new HashChangeEvent('hashchange'));
            const libraries = new Set((stall.frames || []).filter((frame) => !frame.in_app).map((frame) => frame.symbol));
            for (const item of document.querySelectorAll('#detail .stack .own')) if (libraries.has(item.textContent.replace('› ', ''))) wrong.push(item.textContent);
        }
        return wrong;
    })()""")
    checks.that("colours: no library frame in the details has the program's colour", own == [], own[:3])
    browser.keys("\ue00c")


def links(checks, browser, path):
    """The selection is in the URL, and opening the URL restores it."""
    address = lambda: browser.js("decodeURIComponent(location.hash)")
    browser.click("#worst-table tbody tr:nth-child(2) .pick")
    title = browser.text("#detail-title")
    stall = browser.js("location.hash")
    checks.that("links: an opened stall is in the address", "stall=" in stall, stall)
    checks.that("links: the detail has the same link", browser.one("#detail-link").get_attribute("href").endswith(stall))
    browser.keys("\ue00c")
    checks.that("links: a closed stall is not", "stall=" not in address(), address())
    browser.click("#group-table tbody tr:nth-child(2) .pick")
    name = browser.text("#group-table tbody tr:nth-child(2) .pick")
    group = browser.js("location.hash")
    fingerprint = browser.text("#group-table tbody tr:nth-child(2) td:nth-child(2) small")
    checks.that("links: a selected group is in the address by its fingerprint", f"group={fingerprint}" in address(), address())
    browser.open(path, stall)
    checks.that("links: a stall's link opens it", browser.one("#detail").is_displayed() and browser.text("#detail-title") == title)
    browser.open(path, group)
    checks.that("links: a group's link selects it", name in browser.text("#filter") and name in browser.text("#flame .note"))
    browser.js("(location.hash = arguments[0], 0)", stall)
    time.sleep(0.2)
    checks.that("links: another link in the same page opens its stall", browser.text("#detail-title") == title and not browser.all("#clear-group"))
    browser.open(path, "#stall=absent&group=v1:0&process=none")
    checks.that("links: the page reports missing items", "stall absent" in browser.text("#missing") and not browser.one("#detail").is_displayed())
    browser.open(path)
    checks.that("links: without a link nothing is selected", not browser.one("#filter").is_displayed() and browser.js("location.hash") == "")


def process_filter(checks, browser):
    """Selecting a process limits every part of the page to its stalls."""
    from selenium.webdriver.support.ui import Select

    select = Select(browser.one("#process"))
    checks.that("process: all processes are listed", len(select.options) > 5, len(select.options))
    before = browser.js("document.querySelector('#icicle button').node.ms")
    groups = len([row for row in browser.all("#group-table tbody tr") if row.is_displayed()])
    name = select.options[1].get_attribute("value")
    browser.js("arguments[0].scrollIntoView({block: 'center'})", select._el)
    select.select_by_index(1)
    time.sleep(0.3)
    after = browser.js("document.querySelector('#icicle button').node.ms")
    checks.that("process: the call graph is its own", 0 < after < before and name in browser.text("#flame .note"), (after, before))
    ways = browser.js("document.querySelector('#icicle button').node.children.length")
    checks.that("process: the call graph has one process", ways == 1, ways)
    shown = len([row for row in browser.all("#group-table tbody tr") if row.is_displayed()])
    checks.that("process: the groups are its own", 0 < shown < groups, (shown, groups))
    others = browser.js("[...document.querySelectorAll('#worst-table tbody tr')].filter((row) => !row.hidden && row.dataset.process !== arguments[0]).length", name)
    checks.that("process: the longest stalls are its own", others == 0, others)
    lanes = browser.js("[...document.querySelectorAll('#timeline-chart .name title')].map((each) => each.textContent)")
    checks.that("process: the lanes are its own", all(f" {name}[" in lane for lane in lanes), lanes[:3])
    checks.that("process: the filter and the address say so", name in browser.text("#filter") and "process=" in browser.js("location.hash"))
    browser.click("#clear-process")
    checks.that("process: all again", abs(browser.js("document.querySelector('#icicle button').node.ms") - before) < 0.01 and select.first_selected_option.get_attribute("value") == "")


def narrow(checks, browser, path, width):
    """The page does not scroll sideways, and nothing is too small to read or to click."""
    browser.look("light", width, 900)
    browser.open(path)
    size = browser.js("[document.documentElement.scrollWidth, window.innerWidth]")
    checks.that(f"{path.stem} at {width}: no sideways scrolling", size[0] <= size[1] == width, size)
    wide = browser.js("[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.getAttribute('aria-label'))")
    checks.that(f"{path.stem} at {width}: no table is wider", wide == [], wide)
    small = browser.js("""[...document.querySelectorAll('main *')].filter((each) => each.childNodes.length && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
        && each.getClientRects().length && parseFloat(getComputedStyle(each).fontSize) < 11).length""")
    checks.that(f"{path.stem} at {width}: no text is smaller than 11 px", small == 0, small)
    cut = browser.js("""[...document.querySelectorAll('#group-table td:nth-child(2)')].filter((each) => each.getClientRects().length
        && each.getBoundingClientRect().width < 100).length""")
    checks.that(f"{path.stem} at {width}: names have room", cut == 0, cut)


def heat_map(checks, browser):
    from selenium.webdriver import ActionChains

    svg = browser.one("#heat-map")
    browser.js("arguments[0].scrollIntoView({block: 'center'})", svg)
    cell = browser.js("(() => { const r = document.querySelector('#heat-map rect[class^=q]').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
    mouse = ActionChains(browser.driver, duration=50)
    mouse.w3c_actions.pointer_action.move_to_location(int(cell[0]), int(cell[1]))
    mouse.click().perform()
    time.sleep(0.2)
    shown = [row for row in browser.all("#group-table tbody tr") if row.is_displayed()]
    everyone = browser.all("#group-table tbody tr")
    checks.that("heat map: a click selects a cell", browser.all("#clear-box") != [])
    checks.that("heat map: the groups are filtered", 0 < len(shown) < len(everyone), (len(shown), len(everyone)))
    checks.that("heat map: a group shows how many stalls are selected", "chosen" in shown[0].text, shown[0].text)
    checks.that("heat map: the timeline is filtered", "Narrowed" in browser.text("#timeline .note"))
    browser.click("#heat-clear")
    checks.that("heat map: all again", not browser.one("#filter").is_displayed())


def tables(checks, browser):
    def column(index):
        return [row.find_elements("css selector", "td")[index].get_attribute("data-value") for row in browser.all("#group-table tbody tr")]

    browser.click("#group-table thead th:nth-child(7) button")
    worst = [float(value) for value in column(6)]
    checks.that("tables: a click on a head sorts", worst == sorted(worst, reverse=True), worst[:5])
    browser.click("#group-table thead th:nth-child(1) button")
    checks.that("tables: and back", column(0) == [str(number) for number in range(len(worst))])
    browser.click("#worst-table tbody tr:nth-child(3) .pick")
    checks.that("tables: a stall opens", browser.one("#detail").is_displayed())
    checks.that("tables: its stack is there", len(browser.all("#detail .stack li.app")) > 0)
    browser.click("#detail-close")


def check(folder):
    checks = Checks()
    browser = Browser()
    browser.open(folder / "real.html")
    for part in (group, keyboard, search, zoom, folded, inverted, colours, heat_map, tables):
        part(checks, browser)
    links(checks, browser, folder / "real.html")
    checks.clean("real", browser)
    for scheme in ("light", "dark"):
        browser.look(scheme, 1440)
        browser.picture(folder / f"real-{scheme}.png")
        shade = browser.js("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).reduce((sum, each) => sum + Number(each), 0)")
        checks.that(f"{scheme}: the page is", shade > 600 if scheme == "light" else shade < 150, shade)
    browser.look("light", 1440)
    browser.click("#group-table tbody tr:nth-child(1) .pick")
    browser.picture(folder / "detail.png", whole=False)
    browser.keys("\ue00c")

    for name in ("real", "many", "hostile"):
        browser.look("light", 390, 844)
        browser.open(folder / f"{name}.html")
        browser.click("#group-table tbody tr:nth-child(1) .pick")
        size = browser.js("[document.documentElement.scrollWidth, window.innerWidth]")
        checks.that(f"{name}: no sideways scrolling on a phone", size[0] <= size[1] == 390, size)
        browser.keys("\ue00c")
        browser.picture(folder / f"{name}-phone.png")
    for name in ("real", "many", "hostile"):
        narrow(checks, browser, folder / f"{name}.html", 500)
        browser.picture(folder / f"{name}-500.png")
    browser.look("light", 1440)
    browser.open(folder / "many.html")
    browser.picture(folder / "many.png")
    for part in (group, tables, keyboard, process_filter):
        part(checks, browser)
    checks.clean("many", browser)

    browser.open(folder / "hostile.html")
    details = 0
    for number in range(len(browser.all("#worst-table tbody tr"))):
        if browser.one(f"#worst-table tbody tr:nth-child({number + 1})").get_attribute("data-detail") is not None:
            browser.click(f"#worst-table tbody tr:nth-child({number + 1}) .pick")
            details += browser.one("#detail").is_displayed()
            browser.js("document.querySelectorAll('#detail details').forEach((each) => { each.open = true; })")
    checks.that("hostile: details open", details >= len(ATTACKS), details)
    browser.keys("\ue00c")
    everything = browser.js("document.body.innerText")
    incidents = browser.all("#incident-table tbody tr")
    checks.that("hostile: stalls of one incident are one row", len(incidents) == len(ATTACKS) // 2, len(incidents))
    browser.click("#incident-table li[data-detail] .pick")
    checks.that("incidents: a stall opens its detail", browser.one("#detail").is_displayed() and len(browser.all("#incident-table li.chosen")) == 1)
    checks.that("hostile: the malicious text is shown as text", ATTACKS[0] in everything and ATTACKS[1] in everything)
    checks.that("hostile: the text created no elements", browser.all("main img, aside img, main style, svg[onload]") == [])
    checks.that("hostile: no character reverses the text's direction", "\u202e" not in everything)
    browser.picture(folder / "hostile.png")
    checks.clean("hostile", browser)

    browser.open(folder / "empty.html")
    checks.that("empty: the page reports that there are no stalls", "No stalls were found." in browser.text("main"))
    checks.clean("empty", browser)
    browser.driver.quit()

    browser = Browser(scripts=False)
    browser.open(folder / "real.html")
    checks.that("without scripts: no script ran", not browser.one("#flame").is_displayed() and browser.all(".pick") == [])
    checks.that("without scripts: the tables are there", browser.one("#group-table").is_displayed() and browser.one("#worst-table").is_displayed())
    checks.that("without scripts: the tables contain the stalls", "LagWorkload.lockInOppositeOrder" in browser.one("#worst-table").text)
    checks.that("without scripts: the page says which parts need them", "Scripts are off" in browser.one("main").text)
    checks.that("without scripts: no request", browser.requests() == [])
    browser.picture(folder / "no-scripts.png")
    browser.driver.quit()
    print(f"report checks={checks.count} failed={checks.failures}")
    sys.exit(1 if checks.failures else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("hostile", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "hostile":
        hostile(sys.argv[2])
    else:
        check(pathlib.Path(sys.argv[2]).resolve())
