"""`make insight-check`: the pages in Chromium, with screenshots in build/insight.

Not collected by pytest: CI has no browser. Each check is a function that asserts.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from mindtorch.insight.run_file import RunFile
from mindtorch.torch.utils.tensorboard import SummaryWriter
from tests.support.insight_runs import EVIL, make_run, served
from tests.support.paths import ROOT

PICTURES = ROOT / "build" / "insight"
PAGES = ("", "scalars", "distributions", "graph", "samples", "performance", "lineage", "compare",
         "checks")  # fmt: skip
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
LAYERS, TENSORS = 60, 1000  # 60 stages of 17 modules
ALLOWED = 2.0  # seconds until a page is drawn
EVIL_NAME = "a<b>&'\""
_DRAWN = """
const needed = arguments[0];
return document.querySelector('h1') !== null && needed.every(
  (selector) => [...document.querySelectorAll(selector)].some((x) => x.offsetParent !== null
    || x.tagName === 'svg'));
"""
_NEEDED = {
    "": ["tbody tr"], "scalars": ["canvas"], "distributions": ["canvas"],
    "graph": [".insight-graph svg", "tbody tr"], "samples": [".insight-card img"],
    "performance": ["canvas", "tbody tr"], "lineage": ["canvas", "tbody tr"],
    "compare": ["canvas", "tbody tr"], "checks": [".insight-note"],
}  # fmt: skip


def make_trainings(base: Path) -> None:
    """A hundred trainings, one of a large model, one with a hostile name."""
    for number in range(RUNS - 2):
        make_run(base / f"sweep/run{number:03}", number, steps=100, tensors=2)
    make_run(base / "large", 1, steps=100, tensors=TENSORS, layers=LAYERS)
    make_run(base / EVIL_NAME, 2, steps=40, extra_tag=EVIL)


@contextmanager
def browser(width: int = 1400, height: int = 1000) -> Iterator[Any]:
    """Chromium through its driver, both Debian's."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--window-size={width},{height}"):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = shutil.which("chromedriver")
    if found is None:
        sys.exit("chromedriver is missing: apt-get install chromium chromium-driver")
    driver = webdriver.Chrome(options=options, service=Service(found))
    try:
        yield driver
    finally:
        driver.quit()


def address_of(base: str, page: str, *runs: str) -> str:
    query = f"?runs={quote(chr(10).join(runs), safe='')}" if runs else ""
    return f"{base}{page}{query}"


def opened(driver: Any, address: str, page: str) -> float:
    """Open a page; the seconds until it is drawn."""
    started = time.perf_counter()
    driver.get(address)
    try:
        wait(driver, lambda: driver.execute_script(_DRAWN, _NEEDED[page]), 30)
    except TimeoutException:
        picture(driver, "failed")
        raise AssertionError(f"{address} is not drawn: {complaints(driver)}") from None
    return time.perf_counter() - started


def wait(driver: Any, condition: Callable[[], Any], seconds: float = 15) -> Any:
    return WebDriverWait(driver, seconds, 0.02).until(lambda _: condition())


