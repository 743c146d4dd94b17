"""A program that mypy and pyright check: what they must refuse is marked, and a mark that is not needed is refused."""

from typing import assert_type

import layerloom
from layerloom.results import MergeResult, PrintedExplanation, PrintedPlan, TensorComparison


def merges(out: str, dry_run: bool) -> None:
    merged = layerloom.swap(task="./math-1", lang="./swh-1", bottom=5, out=out)
    assert_type(merged, MergeResult)
    assert_type([shard["file"] for shard in merged["shards"]], list[str])
    assert_type(layerloom.swap(task="./math-1", lang="./swh-1", dry_run=True), PrintedPlan)
    assert_type(layerloom.merge("recipe.yaml", explain="lm_head.weight"), PrintedExplanation)
    either = layerloom.soup(["./math-1", "./swh-1"], out=out, dry_run=dry_run)
    print(either["warnings"])
    assert_type(layerloom.diff("./math-1", "./merged")["tensors"], list[TensorComparison])


def refused() -> None:
    layerloom.swap(task="./math-1", lang="./swh-1", botom=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    layerloom.swap(task="./math-1", lang="./swh-1", others="avrage")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    layerloom.diff("./math-1", "./merged")["nothing"]  # type: ignore[typeddict-item]  # pyright: ignore[reportGeneralTypeIssues]


async def coroutines() -> None:
    assert_type(await layerloom.aio.soup(["./math-1", "./swh-1"], out="./soup"), MergeResult)
    assert_type(await layerloom.aio.relayout("./math-1", dry_run=True), PrintedPlan)


def failures() -> str:
    try:
        layerloom.revert("./math-1", base="./base", out="./reverted")
    except layerloom.EngineEnded:
        return "again"
    except layerloom.LayerloomError as error:
        return error.code
    finally:
        layerloom.close()
    return ""
