"""Collects each model's largest error, stores it in build/reports/model_errors.json and prints the table."""

import json
import pathlib

import pytest

REPORT = pathlib.Path(__file__).resolve().parents[2] / "build" / "reports" / "model_errors.json"
ERRORS = pytest.StashKey[dict]()


@pytest.fixture(scope="session")
def model_errors(pytestconfig: pytest.Config) -> dict[str, dict]:
    return pytestconfig.stash.setdefault(ERRORS, {})


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    errors = config.stash.get(ERRORS, {})
    if not errors:
        return
    known = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(known | errors, indent=2, allow_nan=True) + "\n")
    terminalreporter.section("largest error per model, as a share of max|b-b'| (bar 1.0e-03)")
    for name, error in errors.items():
        terminalreporter.write_line(f"{name:24}{error['largest']:10.1e}   at {error['at']}")
    terminalreporter.write_line(f"written to {REPORT}")
