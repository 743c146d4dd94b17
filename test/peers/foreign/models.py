"""Tiny models of a few families and their experts, by transformers, for merges that other programs make."""

import os
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_num_threads(1)

SIZES = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4)
SIZES.update(num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
MIXTURE = dict(num_experts=4, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=24)
FAMILIES = {
    "llama": ("llama", dict(tie_word_embeddings=False)),
    "llama-tied": ("llama", dict(tie_word_embeddings=True)),
    "mistral": ("mistral", {}),
    "qwen2": ("qwen2", dict(tie_word_embeddings=True)),
    "qwen3": ("qwen3", dict(head_dim=8)),
    "gemma2": ("gemma2", dict(head_dim=8)),
    "gemma3": ("gemma3_text", dict(head_dim=8)),
    "phi3": ("phi3", {}),
    "mixtral": ("mixtral", MIXTURE),
    "qwen3-moe": ("qwen3_moe", dict(MIXTURE, head_dim=8, tie_word_embeddings=False)),
}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def model(family, seed=0):
    """In float32. Biases and norms are as random as trained ones; initial models have 0 and 1 there."""
    kind, more = FAMILIES[family]
    torch.manual_seed(2410 + seed)
    made = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **{**SIZES, **more})).float()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return made


def changed(made, seed, size=0.004):
    """Adds a change to every parameter, as full fine-tuning does."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * size)
    return made


def save(made, path, dtype=torch.bfloat16, **more):
    made.to(dtype).save_pretrained(path, **more)


def load(path, dtype=torch.float32):
    return AutoModelForCausalLM.from_pretrained(path, dtype=dtype)


def group(root, family, dtype="bf16", seed=0):
    """The folder of a base and its experts `a`, `b` and `c`, made once."""
    at = os.path.join(root, "models", f"{family}-{dtype}-{seed}")
    if not os.path.exists(at):
        save(model(family, seed), f"{at}/base", DTYPES[dtype])
        for number, name in enumerate("abc", start=1):
            save(changed(model(family, seed), 100 * seed + number), f"{at}/{name}", DTYPES[dtype])
    return at


def add_tokenizer(path, words):
    vocabulary = {word: index for index, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", *words])}
    made = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    names = dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    PreTrainedTokenizerFast(tokenizer_object=made, **names).save_pretrained(path)


def tensors(path):
    made = {}
    for file in sorted(os.listdir(path)):
        if file.endswith(".safetensors"):
            made.update(load_file(os.path.join(path, file)))
    return made


def write(made, like, path):
    """Write one file of these tensors, with the configuration of `like`."""
    os.makedirs(path, exist_ok=True)
    for name in ("config.json", "generation_config.json"):
        if like != path and os.path.exists(os.path.join(like, name)):
            with open(os.path.join(like, name)) as file, open(os.path.join(path, name), "w") as out:
                out.write(file.read())
    save_file({name: tensor.contiguous() for name, tensor in made.items()}, os.path.join(path, "model.safetensors"),
              metadata={"format": "pt"})
