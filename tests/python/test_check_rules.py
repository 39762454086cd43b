"""docs/PLUGINS has every check of the checking host, with the rules that its findings name."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAW = re.compile(r'Flaw k\w+\{\s*"([\w-]+)",\s*"(\w+)",\s*"(\w+)"')


def documented() -> dict[str, set[str]]:
    """Rules by check; a row of several checks has their rules apart from each other by `;`, or all alike."""
    text = (ROOT / "docs" / "PLUGINS.md").read_text()
    table = text.split("### What is checked")[1].split("## Tracing")[0]
    rules: dict[str, set[str]] = {}
    for line in table.splitlines():
        cells = [each.strip() for each in line.split("|")[1:-1]]
        if len(cells) != 3:
            continue
        checks = re.findall(r"`([\w-]+)`", cells[0])
        parts = cells[1].split(";")
        for i, check in enumerate(checks):
            part = parts[min(i, len(parts) - 1)]
            rules[check] = set(re.findall(r"\b[A-Z]{1,2}\d+\b", part))
    return rules


def test_every_check_stands_in_the_docs_with_its_rules() -> None:
    source = (ROOT / "src" / "plugins" / "check" / "flaws.h").read_text()
    flaws = FLAW.findall(source)
    assert len(flaws) == source.count("inline constexpr Flaw ") > 30, "each has a rule of either family"
    rules = documented()
    for check, of_v2, of_v3 in flaws:
        if check == "call-fails":  # Named by the callback.
            continue
        told = rules.get(check, set())
        assert told & {of_v2, of_v3}, (check, of_v2, of_v3, told)  # Some have objects of one family only.
        assert {each for each in (of_v2, of_v3) if each.startswith("PC")} <= told, (check, of_v2, of_v3, told)


def test_rules_of_the_checking_host_are_explained() -> None:
    text = (ROOT / "docs" / "PLUGINS.md").read_text()
    source = (ROOT / "src" / "plugins" / "check" / "flaws.h").read_text()
    explained = re.findall(r"^\| (PC\d+) \| [A-Z`]", text, re.MULTILINE)
    assert sorted(explained) == sorted(set(re.findall(r'"(PC\d+)"', source)))
