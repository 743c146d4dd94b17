"""Trains the models of the sampled study: tiny Llamas that solve some sums, and their data.

python models.py OUT

Sums of two numbers below 31 are asked in English and in Swahili, in words, and answered in digits. The base
has learned a little of both. Math experts go on with English sums, language experts with Swahili sentences and
a few sums. The scored sums occur in no training text, in either language or order. A minute on two cores.
"""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

out = Path(sys.argv[1])
torch.set_num_threads(1)

below, scored = 31, 50
ENGLISH = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen""".split()
SWAHILI = "sifuri moja mbili tatu nne tano sita saba nane tisa".split()


def english(number):
    tens = {2: "twenty", 3: "thirty"}
    if number < 20:
        return ENGLISH[number]
    return tens[number // 10] + (f" {ENGLISH[number % 10]}" if number % 10 else "")


def swahili(number):
    tens = {1: "kumi", 2: "ishirini", 3: "thelathini"}
    if number < 10:
        return SWAHILI[number]
    return tens[number // 10] + (f" na {SWAHILI[number % 10]}" if number % 10 else "")


def asked(a, b, language):
    if language == "english":
        return f"Question : {english(a)} plus {english(b)} ? Answer :"
    return f"Swali : {swahili(a)} kuongeza {swahili(b)} ? Jibu :"


def answered(a, b, language, draw):
    """The same answer in two wordings, so that drawn answers differ in more than their number."""
    forms = {"english": ("The sum is", "It is"), "swahili": ("Jumla ni", "Ni")}
    return f"{draw.choice(forms[language])} {a + b} ."


def sentence(draw):
    number = draw.randrange(below)
    return f"Swali : {swahili(number)} ? Jibu :", f"Ni {number} ."


pairs = [(a, b) for a in range(below) for b in range(a, below)]
random.Random(59).shuffle(pairs)
tested = pairs[:scored]
learned = [pair for a, b in pairs[scored:] for pair in {(a, b), (b, a)}]


def write_problems():
    for language in ("english", "swahili"):
        lines = [{"question": asked(a, b, language), "answer": str(a + b)} for a, b in tested]
        (out / f"{language}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def make_tokenizer():
    texts = [asked(a, b, of) for a in range(below) for b in range(below) for of in ("english", "swahili")]
    texts += ["The sum is It is Jumla ni Ni .", " ".join(map(str, range(2 * below)))]
    words = ["<pad>", "<s>", "</s>", "<unk>", *sorted({word for text in texts for word in text.split()})]
    inner = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    special = dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    return PreTrainedTokenizerFast(tokenizer_object=inner, clean_up_tokenization_spaces=False, **special)


def train(name, texts, seed, steps, rate, start=None):
    torch.manual_seed(seed)
    draw = random.Random(seed)
    model = LlamaForCausalLM.from_pretrained(start) if start else LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for _ in range(steps):
        drawn = [texts(draw) for _ in range(64)]
        whole = [f"{prompt} {answer} </s>" for prompt, answer in drawn]
        batch = tokenizer(whole, return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        for row, (prompt, _) in zip(labels, drawn):
            row[: len(prompt.split())] = -100
        loss = model(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    print(f"{name}: {steps} steps, loss {loss.item():.3f}", flush=True)
    model.save_pretrained(out / name)
    tokenizer.save_pretrained(out / name)


def sum_in(language):
    def text(draw):
        a, b = draw.choice(learned)
        return asked(a, b, language), answered(a, b, language, draw)

    return text


def mixed(*shares):
    def text(draw):
        (of,) = draw.choices([of for of, _ in shares], [share for _, share in shares])
        return of(draw)

    return text


out.mkdir(parents=True, exist_ok=True)
tokenizer = make_tokenizer()
config = LlamaConfig(
    vocab_size=len(tokenizer),
    hidden_size=64,
    intermediate_size=192,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    tie_word_embeddings=False,
)
write_problems()
both = mixed((sum_in("english"), 2), (sum_in("swahili"), 2), (sentence, 1))
train("base", both, 1, 1000, 2e-3)
for at in (1, 2):
    train(f"math-{at}", sum_in("english"), 10 + at, 200, 6e-4 * at, out / "base")
    train(f"swh-{at}", mixed((sentence, 3), (sum_in("swahili"), 1)), 20 + at, 200, 6e-4 * at, out / "base")
