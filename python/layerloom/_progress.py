"""A tqdm bar for the progress of a call."""

from typing import Any


class Bar:
    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError("progress=True needs tqdm: pip install tqdm", name="tqdm") from missing
        self.new: Any = tqdm
        self.bar: Any = None
        self.phase = ""

    def __call__(self, progress: dict[str, Any]) -> None:
        phase = progress.get("phase")
        if phase is None:
            return
        if phase != self.phase:
            self.close()
            files = phase == "checksums"
            self.bar = self.new(total=progress["total"], desc=phase, unit="file" if files else "B", unit_scale=not files)
            self.phase = phase
        self.bar.total = progress["total"]
        self.bar.update(progress["done"] - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
