"""Collects each model's largest error, stores it in build/reports/model_errors.json and prints the table."""

import json
import pathlib
from collections.abc import Callable

import pytest

REPORT = pathlib.Path(__file__).resolve().parents[2] / "build" / "reports" / "model_errors.json"
PROPERTY = "model_errors"


@pytest.fixture
def tell_errors(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Takes the name of a model, and by shape its errors and the bars that they may not be above."""

    def tell(name: str, errors: dict[str, float], bars: dict[str, float]) -> None:
        worst = max(errors, key=lambda shape: errors[shape] / bars[shape])
        found = {"name": name, "largest": errors[worst], "at": worst, "bar": bars[worst], "all": errors}
        record_property(PROPERTY, found)

    return tell


def pytest_terminal_summary(terminalreporter) -> None:
    """Of what this process ran or, with xdist, its workers did: reports carry properties of tests."""
    reports = [each for several in terminalreporter.stats.values() for each in several]
    told = [value for each in reports for key, value in getattr(each, "user_properties", ()) if key == PROPERTY]
    errors = {one["name"]: {key: one[key] for key in ("largest", "at", "bar", "all")} for one in told}
    if not errors:
        return
    known = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(known | errors, indent=2, allow_nan=True) + "\n")
    terminalreporter.section("largest error per model, beside what it may be")
    for name, error in sorted(errors.items()):
        terminalreporter.write_line(f"{name:30}{error['largest']:10.1e} of {error['bar']:.1e}   at {error['at']}")
    terminalreporter.write_line(f"written to {REPORT}")
