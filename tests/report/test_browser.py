"""The page in a real browser: it draws, answers, keeps quiet, and runs nobody else's code."""

from __future__ import annotations

import json
import shutil
import time

import numpy as np
import pytest

from tests.decoyed import fit_chances, fit_signals
from tests.report.conftest import HOSTILE
from tests.waiting import wait_for
from tvselect.report import About, gather, render
from tvselect.words import column_name

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and CHROMEDRIVER), reason="no Chromium here: apt install chromium-driver"
)
READY = "return [...document.querySelectorAll('.chart')].every(c => c.dataset.ready === 'yes')"


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=CHROMEDRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, hostile):
    """Files of an everyday run, of one with hostile names, and of one with decoys."""
    folder = tmp_path_factory.mktemp("pages")
    selector, X = fit_chances([0.95, 0.9, 0.6, *np.full(60, 0.1)], n_chains=2)
    hostile_selector, hostile_X = hostile
    texts = dict(title=HOSTILE[0], target=HOSTILE[1], notes=HOSTILE)
    about = About(more=dict(zip(HOSTILE, HOSTILE, strict=True)))
    found_of = {
        "everyday": gather(selector, X, X["c0"] + X["c1"], random_state=0),
        "hostile": gather(hostile_selector, hostile_X, hostile_X.iloc[:, 0], about=about, **texts),
        "decoys": gather(*fit_signals([0.65, 0.6, 0, 0, 0], twins=[(0, 2)])),
        "many": gather(*fit_signals([0.45] * 10 + [0] * 2, max_fdr=None), random_state=0),
    }
    for name, found in found_of.items():
        (folder / f"{name}.html").write_text(render(found), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in found_of}


@pytest.fixture
def visit(browser, pages):
    """Open a page, with charts drawn, at a width and in a colour scheme."""

    def visited(name, *, width=1280, scheme="light", height=900):
        set_size(browser, width, height)
        set_scheme(browser, scheme)
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(pages[name].as_uri())
        wait_for(lambda: browser.execute_script(READY))
        return browser

    return visited


def set_size(browser, width, height):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def set_scheme(browser, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def network(browser, method):
    """Parameters of what the browser did on the network since it was last asked."""
    entries = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [entry["params"] for entry in entries if entry["method"] == method]


def point_at_line(browser, selector="#trajectories-line-0 path"):
    """Move the mouse onto the middle of a line of the trajectories."""
    x, y = browser.execute_script(
        """
        const line = document.querySelector(arguments[0]);
        line.scrollIntoView({block: 'center', inline: 'center'});
        const at = line.getPointAtLength(line.getTotalLength() * 0.5);
        const place = at.matrixTransform(line.getScreenCTM());
        return [place.x, place.y];
        """,
        selector,
    )
    time.sleep(0.3)
    move = {"type": "mouseMoved", "x": x, "y": y}
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", move)
    return x, y


def tip(browser):
    return browser.execute_script(
        "const tip = document.querySelector('.tip'); return tip.hidden ? '' : tip.innerText"
    )


def drawn_lines(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#trajectories .caught:not(.gone)')].length"
    )


@pytest.mark.parametrize("name", ["everyday", "hostile", "decoys"])
@pytest.mark.parametrize("width", [1280, 390])
def test_quiet_and_alone(visit, pages, name, width):
    browser = visit(name, width=width)
    assert browser.get_log("browser") == []
    seen = [sent["request"]["url"] for sent in network(browser, "Network.requestWillBeSent")]
    assert [url for url in seen if not url.startswith("data:")] == [pages[name].as_uri()]
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


def test_charts_are_drawn_and_described_and_lines_are_pointed_at(visit):
    browser = visit("everyday")
    labels = browser.execute_script(
        "return [...document.querySelectorAll('.chart > svg[role=img]')].map("
        "svg => svg.getBoundingClientRect().height > 50 && svg.getAttribute('aria-label'))"
    )
    assert len(labels) >= 5
    assert all(label and len(label) > 20 for label in labels)
    point_at_line(browser)
    said = wait_for(lambda: tip(browser), seconds=5)
    assert said.startswith("c0\nselected: 0.9")
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 5, "y": 5})
    wait_for(lambda: not tip(browser), seconds=5)


def test_tapping_a_line_shows_its_name(visit):
    browser = visit("everyday", width=390)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        x, y = point_at_line(browser, "#trajectories-line-2 path")
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            touch = {"type": kind, "touchPoints": points}
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", touch)
        assert wait_for(lambda: tip(browser), seconds=5).startswith("c2\n")
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_filter(visit):
    browser = visit("everyday")
    n_all = drawn_lines(browser)
    assert n_all == 63
    field = browser.find_element("id", "query")
    field.send_keys("C1")
    # c1 and c10 to c19
    wait_for(lambda: drawn_lines(browser) == 11, seconds=5)
    output = browser.find_element("css selector", ".tools output")
    assert output.text == "11 of 63"
    field.clear()
    field.send_keys("(.*")
    wait_for(lambda: drawn_lines(browser) == 0, seconds=5)
    field.clear()
    field.send_keys("x\b")
    wait_for(lambda: drawn_lines(browser) == n_all, seconds=5)
    assert browser.get_log("browser") == []


def axis_labels(browser):
    return sorted(
        browser.execute_script(
            "const labels = document.querySelectorAll('#trajectories-axis-x text');"
            "return [...labels].map((label) => label.textContent)"
        )
    )


