"""A program that mypy and pyright check: what they must refuse is marked, and a mark that is not needed is refused."""

from typing import Any, assert_type

import layerloom
from layerloom.results import ExtractionResult, MergeResult, PrintedExplanation, PrintedPlan, TensorComparison, TruncatedProduct


def merges(out: str, dry_run: bool) -> None:
    merged = layerloom.swap(task="./math-1", lang="./swh-1", bottom=5, out=out)
    assert_type(merged, MergeResult)
    assert_type([shard["file"] for shard in merged["shards"]], list[str])
    assert_type([shard.file for shard in merged.shards], list[str])
    assert_type(merged.bytes_written, int)
    assert_type(merged["bytesWritten"], int)
    assert_type(merged.seconds, float)
    assert_type(merged.truncated, list[TruncatedProduct] | None)
    assert_type(merged.get("truncated"), list[TruncatedProduct] | None)
    assert_type(layerloom.swap(task="./math-1", lang="./swh-1", dry_run=True), PrintedPlan)
    assert_type(layerloom.merge("recipe.yaml", explain="lm_head.weight"), PrintedExplanation)
    either = layerloom.soup(["./math-1", "./swh-1"], out=out, dry_run=dry_run)
    assert_type(either, PrintedPlan | MergeResult)
    print(either["warnings"])
    assert_type(layerloom.diff("./math-1", "./merged")["tensors"], list[TensorComparison])


def in_memory(out: str | None, dry_run: bool, tensors: dict[str, Any]) -> None:
    merged = layerloom.swap(task="./math-1", lang=tensors, bottom=5)
    assert_type(merged, layerloom.Merged)
    assert_type(layerloom.soup([merged, layerloom.Model(tensors, config=merged.config)], out="./soup"), MergeResult)
    assert_type(layerloom.merge({"method": "soup", "models": [merged, "./swh-1"]}), layerloom.Merged)
    assert_type(layerloom.extract_lora(merged, base="./base", rank=8), layerloom.Merged)
    assert_type(layerloom.extract_lora("./math-1", base="./base", rank=8, out="./adapter"), ExtractionResult)
    assert_type(layerloom.relayout("./math-1", out=out), MergeResult | layerloom.Merged)
    assert_type(layerloom.relayout("./math-1", dry_run=dry_run), PrintedPlan | layerloom.Merged)
    models: list[layerloom.ModelLike] = ["./math-1", tensors]
    assert_type(layerloom.soup(models)["lm_head.weight"], Any)


def refused() -> None:
    layerloom.swap(task="./math-1", lang="./swh-1", botom=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    layerloom.swap(task="./math-1", lang="./swh-1", others="avrage")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    layerloom.swap(task=5, lang="./swh-1")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    layerloom.diff("./math-1", "./merged")["nothing"]  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    layerloom.diff("./math-1", "./merged").nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    layerloom.swap(task="./math-1", lang="./swh-1", threads=1.5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


async def coroutines() -> None:
    assert_type(await layerloom.aio.soup(["./math-1", "./swh-1"], out="./soup"), MergeResult)
    assert_type(await layerloom.aio.soup(["./math-1", "./swh-1"]), layerloom.Merged)
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


def settings() -> None:
    layerloom.evaluate("./math-1", tasks="arc_easy", set={"fewshot": 0, "data": "./rows"})
    layerloom.evaluate("./math-1", tasks="arc_easy", set=["fewshot=0"])
    layerloom.evaluate("./math-1", tasks="arc_easy", set=7)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
