"""Byte perplexity of models in texts of two languages: score.py MGSM MODEL..., prints JSON.

The last 50 problems of MGSM in English and in Japanese, each text after the model's end-of-text token and by
its own tokenizer: exp(sum of -log p of its tokens / its bytes).
"""

import json
import math
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

mgsm, models = Path(sys.argv[1]), sys.argv[2:]
torch.set_num_threads(1)
results = {}
for path in models:
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    found = {"rows": model.get_input_embeddings().weight.shape[0]}
    for language in ("en", "ja"):
        lines = (mgsm / f"mgsm_{language}.tsv").read_text("utf8").splitlines()[-50:]
        total = bytes_ = tokens = 0
        for line in lines:
            text = line.split("\t")[0]
            ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
            # Starts with the end-of-text token, so that every token of the text counts.
            begin = torch.tensor([[tokenizer.eos_token_id]])
            ids = torch.cat([begin, ids], dim=1)
            with torch.no_grad():
                logits = model(ids).logits[0, :-1].log_softmax(-1)
            total -= logits.gather(1, ids[0, 1:, None]).sum().item()
            bytes_ += len(text.encode())
            tokens += ids.shape[1] - 1
        found[language] = {"byte_perplexity": math.exp(total / bytes_), "bits_per_byte": total / bytes_ / math.log(2), "tokens": tokens}
    prompt = "Question: What is (12 + 30) * 2?\nAnswer:"
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
    out = model.generate(ids, max_new_tokens=30, do_sample=False, pad_token_id=tokenizer.eos_token_id)
    found["continues"] = tokenizer.decode(out[0, ids.shape[1] :])
    results[path] = found
print(json.dumps(results, ensure_ascii=False))