def test_zoom_and_pan(visit):
    browser = visit("everyday")
    whole = axis_labels(browser)
    browser.find_element("css selector", "[data-zoom=in]").click()
    wait_for(lambda: axis_labels(browser) != whole, seconds=5)
    zoomed = axis_labels(browser)
    x, y = browser.execute_script(
        "const chart = document.querySelector('#trajectories svg');"
        "chart.scrollIntoView({block: 'center'});"
        "const box = chart.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    moves = [("mouseMoved", 0), ("mousePressed", 0), *(("mouseMoved", 12 * k) for k in range(11))]
    for kind, by in (*moves, ("mouseReleased", 120)):
        mouse = {"type": kind, "x": x + by, "y": y, "button": "left", "clickCount": 1}
        pressed = {"buttons": 1} if kind == "mouseMoved" and by else {}
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", mouse | pressed)
    wait_for(lambda: axis_labels(browser) not in (whole, zoomed), seconds=5)
    browser.find_element("css selector", "[data-zoom=all]").click()
    wait_for(lambda: axis_labels(browser) == whole, seconds=5)


def test_wheel_scrolls_the_page_unless_ctrl_is_held(visit):
    browser = visit("everyday")
    whole = axis_labels(browser)
    x, y = point_at_line(browser)
    wheel = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -200}
    before = browser.execute_script("return window.scrollY")
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", wheel)
    wait_for(lambda: browser.execute_script("return window.scrollY") < before, seconds=5)
    assert axis_labels(browser) == whole
    x, y = point_at_line(browser)
    wheel = {**wheel, "x": x, "y": y, "modifiers": 2}
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", wheel)
    wait_for(lambda: axis_labels(browser) != whole, seconds=5)


def test_hostile_names_are_inert(visit):
    browser = visit("hostile")
    found = browser.execute_script(
        """return [document.images.length, document.title, ({}).x !== undefined,
          [...document.scripts].filter((s) => s.type !== 'application/json').length,
          document.querySelectorAll('[onerror], [onclick], [onload]').length]"""
    )
    assert found == [0, HOSTILE[0], False, 1, 0]
    shown_names = browser.execute_script(
        "return [...document.querySelectorAll('.answer th.name')].map(e => e.textContent.trim())"
    )
    expected = {column_name(name, j) for j, name in enumerate(HOSTILE) if j % 2 == 0}
    assert set(shown_names) == expected


@pytest.mark.parametrize("j", [0, 2, 8])
def test_hostile_names_are_inert_when_pointed_at(visit, j):
    browser = visit("hostile")
    name = column_name(HOSTILE[j], j)
    field = browser.find_element("id", "query")
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        field, name,
    )  # fmt: skip
    wait_for(lambda: drawn_lines(browser) == 1, seconds=5)
    point_at_line(browser, "#trajectories .caught:not(.gone)")
    said = wait_for(lambda: tip(browser), seconds=5)
    assert said.split("\n")[0] == name
    assert browser.execute_script("return document.querySelectorAll('.tip *').length") == 2
    assert browser.execute_script("return document.images.length") == 0
    assert browser.get_log("browser") == []


def test_policy_stops_injected_code(visit):
    """What a name might do if all else failed."""
    browser = visit("everyday")
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.owned = 1';"
        "document.body.append(s);"
        "const i = document.createElement('img'); i.src = 'https://example.org/x.png';"
        "document.body.append(i);"
    )
    time.sleep(0.3)
    assert browser.execute_script("return window.owned") is None
    refused = " ".join(entry["message"] for entry in browser.get_log("browser"))
    assert "Content Security Policy" in refused
    blocked = network(browser, "Network.loadingFailed")
    assert [params["blockedReason"] for params in blocked] == ["csp"]


def colours(browser):
    return browser.execute_script(
        """
        const line = document.querySelector('#trajectories-line-0 path');
        const label = document.querySelector('#trajectories-axis-x text');
        return [getComputedStyle(document.body).backgroundColor, getComputedStyle(line).stroke,
                getComputedStyle(label).fill];
        """
    )


def test_dark_mode_follows_the_system_while_open(visit):
    browser = visit("everyday", scheme="dark")
    dark = colours(browser)
    assert dark == ["rgb(20, 23, 26)", "rgb(93, 180, 240)", "rgb(161, 169, 178)"]
    set_scheme(browser, "light")
    light = colours(browser)
    assert light == ["rgb(255, 255, 255)", "rgb(0, 103, 163)", "rgb(93, 102, 112)"]
    set_scheme(browser, "dark")
    assert colours(browser) == dark


def test_printing_is_light_and_shows_no_tools(visit):
    browser = visit("everyday", scheme="dark")
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [feature]})
    assert colours(browser)[0] == "rgb(255, 255, 255)"
    style = "return getComputedStyle(document.querySelector('.tools')).display"
    assert browser.execute_script(style) == "none"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    assert browser.execute_cdp_cmd("Page.printToPDF", {})["data"]


def test_readable_without_scripts(browser, pages):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(pages["everyday"].as_uri())
        text = browser.find_element("css selector", "body").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "end of burn-in" in text or "threshold 0.5" in text  # the legends of the pictures
    assert "3 of 63 variables were selected." in text


@pytest.mark.parametrize("name", ["decoys", "many"])
def test_the_opening_is_one_printed_page(visit, name):
    """What a reader without statistics needs, on a sheet of A4 with margins of a centimetre."""
    browser = visit(name, width=718)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    height = "return document.querySelector('.opening').offsetHeight"
    assert 200 < browser.execute_script(height) < 1047
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
