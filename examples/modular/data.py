"""Texts to train on and texts to score, never the same: every row has its side by a hash of its content."""

import csv
import gzip
import hashlib
import io
import lzma
import random
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

HELD_OUT = 0.4  # share of rows that are scored and never trained on
CHUNK = 60  # characters of a Japanese passage
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@dataclass(frozen=True)
class Text:
    """A prompt and what follows it. Prose has an empty prompt. `row` names the row of data it was made from."""

    row: str
    prompt: str
    answer: str


@dataclass(frozen=True)
class Texts:
    train: dict[str, list[Text]]
    score: dict[str, list[Text]]


def held_out(row: str) -> bool:
    return int(hashlib.sha256(row.encode()).hexdigest()[:8], 16) / 2**32 < HELD_OUT


def read_debian_texts(path: Path) -> str:
    """Plain texts in a Debian package: an ar archive with a data.tar.xz inside."""
    content = path.read_bytes()
    if content[:8] != b"!<arch>\n":
        raise SystemExit(f"{path} is not a Debian package")
    place, texts = 8, []
    while place + 60 <= len(content):
        name, size = content[place : place + 16].decode().strip(" /"), int(content[place + 48 : place + 58])
        if name == "data.tar.xz":
            packed = lzma.decompress(content[place + 60 : place + 60 + size])
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                for member in archive:
                    if member.isfile() and member.name.endswith((".ja.txt", ".ja.txt.gz")):
                        found = archive.extractfile(member).read()
                        texts.append((gzip.decompress(found) if member.name.endswith(".gz") else found).decode("utf8"))
        place += 60 + size + size % 2
    if not texts:
        raise SystemExit(f"{path} holds no file named *.ja.txt or *.ja.txt.gz")
    return "\n\n".join(texts)


def passages(text: str) -> list[str]:
    """Passages of about CHUNK characters that end with a sentence, mostly Japanese, without repetition."""
    found: dict[str, None] = {}
    for paragraph in re.split(r"\n\s*\n", text):
        joined = re.sub(r"(?<=[\u3000-\u9fff])\s+(?=[\u3000-\u9fff])", "", " ".join(paragraph.split()))
        passage = ""
        for sentence in re.findall(r"[^。]+。", joined):
            passage += sentence.strip()
            if len(passage) >= CHUNK:
                if len(passage) <= 2 * CHUNK and len(JAPANESE.findall(passage)) > len(passage) / 2:
                    found[passage] = None
                passage = ""
    return list(found)


def generated_problem(rng: random.Random) -> tuple[str, str]:
    """An arithmetic problem in English with its working."""
    a, b, c = rng.randint(2, 99), rng.randint(2, 99), rng.randint(2, 9)
    name, thing = rng.choice(["Ana", "Ben", "Kofi", "Mei", "Omar"]), rng.choice(["apples", "books", "coins", "pens"])
    kind = rng.randrange(3)
    if kind == 0:
        return f"What is ({a} + {b}) * {c}?", f"{a} + {b} = {a + b}. {a + b} * {c} = {(a + b) * c}. The answer is {(a + b) * c}."
    if kind == 1:
        total = a + b * c
        return (
            f"{name} has {a} {thing} and buys {b} boxes with {c} {thing} each. How many {thing} does {name} have now?",
            f"{b} * {c} = {b * c}. {a} + {b * c} = {total}. The answer is {total}.",
        )
    return (
        f"{name} had {a + b} {thing} and gave {b} away. Each of the others costs {c} dollars. What are they worth in dollars?",
        f"{a + b} - {b} = {a}. {a} * {c} = {a * c}. The answer is {a * c}.",
    )


def read_mgsm(directory: Path, language: str) -> list[tuple[str, str]]:
    path = directory / f"mgsm_{language}.tsv"
    if not path.exists():
        raise SystemExit(f"{path} is missing: see the README for where MGSM comes from")
    with open(path, encoding="utf8", newline="") as file:
        rows = [tuple(row) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    if len(rows) != 250:
        raise SystemExit(f"{path} has {len(rows)} rows, not MGSM's 250")
    return rows


def load_texts(language_files: list[Path], mgsm: Path, scored: int) -> Texts:
    """All texts. A problem of MGSM has one side in both languages: translations of trained rows are not scored either."""
    prose = passages("\n\n".join(
        read_debian_texts(path) if path.suffix == ".deb" else path.read_text(encoding="utf8") for path in language_files
    ))
    english, japanese = read_mgsm(mgsm, "en"), read_mgsm(mgsm, "ja")
    rng = random.Random(0)
    problems = {question: answer for question, answer in (generated_problem(rng) for _ in range(600))}

    mathematics = [Text(f"mgsm:{i}", f"Question: {q}\nAnswer:", f" {a}") for i, (q, a) in enumerate(english)]
    generated = [Text(f"generated:{q}", f"Question: {q}\nAnswer:", f" {a}") for q, a in problems.items()]
    target = [Text(f"mgsm:{i}", f"問題: {q}\n答え:", f" {a}") for i, (q, a) in enumerate(japanese)]
    language = [Text(f"prose:{p}", "", p) for p in prose]

    def side(texts: list[Text], held: bool) -> list[Text]:
        return [text for text in texts if held_out(text.row) == held]

    texts = Texts(
        train={"math": side(mathematics, False) + side(generated, False)[:150], "language": side(language, False)},
        score={
            "language": side(language, True)[:scored],
            "math-en": side(mathematics, True)[: scored // 2] + side(generated, True)[: scored - scored // 2],
            "math-ja": side(target, True)[: scored * 2 // 3],
        },
    )
    trained = {text.row for rows in texts.train.values() for text in rows}
    leaked = trained & {text.row for rows in texts.score.values() for text in rows}
    if leaked:
        raise RuntimeError(f"rows both trained on and scored: {sorted(leaked)[:3]}")
    for name, rows in {**texts.train, **texts.score}.items():
        if not rows:
            raise SystemExit(f"no texts for {name}: give more with --language")
    return texts


def batches(rows: list[Text], seed: int, name: str, steps: int, size: int) -> list[list[Text]]:
    """The batches of a part's data, the same for every method: whole rounds through the rows, each in a new order."""
    rng, order = random.Random(f"{seed}:{name}"), []
    while len(order) < steps * size:
        order += rng.sample(rows, len(rows))
    return [order[step * size : (step + 1) * size] for step in range(steps)]
