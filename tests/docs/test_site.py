"""The pages that `make docs` makes a site of: each one of the menu is there, and links lead to pages."""

import importlib.machinery
import importlib.util
import pathlib
import re
import types

import pytest
from test_pages import BUILD, ROOT


@pytest.fixture(scope="module")
def maker() -> types.ModuleType:
    path = ROOT / "tools" / "docs_site"
    loader = importlib.machinery.SourceFileLoader("docs_site", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs_site", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(maker: types.ModuleType, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    maker.stage(BUILD.resolve(), folder)
    return folder


def test_the_menu_has_every_page_and_no_other(maker: types.ModuleType, pages: pathlib.Path) -> None:
    listed = {page for entries in maker.PAGES.values() for _, page in entries}
    assert listed == {file.name for file in pages.glob("*.md")}


def test_links_lead_to_pages_of_the_site(pages: pathlib.Path) -> None:
    seen = 0
    for file in pages.rglob("*.md"):
        for target in re.findall(r"\[[^\]]+\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", file.read_text(), flags=re.S)):
            path = target.partition("#")[0]
            if path and not re.match("[a-z]+:", target):
                assert (file.parent / path).exists(), f"{file.name}: {target}"
                seen += 1
    assert seen > 100


def test_tables_are_the_programs(maker: types.ModuleType, pages: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "| `TENON_THREADS` | " in (pages / "KNOBS.md").read_text()
    calls = [line for line in maker.program(BUILD, "api").splitlines() if "::" in line]
    assert all(f"- `{call}`" in (pages / "API.md").read_text() for call in calls)
    monkeypatch.setattr(maker, "program", lambda *words: "IBuilder::build\n1 calls answer")
    assert maker.missing_calls(BUILD).endswith(
        "These 1 calls of the API say `… is not implemented` and fail.\n\n- `IBuilder::build`\n"
    )
    monkeypatch.setattr(maker, "program", lambda *words: "0 calls answer")
    assert "None: each call of the API is there" in maker.missing_calls(BUILD)