def picture(driver: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    driver.save_screenshot(str(PICTURES / f"{name}.png"))


def complaints(driver: Any) -> list[str]:
    """What the browser's console tells of errors."""
    return [row["message"] for row in driver.get_log("browser") if row["level"] == "SEVERE"]


# --- checks --------------------------------------------------------------------------------------


def check_times(driver: Any, base: str) -> None:
    """Every page is drawn in two seconds, with 100 trainings and a model of 1,020 modules."""
    names = [f"sweep/run{number:03}" for number in range(min(9, RUNS - 2))]
    slow = []
    opened(driver, base, "")  # scripts are in the browser's cache from now on, as in a second visit
    wait(driver, lambda: f"{RUNS} trainings" in driver.page_source, 60)
    for page in PAGES:
        chosen = ["large"] if page in ("distributions", "graph", "samples", "performance") else (
            ["large", *names] if page in ("scalars", "checks") else ["large", names[0]]
        )  # fmt: skip
        if page == "lineage":
            chosen = []
        target = address_of(base, page, *chosen)
        times = [opened(driver, target, page) for _ in range(3)]
        print(f"  {page or 'trainings':15} {min(times):.2f} s, slowest {max(times):.2f} s")
        time.sleep(0.5)
        picture(driver, f"{page or 'trainings'}-light")
        if min(times) > ALLOWED:
            slow.append(page)
    load = os.getloadavg()[0]
    if slow and load > 2 * (os.cpu_count() or 1):
        print(f"  over {ALLOWED} s: {slow}; not judged at a load of {load:.1f}")
    else:
        assert not slow, f"over {ALLOWED} s: {slow}"
    assert not complaints(driver)


def check_no_network(driver: Any, base: str) -> None:
    """All that a page loads comes from the server."""
    for page in PAGES:
        opened(driver, address_of(base, page, "sweep/run000", "sweep/run001"), page)
        names = driver.execute_script(
            "return performance.getEntriesByType('resource').map((entry) => entry.name)"
        )
        assert names and all(name.startswith((base, "data:", "blob:")) for name in names), names


def check_nothing_runs(driver: Any, base: str) -> None:
    """Hostile names and texts are shown as they are, in tooltips, too."""
    for page in PAGES:
        opened(driver, address_of(base, page, EVIL_NAME, "sweep/run000"), page)
        time.sleep(0.5)
        canvas = driver.find_elements(By.CSS_SELECTOR, "canvas")
        if canvas:
            webdriver.ActionChains(driver).move_to_element(canvas[0]).perform()
            time.sleep(0.3)
        assert "broken" not in driver.title, page
        assert not driver.find_elements(By.CSS_SELECTOR, "img[onerror]"), page
    opened(driver, address_of(base, "scalars", EVIL_NAME), "scalars")
    assert EVIL in texts(driver, ".insight-tag")
    picture(driver, "hostile-names")


def check_live(driver: Any, base: str, folder: Path) -> None:
    """A training that begins, and goes on, appears without a reload."""
    writer = SummaryWriter(str(folder / "growing"), flush_secs=1)
    own = RunFile(folder / "growing")
    writer.add_scalar("loss", 2.0, 1)
    writer.flush()
    opened(driver, address_of(base, ""), "")
    wait(driver, lambda: "growing" in driver.page_source)
    opened(driver, address_of(base, "scalars", "growing"), "scalars")
    for step in range(2, 40):
        writer.add_scalar("loss", 2.0 / step, step)
    writer.flush()
    wait(driver, lambda: "at step 39" in driver.page_source)
    picture(driver, "live")
    own.add("end", error="")
    own.close()
    writer.close()


def check_graph(driver: Any, base: str) -> None:
    """Modules open by a click and by Enter, and are found by name."""
    opened(driver, address_of(base, "graph", "large"), "graph")
    boxes = driver.find_elements(By.CSS_SELECTOR, "[data-box]")
    assert len(boxes) == LAYERS
    boxes[0].click()
    wait(driver, lambda: "layer0" in trail(driver))
    box = driver.find_elements(By.CSS_SELECTOR, "[data-box]")[0]
    driver.execute_script("arguments[0].focus()", box)
    webdriver.ActionChains(driver).send_keys(Keys.ENTER).perform()
    wait(driver, lambda: trail(driver)[-1] == "0")
    found = texts(driver, ".insight-graph text")
    assert "conv" in found and any("8x16x32x32" in text for text in found)
    picture(driver, "graph-module")
    driver.find_elements(By.CSS_SELECTOR, "nav[aria-label='open module'] button")[0].click()
    wait(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, "[data-box]")) == LAYERS)
    field = driver.find_element(By.CSS_SELECTOR, "input[aria-label='find a module']")
    field.send_keys("layer7/2/norm")
    wait(driver, lambda: "1 found" in driver.page_source)


def trail(driver: Any) -> list[str]:
    return texts(driver, "nav[aria-label='open module'] button")


def texts(driver: Any, selector: str) -> list[str]:
    """Those of all elements that fit, at one moment."""
    script = "return [...document.querySelectorAll(arguments[0])].map((x) => x.textContent.trim())"
    return list(driver.execute_script(script, selector))


def check_keyboard(driver: Any, base: str) -> None:
    """All of a page is reached by Tab, with a mark at what has the focus; links go by Enter."""
    opened(driver, address_of(base, "scalars", "sweep/run000"), "scalars")
    seen = []
    for _ in range(30):
        webdriver.ActionChains(driver).send_keys(Keys.TAB).perform()
        seen.append(driver.execute_script(
            "const e = document.activeElement, near = e.closest('[aria-label]');"
            "return [e.tagName, e.textContent.trim().slice(0, 40), near && near.ariaLabel || '']"
        ))  # fmt: skip
    words = [" ".join(each) for each in seen]
    for wanted in ("Skip to the content", "Distributions", "theme", "trainings", "smoothing",
                   "minutes", "filter"):  # fmt: skip
        assert any(wanted in each for each in words), (wanted, words)
    opened(driver, address_of(base, "scalars", "sweep/run000"), "scalars")
    for _ in range(30):
        webdriver.ActionChains(driver).send_keys(Keys.TAB).perform()
        if driver.execute_script("return document.activeElement.textContent.includes('Lineage')"):
            break
    style = "return getComputedStyle(document.activeElement).outlineStyle"
    assert driver.execute_script(style) == "solid"
    webdriver.ActionChains(driver).send_keys(Keys.ENTER).perform()
    wait(driver, lambda: driver.title.startswith("Lineage"))
    unnamed = driver.execute_script(
        "return [...document.querySelectorAll('button, a, input')].filter((e) =>"
        " e.offsetParent !== null && !(e.getAttribute('aria-label') || e.textContent.trim() ||"
        " e.closest('label') || e.title)).map((e) => e.outerHTML.slice(0, 200))"
    )
    assert not unnamed, unnamed


