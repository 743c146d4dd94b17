#!/usr/bin/env python3
"""Fisher merging by fusion-bench, and importances by an independent formula.

fisher.py models DIR              saves small Llamas, DIR/a, DIR/b and DIR/c, with a tokenizer of words, and rows of each.
fisher.py merge JSON              merges `models` by `importances` with fusion-bench's `merging_with_fisher_weights`;
                                  prints how many elements of `out` differ, and by how much.
fisher.py head DIR IMPORTANCES    compares importances of lm_head with (p − y)hᵀ, squared and averaged by NumPy;
                                  and those of the other tensors with gradients of transformers' own loss.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

WORDS = [f"w{index}" for index in range(48)]


def models(root):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = {"<unk>": 0, **{word: index + 1 for index, word in enumerate(WORDS)}, "<s>": len(WORDS) + 1}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", words["<s>"])])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>")
    random = np.random.default_rng(34)
    for seed, name in enumerate(("a", "b", "c")):
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, tie_word_embeddings=False, initializer_range=0.2,
        )
        LlamaForCausalLM(config).save_pretrained(root / name)
        # Only this model has a chat template.
        fast.chat_template = "<s>{% for message in messages %}{{ message.content }}{% endfor %}" if name == "b" else None
        fast.save_pretrained(root / name)
        # No row contains the last words, so their embeddings get no importance.
        rows = [{"text": " ".join(random.choice(WORDS[:40], size=length))} for length in (2, 5, 9, 30)]
        (root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def merge(check):
    from fusion_bench.method.fisher_merging.fisher_merging import merging_with_fisher_weights

    tensors = [load_file(Path(model) / "model.safetensors") for model in check["models"]]
    importances = [load_file(file) for file in check["importances"]]
    merged = merging_with_fisher_weights(
        models_to_merge_param_dict={name: [one[name].float() for one in tensors] for name in tensors[0]},
        models_to_merge_fisher_weights_list=[{name: one[name] for name in tensors[0]} for one in importances],
        fisher_scaling_coefficients=torch.tensor(check["scales"], dtype=torch.float32),
        normalize_fisher_weight=check["normalize"],
        minimal_fisher_weight=check["eps"],
    )
    ours = load_file(Path(check["out"]) / "model.safetensors")
    assert ours.keys() == merged.keys()
    elements, differing, most = 0, 0, 0.0
    for name, theirs in merged.items():
        distance = (ours[name].double() - theirs.double()).abs()
        largest = torch.stack([one[name].double().abs() for one in tensors]).amax(dim=0)
        elements += distance.numel()
        differing += int((distance > 0).sum())
        most = max(most, float((distance / largest.clamp(min=1e-30)).max()))
    print(json.dumps({"elements": elements, "differing": differing, "most": most}))


def head(root, file):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    found = load_file(file)
    model = AutoModelForCausalLM.from_pretrained(root, dtype=torch.float64)
    tokenizer = AutoTokenizer.from_pretrained(root)
    rows = [json.loads(line)["text"] for line in Path(f"{root}.jsonl").read_text().splitlines()]
    squares = np.zeros(model.lm_head.weight.shape)
    others = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for row in rows:
        ids = tokenizer(row, return_tensors="pt")["input_ids"]
        output = model(ids, labels=ids, output_hidden_states=True)
        logits, hidden = output.logits[0, :-1].detach().numpy(), output.hidden_states[-1][0, :-1].detach().numpy()
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(p)), ids[0, 1:].numpy()] -= 1
        squares += (p.T @ hidden) ** 2
        # transformers' loss is the mean over the predicted tokens.
        gradients = torch.autograd.grad(output.loss * (ids.shape[1] - 1), list(model.parameters()))
        for (name, _), gradient in zip(model.named_parameters(), gradients):
            others[name] += gradient**2

    def apart(got, want):
        return float((got.double() - want / len(rows)).abs().max() / (want / len(rows)).max())

    print(json.dumps({
        "head": apart(found["lm_head.weight"], torch.from_numpy(squares)),
        "others": max(apart(found[name], want) for name, want in others.items()),
        "tensors": sorted(found) == sorted(others),
        "unseen": float(found["model.embed_tokens.weight"][41 : len(WORDS) + 1].abs().max()),
        "least": min(float(tensor.min()) for tensor in found.values()),
    }))


if __name__ == "__main__":
    command, *given = sys.argv[1:]
    if command == "models":
        models(Path(given[0]))
    elif command == "merge":
        merge(json.loads(given[0]))
    else:
        head(*given)
