"""Modular training of a small model: math in English and Japanese prose, full and LoRA, by every modular method.

Results are JSON lines in WORK/results.jsonl; a run that was stopped goes on where it was. See README.md.
"""

import argparse
import json
import shutil
import subprocess
import time
from pathlib import Path

import torch
from layerloom_train import read_partition
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from data import batches, load_texts
from score import score
from train import RUNS, add_delta, load_model, train

SETS = ("language", "math-en", "math-ja")
# Merged models: the two experts they are made from. How, is in merge().
MERGES = {
    "swap": ("math", "language"),
    "soup": ("math", "language"),
    "train-then-revert": ("math", "language"),
    "freeze-then-train": ("math-frozen", "language-frozen"),
}
# Trained models, and the sets each is scored on.
TRAINED = {
    "math": SETS, "language": SETS, "mixed": SETS, "simultaneous": SETS,
    "math-frozen": ("math-en",), "language-frozen": ("language",),
}
ALPHAS = (0.25, 0.5, 0.75, 1.25, 1.5)


class Run:
    def __init__(self, options: argparse.Namespace):
        self.work, self.options = options.work, options
        self.work.mkdir(parents=True, exist_ok=True)
        self.results = self.work / "results.jsonl"
        self.done = set()
        if self.results.exists():
            self.done = {self.key(json.loads(line)) for line in self.results.read_text().splitlines()}
        self.base = self.work / "base"
        if not (self.base / "config.json").exists():
            AutoModelForCausalLM.from_pretrained(options.base, dtype=torch.float32).save_pretrained(self.base)
            AutoTokenizer.from_pretrained(options.base).save_pretrained(self.base)
        self.tokenizer = AutoTokenizer.from_pretrained(self.base)
        self.layers = json.loads((self.base / "config.json").read_text())["num_hidden_layers"]
        self.bottom, self.top = (int(count * self.layers / 32 + 0.5) for count in (5, 2))
        self.texts = load_texts(options.language, options.mgsm, options.scored)
        self.partition = read_partition(self.write_partition())

    @staticmethod
    def key(result: dict) -> tuple:
        return tuple(result[name] for name in ("kind", "seed", "form", "model"))

    def write_partition(self) -> Path:
        """Bottom and top layers, and what is outside the layers, are the language's; the middle is the task's."""
        path, parts = self.work / "partition.json", {"language": [], "task": []}
        for name, _ in load_model(self.base).named_parameters():
            words = name.split(".")
            layer = int(words[words.index("layers") + 1]) if "layers" in words else -1
            parts["task" if self.bottom <= layer < self.layers - self.top else "language"].append(name)
        path.write_text(json.dumps({"parts": parts}, indent=2))
        return path

    def record(self, kind: str, seed: int, form: str, model: str, make) -> None:
        """Writes one line of results, unless it is there from an earlier run."""
        if (kind, seed, form, model) in self.done:
            return
        started = time.time()
        result = {"kind": kind, "seed": seed, "form": form, "model": model, **make()}
        result.setdefault("seconds", round(time.time() - started, 1))
        with open(self.results, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(time.strftime("%H:%M:%S"), kind, seed, form, model, result["seconds"], "s", flush=True)

    def scores(self, model, sets=SETS) -> dict:
        return {name: score(model, self.tokenizer, self.texts.score[name]) for name in sets}

    def score_directory(self, directory: Path, sets=SETS) -> dict:
        model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
        return {"scores": self.scores(model, sets)}

    def seed(self, seed: int, form: str) -> None:
        out = self.work / f"seed-{seed}" / form
        out.mkdir(parents=True, exist_ok=True)
        data = {
            source: batches(self.texts.train[source], seed, source, self.options.steps, self.options.batch)
            for source in ("math", "language")
        }
        whole = out / "whole"  # full checkpoints, deleted when the seed is done
        def wanted(kind, model):
            return (kind, seed, form, model) not in self.done

        def expert(run: str) -> Path:
            """A trained run as a full checkpoint in float32."""
            directory = whole / run
            if not (directory / "config.json").exists():
                self.write_whole(out, run, form, directory)
            return directory

        for run in ("math", "language", "math-frozen", "language-frozen", "mixed", "simultaneous"):
            self.record("train", seed, form, run, lambda run=run: train(
                run, form, seed, self.base, self.tokenizer, self.partition, data, out))
            if wanted("score", run):
                self.record("score", seed, form, run, lambda run=run: self.score_directory(expert(run), TRAINED[run]))
            for merge, experts in MERGES.items():
                if experts[1] == run and wanted("score", merge):
                    self.record("score", seed, form, merge, lambda merge=merge, experts=experts: self.score_directory(
                        self.merge(merge, *[expert(name) for name in experts], whole / merge)))
                    shutil.rmtree(whole / merge, ignore_errors=True)
            if run == "language":
                self.record("overlap", seed, form, "math+language", lambda: self.overlap(
                    expert("math"), expert("language"), out / "analysis"))
                self.linearity(seed, form, expert)
                self.record("score", seed, form, "math-reverted", lambda: self.score_directory(
                    self.revert(expert("math"), whole / "math-reverted"), ("math-en",)))
        shutil.rmtree(whole, ignore_errors=True)

    def write_whole(self, out: Path, run: str, form: str, directory: Path) -> None:
        if form == "full":
            model = load_model(self.base, out / f"{run}.delta.safetensors")
        else:
            from peft import PeftModel

            model = PeftModel.from_pretrained(load_model(self.base), out / run).merge_and_unload()
        model.save_pretrained(directory)
        self.tokenizer.save_pretrained(directory)

    def layerloom(self, *words) -> None:
        command = [*self.options.layerloom.split(), *map(str, words), "--quiet"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")

    def merge(self, merge: str, math: Path, language: Path, out: Path) -> Path:
        shutil.rmtree(out, ignore_errors=True)
        zones = ("--bottom", self.bottom, "--top", self.top)
        experts = ("--task", math, "--lang", language)
        if merge == "soup":
            self.layerloom("soup", math, language, "-o", out)
        elif merge == "swap":
            self.layerloom("swap", *experts, *zones, "-o", out)
        else:
            # Both experts hold the base outside their own part, or lose what they have there: disjoint parts add up.
            self.layerloom("swap", *experts, *zones, "--others", "language", "-o", out)
        return out

    def revert(self, math: Path, out: Path) -> Path:
        self.layerloom("revert", math, "--base", self.base, "--bottom", self.bottom, "--top", self.top, "--others", "revert", "-o", out)
        return out

    def overlap(self, math: Path, language: Path, out: Path) -> dict:
        """Rows of largest MAV of both experts: how many are the same, and how many would be by chance."""
        shutil.rmtree(out, ignore_errors=True)
        self.layerloom("analyze", "--base", self.base, f"math={math}", f"language={language}", "-o", out)
        rows = {name: load_file(out / f"{name}.mav.safetensors") for name in ("math", "language")}
        shared = {}
        layered = sorted(name for name in rows["math"] if ".layers." in name and rows["math"][name].numel() > 1)
        for percent in (1, 5, 10):
            both = chosen = 0
            for name in layered:
                count = max(1, round(rows["math"][name].numel() * percent / 100))
                tops = [set(rows[e][name].flatten().topk(count).indices.tolist()) for e in ("math", "language")]
                both, chosen = both + len(tops[0] & tops[1]), chosen + count
            shared[str(percent)] = both / chosen
        where = {}
        for name, tensors in rows.items():
            middle = [t.double().mean().item() for n, t in tensors.items() if ".layers." in n and self.is_middle(n)]
            edges = [t.double().mean().item() for n, t in tensors.items() if ".layers." in n and not self.is_middle(n)]
            where[name] = {"middle": sum(middle) / len(middle), "edges": sum(edges) / len(edges)}
        return {"shared": shared, "meanMav": where}

    def is_middle(self, name: str) -> bool:
        return self.bottom <= int(name.split(".layers.")[1].split(".")[0]) < self.layers - self.top

    @torch.no_grad()
    def linearity(self, seed: int, form: str, expert) -> None:
        """Scores base + α·δ of each expert on its own texts, and base + δ_math + δ_language on all."""
        sets = {"math": ("math-en",), "language": ("language",)}
        wanted = [(e, a) for e in sets for a in ALPHAS if ("linearity", seed, form, f"{e}*{a}") not in self.done]
        if not wanted and ("linearity", seed, form, "math+language") in self.done:
            return
        model = load_model(self.base)
        original = {name: p.clone() for name, p in model.named_parameters()}
        changes = {}
        for name in sets:
            changed = dict(AutoModelForCausalLM.from_pretrained(expert(name), dtype=torch.float32).named_parameters())
            changes[name] = {n: p.detach() - original[n] for n, p in changed.items()}

        def at(*terms) -> object:
            for name, p in model.named_parameters():
                p.copy_(original[name])
            for name, factor in terms:
                add_delta(model, changes[name], factor)
            return model

        for name, alpha in wanted:
            self.record("linearity", seed, form, f"{name}*{alpha}", lambda name=name, alpha=alpha: {
                "scores": self.scores(at((name, alpha)), sets[name])})
        self.record("linearity", seed, form, "math+language", lambda: {
            "scores": self.scores(at(("math", 1.0), ("language", 1.0)))})


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="model to train, as transformers loads it")
    parser.add_argument("--language", type=Path, nargs="+", required=True, help="Japanese prose: .txt files or Debian packages")
    parser.add_argument("--mgsm", type=Path, required=True, help="directory with mgsm_en.tsv and mgsm_ja.tsv")
    parser.add_argument("--work", type=Path, default=Path("work"), help="directory for results, deltas and adapters")
    parser.add_argument("--seeds", type=int, default=3, help="seeds 1 to this one")
    parser.add_argument("--forms", nargs="+", choices=("full", "lora"), default=["full", "lora"], help="full fine-tuning, LoRA")
    parser.add_argument("--steps", type=int, default=24, help="optimizer steps on each of the two data sets")
    parser.add_argument("--batch", type=int, default=4, help="texts in a step")
    parser.add_argument("--scored", type=int, default=30, help="texts scored of each kind")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layerloom", default="npx layerloom", help="command that runs layerloom")
    return parser.parse_args()


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    run = Run(options)
    settings = {"steps": options.steps, "batch": options.batch, "scored": options.scored}
    run.record("setting", 0, "base", "base", lambda: {**settings, "bottom": run.bottom, "top": run.top, "layers": run.layers})
    run.record("score", 0, "base", "base", lambda: run.score_directory(run.base))
    for seed in range(1, options.seeds + 1):
        for form in options.forms:
            run.seed(seed, form)


if __name__ == "__main__":
    main()
