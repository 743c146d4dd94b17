"""Merges of trained models by layerloom."""

import subprocess
from pathlib import Path

# Merged models, and the trained ones that each is made from.
MERGES = {
    "swap": ("math", "language"),
    "soup": ("math", "language"),
    "train-then-revert": ("math", "language"),
    "freeze-then-train": ("math-frozen", "language-frozen"),
}


class Layerloom:
    """Runs layerloom with the zones of this experiment: the language has `bottom` and `top` layers."""

    def __init__(self, command: str, base: Path, bottom: int, top: int):
        self.command, self.base = command.split(), base
        self.zones = ("--bottom", str(bottom), "--top", str(top))

    def run(self, *words) -> None:
        command = [*self.command, *map(str, words), "--quiet"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr.strip()}")

    def partition(self, out: Path) -> Path:
        """Bottom and top layers and what is outside the layers are the language's, the middle is the task's."""
        self.run("partition", self.base, *self.zones, "--others", "language", "--force", "-o", out)
        return out

    def merge(self, merge: str, math: str | Path, language: str | Path, out: Path) -> Path:
        """Writes a merge. One of an interrupted run is replaced: `--force` replaces what layerloom wrote, and nothing else."""
        if merge == "soup":
            self.run("soup", math, language, "--force", "-o", out)
        else:
            # Takes the language's part from the language's model and the task's from the task's, as reverting both to
            # their parts and adding them does. Plain layer swapping averages what is outside the layers instead.
            others = () if merge == "swap" else ("--others", "language")
            self.run("swap", "--task", math, "--lang", language, *self.zones, *others, "--force", "-o", out)
        return out

    def revert_to_middle(self, math: str | Path, out: Path) -> Path:
        self.run("revert", math, "--base", self.base, *self.zones, "--others", "revert", "--force", "-o", out)
        return out

    def analyze(self, math: str | Path, language: str | Path, out: Path) -> Path:
        self.run("analyze", "--base", self.base, f"math={math}", f"language={language}", "-o", out)
        return out
