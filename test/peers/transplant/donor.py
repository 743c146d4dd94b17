"""Makes a small donor: donor.py MGSM OUT STEPS TEXT...

A byte-level BPE tokenizer of 6,000 tokens and a llama of two layers with an untied head. Trained on the first
200 problems of MGSM in English, Japanese and Swahili and on the texts.
"""

import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

mgsm, out, steps = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
texts = [
    line.split("\t")[0]
    for language in ("en", "ja", "sw")
    for line in (mgsm / f"mgsm_{language}.tsv").read_text("utf8").splitlines()[:200]
]
texts += [part for file in sys.argv[4:] for part in Path(file).read_text("utf8").split("\n\n") if part.strip()]

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=6000,
    special_tokens=["<s>", "</s>", "<tool>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(texts, trainer)
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")

torch.manual_seed(7)
config = LlamaConfig(
    vocab_size=len(fast),
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=4,
    bos_token_id=fast.bos_token_id,
    eos_token_id=fast.eos_token_id,
    tie_word_embeddings=False,
)
model = LlamaForCausalLM(config)
optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
ids = [token for text in texts for token in [0, *fast(text)["input_ids"], 1]]
rng = random.Random(7)
for step in range(steps):
    starts = [rng.randrange(len(ids) - 128) for _ in range(16)]
    batch = torch.tensor([ids[start : start + 128] for start in starts])
    loss = model(input_ids=batch, labels=batch).loss
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    if step % 100 == 0:
        print(step, round(loss.item(), 3), file=sys.stderr, flush=True)
model.to(torch.bfloat16).save_pretrained(out)
fast.save_pretrained(out)
print(len(ids), "tokens", file=sys.stderr)