def check_dark(driver: Any, base: str) -> None:
    """The button changes the theme of page and charts, for all pages."""
    opened(driver, address_of(base, "scalars", "sweep/run000", "sweep/run001"), "scalars")
    driver.find_element(By.CSS_SELECTOR, "button[aria-label='dark theme']").click()
    wait(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "body.body--dark"))
    for page in PAGES:
        opened(driver, address_of(base, page, "sweep/run000", "sweep/run001"), page)
        assert driver.find_elements(By.CSS_SELECTOR, "body.body--dark")
        time.sleep(0.5)
        picture(driver, f"{page or 'trainings'}-dark")
    driver.find_element(By.CSS_SELECTOR, "button[aria-label='light theme']").click()
    wait(driver, lambda: not driver.find_elements(By.CSS_SELECTOR, "body.body--dark"))


def check_controls(driver: Any, base: str) -> None:
    """Filters, smoothing, and the choice of trainings, which is kept in the address."""
    opened(driver, address_of(base, "scalars", "sweep/run000", "sweep/run001"), "scalars")
    driver.find_element(By.CSS_SELECTOR, "input[aria-label='filter']").send_keys("accu")
    wait(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, ".insight-card")) == 1)
    slider = driver.find_element(By.CSS_SELECTOR, "[aria-label='smoothing'] [tabindex]")
    slider.send_keys(Keys.HOME)
    driver.find_element(By.CSS_SELECTOR, ".q-chip__icon--remove").click()
    wait(driver, lambda: "run000" not in driver.current_url)
    wait(driver, lambda: "sweep/run001" in driver.find_element(By.CSS_SELECTOR,
                                                               ".insight-card").text)  # fmt: skip
    assert "run000" not in driver.find_element(By.CSS_SELECTOR, ".insight-card").text
    link = driver.find_element(By.CSS_SELECTOR, "a[href^='./lineage']").get_attribute("href")
    assert "run001" in link and "run000" not in link
    opened(driver, address_of(base, ""), "")
    for box in driver.find_elements(By.CSS_SELECTOR, "tbody [role=checkbox]")[:2]:
        box.click()
    driver.find_element(By.XPATH, "//button[contains(., 'Compare of those')]").click()
    wait(driver, lambda: driver.title.startswith("Compare"))
    wait(driver, lambda: "settings differ" in driver.page_source)


def check_token(driver: Any, folder: Path) -> None:
    """With a token and a prefix: the address that is printed opens the pages, others nothing."""
    with served(folder, "--token", "sesame-open", "--url-path-prefix", "/some/where") as printed:
        place = printed.partition("?")[0]
        driver.get(place)
        assert "printed" in driver.page_source
        opened(driver, printed, "")
        assert "token" not in driver.current_url
        driver.find_element(By.CSS_SELECTOR, "a[href^='./scalars']").click()
        wait(driver, lambda: driver.execute_script(_DRAWN, _NEEDED["scalars"]))
        assert re.match(r"http://127.0.0.1:\d+/some/where/scalars", driver.current_url)


def check_small(base: str) -> None:
    """On a narrow window the menu gives way and nothing is cut off."""
    with browser(500, 900) as driver:
        opened(driver, address_of(base, "scalars", "sweep/run000"), "scalars")
        wide = "return document.documentElement.scrollWidth - window.innerWidth"
        assert driver.execute_script(wide) <= 1
        picture(driver, "narrow")


def main() -> None:
    """Run all checks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_trainings(folder)
        print(f"{RUNS} trainings are made")
        with served(folder) as base, browser() as driver:
            check_times(driver, base)
            for check in (check_no_network, check_nothing_runs, check_graph, check_keyboard,
                          check_dark, check_controls):  # fmt: skip
                check(driver, base)
                print(f"  {check.__name__[6:].replace('_', ' ')}: good")
            check_live(driver, base, folder)
            check_token(driver, folder)
            check_small(base)
            print("  live, token and prefix, narrow window: good")
    print(f"screenshots: {PICTURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
