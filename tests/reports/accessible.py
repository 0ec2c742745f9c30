"""axe-core on a page in a browser: the script comes with a package, so no network is needed."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

GRAVE = ("serious", "critical")


def faults(page: Page) -> list[str]:
    """Return axe's serious and critical findings, each with the elements that have it."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['impact']}: {each['help']}: {[node['target'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in GRAVE
    ]
