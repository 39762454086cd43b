"""A model whose file a benchmark has written."""

import dataclasses
import pathlib

from zoo import Model


@dataclasses.dataclass(frozen=True)
class Stored(Model):
    """A model whose file has been made already."""

    file: pathlib.Path = pathlib.Path()

    @property
    def path(self) -> pathlib.Path:
        return self.file
