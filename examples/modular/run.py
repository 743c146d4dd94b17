"""Modular training of a small model: math in English and Japanese prose, full and LoRA, by every modular method.

Results are JSON lines in WORK/results.jsonl; a run that was stopped goes on where it was. See README.md.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import torch
from layerloom_train import read_partition
from transformers import AutoModelForCausalLM, AutoTokenizer

from data import batches, load_texts
from merges import MERGES, Layerloom
from overlap import overlap
from score import score
from train import add_delta, load_model, train, trained_model

SETS = ("language", "math-en", "math-ja")
# Trained models in their order, and the sets each is scored on. Frozen ones know one side only.
TRAINED = {
    "math": SETS,
    "language": SETS,
    "math-frozen": ("math-en",),
    "language-frozen": ("language",),
    "mixed": SETS,
    "simultaneous": SETS,
}
OWN_TEXTS = {"math": "math-en", "language": "language"}
ALPHAS = (0.25, 0.5, 0.75, 1.25, 1.5)


class Run:
    def __init__(self, options: argparse.Namespace):
        self.work, self.options = options.work, options
        self.work.mkdir(parents=True, exist_ok=True)
        self.results = self.work / "results.jsonl"
        lines = self.results.read_text().splitlines() if self.results.exists() else []
        self.done = {}
        for line in lines:
            result = json.loads(line)
            self.done[key(result)] = result
        self.base = self.work / "base"
        if not (self.base / "config.json").exists():
            AutoTokenizer.from_pretrained(options.base).save_pretrained(self.base)
            AutoModelForCausalLM.from_pretrained(options.base, dtype=torch.float32).save_pretrained(self.base)
        self.tokenizer = AutoTokenizer.from_pretrained(self.base)
        self.layers = json.loads((self.base / "config.json").read_text())["num_hidden_layers"]
        self.bottom, self.top = (int(count * self.layers / 32 + 0.5) for count in (5, 2))
        self.layerloom = Layerloom(options.layerloom, self.base, self.bottom, self.top)
        self.texts = load_texts(options.language, options.mgsm, options.scored)
        self.partition = read_partition(self.layerloom.partition(self.work / "partition.json"))

    def record(self, kind: str, seed: int, form: str, model: str, make) -> None:
        """Writes one line of results, unless it is there from an earlier run."""
        if (kind, seed, form, model) in self.done:
            return
        started = time.time()
        result = {"kind": kind, "seed": seed, "form": form, "model": model, **make()}
        result["seconds"] = round(time.time() - started, 1)
        with open(self.results, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(time.strftime("%H:%M:%S"), kind, seed, form, model, result["seconds"], "s", flush=True)

    def scores(self, model, sets=SETS) -> dict:
        return {"scores": {name: score(model, self.tokenizer, self.texts.score[name]) for name in sets}}

    def one_seed(self, seed: int, form: str) -> None:
        out = self.work / f"seed-{seed}" / form
        whole = out / "whole"  # full checkpoints and merged models
        whole.mkdir(parents=True, exist_ok=True)
        made: list[Path] = []  # those that this run wrote, which it removes once all is scored
        data = {
            source: batches(self.texts.train[source], seed, source, self.options.steps, self.options.batch)
            for source in ("math", "language")
        }

        def trained(run: str):
            return trained_model(run, form, self.base, out)

        def expert(run: str) -> str | Path:
            """A trained model as layerloom takes it."""
            if form == "lora":
                return f"{self.base}+{out / run}"
            if not (whole / run).exists():
                # Under another name until it is whole, so that an interrupted run leaves no half of it to the next.
                growing = Path(tempfile.mkdtemp(prefix=f".{run}-", dir=whole))
                self.tokenizer.save_pretrained(growing)
                trained(run).save_pretrained(growing)
                growing.rename(whole / run)
                made.append(whole / run)
            return whole / run

        def score_merged(directory: Path, sets=SETS) -> dict:
            found = self.scores(load_model(directory), sets)
            shutil.rmtree(directory)
            return found

        for run, sets in TRAINED.items():
            self.record("train", seed, form, run, lambda run=run: train(
                run, form, seed, self.base, self.tokenizer, self.partition, data, out))
            self.record("score", seed, form, run, lambda run=run, sets=sets: self.scores(trained(run), sets))
            for merge, (math, language) in MERGES.items():
                if language == run:
                    self.record("score", seed, form, merge, lambda merge=merge, math=math, language=language: score_merged(
                        self.layerloom.merge(merge, expert(math), expert(language), whole / merge)))
            if run == "language":
                self.record("overlap", seed, form, "math+language", lambda: overlap(
                    self.layerloom.analyze(expert("math"), expert("language"), out / "analysis"),
                    self.bottom, self.top, self.layers))
                self.record("score", seed, form, "math-reverted", lambda: score_merged(
                    self.layerloom.revert_to_middle(expert("math"), whole / "math-reverted"), ("math-en",)))
                self.linearity(seed, form, trained)
        for directory in made:
            shutil.rmtree(directory)

    @torch.no_grad()
    def linearity(self, seed: int, form: str, trained) -> None:
        """Scores base + α·δ of each expert on its own texts, and base + δ_math + δ_language on all."""
        wanted = {f"{expert}*{alpha}": [(expert, alpha)] for expert in OWN_TEXTS for alpha in ALPHAS}
        wanted["math+language"] = [("math", 1.0), ("language", 1.0)]
        if all(("linearity", seed, form, name) in self.done for name in wanted):
            return
        model = load_model(self.base)
        original = {name: p.clone() for name, p in model.named_parameters()}
        changes = {
            expert: {name: p - original[name] for name, p in trained(expert).named_parameters()} for expert in OWN_TEXTS
        }
        for name, terms in wanted.items():
            for parameter, p in model.named_parameters():
                p.copy_(original[parameter])
            for expert, factor in terms:
                add_delta(model, changes[expert], factor)
            sets = SETS if len(terms) > 1 else (OWN_TEXTS[terms[0][0]],)
            self.record("linearity", seed, form, name, lambda sets=sets: self.scores(model, sets))


def key(result: dict) -> tuple:
    return tuple(result[name] for name in ("kind", "seed", "form", "model"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="model to train, as transformers loads it")
    parser.add_argument("--language", type=Path, nargs="+", required=True, help="Japanese prose: text files or Debian packages")
    parser.add_argument("--mgsm", type=Path, required=True, help="directory with mgsm_en.tsv and mgsm_ja.tsv")
    parser.add_argument("--work", type=Path, default=Path("work"), help="directory for results, deltas and adapters")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 1 to this one")
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
    settings = {"steps": options.steps, "batch": options.batch, "scored": options.scored, "layers": run.layers}
    for name, value in run.done.get(("setting", 0, "base", "base"), settings).items():
        if name in settings and value != settings[name]:
            raise SystemExit(f"{run.results} is of {name} {value}, not {settings[name]}: give another --work")
    run.record("setting", 0, "base", "base", lambda: {**settings, "bottom": run.bottom, "top": run.top})
    run.record("score", 0, "base", "base", lambda: run.scores(load_model(run.base)))
    for seed in range(1, options.seeds + 1):
        for form in options.forms:
            run.one_seed(seed, form)


if __name__ == "__main__":
    main()
