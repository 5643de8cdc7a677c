"""Pages opened in a real browser."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from picture_tools import parsed

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

CHROMIUM = shutil.which("chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def open_browser() -> Iterator[Browser]:
    """Start a browser, for a fixture; skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


class Opened:
    """A page with everything that went wrong on it and everything that it asked for."""

    def __init__(self, browser: Browser, file: Path, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#pictures[data-shown]")
        self.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append(dialog.message)
        dialog.dismiss()

    def column(self, table: str, idx: int) -> list[str]:
        """The texts of a column."""
        found: list[str] = self.page.locator(f"{table} tbody tr td:nth-child({idx + 1})").all_inner_texts()
        return found

    def drawing(self, place: str) -> ET.Element:
        """What is drawn in a place, as the browser has it."""
        text = self.page.locator(f"#{place} svg").evaluate(
            "(svg) => new XMLSerializer().serializeToString(svg)"
        )
        return parsed(text)

    def choose(self, section: int, instance: int, solver: int) -> None:
        """Choose what is drawn."""
        for name, value in (("section", section), ("instance", instance), ("solver", solver)):
            self.page.select_option(f"#pick-{name}", str(value))
        self.page.wait_for_selector(f"#pictures[data-shown='{section} {instance} {solver}']")
