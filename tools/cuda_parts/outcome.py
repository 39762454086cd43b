"""What a part says at its end: a line, and below it what failed."""

import dataclasses

OK, FAULT, LATE, LEFT_OUT = "ok", "FAULT", "TOO LONG", "left out"


@dataclasses.dataclass
class Outcome:
    """Of one part. `failures`: names and first messages; `late`: names of what was not over when its time was.
    `notes`: figures and reasons, line by line."""

    name: str
    verdict: str
    passed: int = 0
    ran: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    late: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def line(self) -> str:
        beside = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.verdict:<8} {self.name:<10} passed {self.passed} of {self.ran}{beside}, {self.seconds:.0f} s"

    def lines(self, most: int) -> list[str]:
        """The line, the notes, and so many of the failures."""
        told = [f"    {name}: {message}"[:400] for name, message in self.failures[:most]]
        if len(self.failures) > most:
            told.append(f"    … and {len(self.failures) - most} more")
        if self.late:
            beyond = f" and {len(self.late) - most} more" if len(self.late) > most else ""
            told.append(f"    not over in time: {', '.join(self.late[:most])}{beyond}")
        return [self.line(), *(f"    {note}" for note in self.notes), *told]


def verdict_of(passed: int, failures: list[tuple[str, str]], late: list[str] | tuple[str, ...] = ()) -> str:
    """A part in which nothing passed has shown nothing."""
    if failures or (passed == 0 and not late):
        return FAULT
    return LATE if late else OK
