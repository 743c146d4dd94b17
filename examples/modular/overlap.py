"""Overlap of two experts' important parameters, from the tables that layerloom analyze writes."""

from pathlib import Path

from safetensors.torch import load_file

PERCENT = (1, 5, 10)


def overlap(analysis: Path, bottom: int, top: int, layers: int) -> dict:
    """Share of the rows of largest MAV, the top 1, 5 and 10 % of each tensor, that both experts have. Chance gives that percentage.

    Also each expert's mean MAV in the middle layers, and in the bottom and top ones.
    """
    rows = {name: load_file(analysis / f"{name}.mav.safetensors") for name in ("math", "language")}
    layered = sorted(name for name, row in rows["math"].items() if ".layers." in name and row.numel() > 1)
    shared = {}
    for percent in PERCENT:
        both = chosen = 0
        for name in layered:
            count = max(1, round(rows["math"][name].numel() * percent / 100))
            largest = [set(rows[expert][name].flatten().topk(count).indices.tolist()) for expert in rows]
            both, chosen = both + len(largest[0] & largest[1]), chosen + count
        shared[str(percent)] = both / chosen

    def is_middle(name: str) -> bool:
        return bottom <= int(name.split(".layers.")[1].split(".")[0]) < layers - top

    def mean(expert: str, middle: bool) -> float:
        means = [rows[expert][name].double().mean().item() for name in layered if is_middle(name) == middle]
        return sum(means) / len(means)

    return {
        "shared": shared,
        "meanMav": {expert: {"middle": mean(expert, True), "edges": mean(expert, False)} for expert in rows},
    }
