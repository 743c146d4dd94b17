#!/usr/bin/env python3
"""Small models by transformers, and GGUF files as the gguf package dequantises them.

gguf.py make BASE DIR          makes models of six families in DIR, with BASE's tokenizer, or one of sentencepiece.
gguf.py values FILE DIR        compares a checkpoint in float32 with the values of a GGUF file, bit for bit.
gguf.py same CHECKPOINT DIR    compares a checkpoint in float32 with the one it was converted from, widened.
"""

import json
import shutil
import sys
from pathlib import Path

# This directory has a file with the package's name.
sys.path.pop(0)

import gguf
import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FAMILIES = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"]


def write_sentencepiece(out):
    import sentencepiece

    text = out / "text.txt"
    text.write_text("".join(f"{a} {b} {c}\n" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwxyz"))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(out / "tokenizer"),
        vocab_size=320,
        hard_vocab_limit=False,
        byte_fallback=True,
        pad_id=0,
        eos_id=1,
        bos_id=2,
        unk_id=3,
        minloglevel=2,
    )
    text.unlink()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(out / "tokenizer.model"))
    (out / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>"}))
    return processor.get_piece_size()


def make(base, root):
    for index, family in enumerate(FAMILIES):
        torch.manual_seed(index)
        out = Path(root) / family
        out.mkdir(parents=True)
        if family.startswith("gemma"):
            vocabulary = write_sentencepiece(out)
        else:
            vocabulary = json.loads((Path(base) / "config.json").read_text())["vocab_size"]
            for name in ["tokenizer.json", "tokenizer_config.json"]:
                shutil.copy(Path(base) / name, out / name)
        config = CONFIG_MAPPING[family](
            vocab_size=vocabulary,
            hidden_size=256,
            intermediate_size=512,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=64,
            max_position_embeddings=512,
            tie_word_embeddings=index % 2 == 1 or family.startswith("gemma"),
            bos_token_id=2,
            eos_token_id=1,
            pad_token_id=0,
        )
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.05)
        model.save_pretrained(out)
        if family == "qwen2":
            # For its own type transformers makes another tokenizer, which the converter does not know.
            config = json.loads((out / "config.json").read_text())
            (out / "config.json").write_text(json.dumps({**config, "model_type": "llama"}))
    print(json.dumps(FAMILIES))


def read(directory):
    tensors = {}
    for file in sorted(Path(directory).glob("*.safetensors")):
        tensors.update(load_file(file))
    return tensors


def bits_differ(ours, theirs):
    theirs = np.ascontiguousarray(theirs, dtype=np.float32)
    if ours.dtype != torch.float32 or tuple(ours.shape) != theirs.shape:
        return True
    return not np.array_equal(ours.numpy().view(np.uint32), theirs.view(np.uint32))


def values(file, directory):
    reader = gguf.GGUFReader(file)
    architecture = reader.fields["general.architecture"].contents()
    heads = reader.fields[f"{architecture}.attention.head_count"].contents()
    of_keys = reader.fields[f"{architecture}.attention.head_count_kv"].contents()
    arch = next(key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    names = gguf.get_tensor_name_map(arch, 2 if len(reader.tensors) < 60 else 30)
    processor = LlamaTensorProcessor({"num_attention_heads": heads, "num_key_value_heads": of_keys})
    stored = {tensor.name: tensor for tensor in reader.tensors}
    wrong, types = [], set()
    for name, ours in read(directory).items():
        module, part = name.rsplit(".", 1)
        tensor = stored.pop(f"{names.get_name(module)}.{part}", None)
        if tensor is None:
            wrong.append(f"{name} is not in the file")
            continue
        types.add(tensor.tensor_type.name)
        theirs = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(reversed(tensor.shape.tolist())))
        if architecture == "llama":
            theirs = processor.process(theirs, tensor.name).weights
        if architecture.startswith("gemma") and tensor.name.endswith("norm.weight"):
            theirs = theirs - np.float32(1)
        if bits_differ(ours, theirs):
            wrong.append(name)
    print(json.dumps({"wrong": wrong, "unread": sorted(stored), "types": sorted(types)}))


def same(checkpoint, directory):
    ours = read(directory)
    wrong = []
    for name, tensor in read(checkpoint).items():
        widened = tensor.float().numpy()
        # The converter added 1 to norms of Gemma, which rounds.
        if name.endswith("norm.weight"):
            if np.abs(ours[name].numpy() - widened).max() > 2**-23:
                wrong.append(name)
        elif bits_differ(ours[name], widened):
            wrong.append(name)
    print(json.dumps({"wrong": wrong}))


if __name__ == "__main__":
    {"make": make, "values": values, "same": same}[sys.argv[1]](*sys.argv[2:])
