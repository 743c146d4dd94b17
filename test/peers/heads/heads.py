"""Makes small models with heads and towers, merges them by torch, and compares layerloom's merges.

usage: heads.py make DIR | compare DIR

`make` prints a line of JSON for each case: its name, recipe and models. `compare` reads DIR/CASE/ours and prints, for
each, the largest difference of weights and outputs, and the names that the loader misses or does not expect.
"""
import copy
import json
import re
import sys
from pathlib import Path

import torch
import transformers as tf
from safetensors.torch import load_file

tf.logging.set_verbosity_error()
tf.utils.logging.disable_progress_bar()

TEXT = dict(
    hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=160, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    rms_norm_eps=1e-6,
)  # fmt: skip
ENCODER = dict(
    hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=160,
    max_position_embeddings=64,
)  # fmt: skip
TOWER = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=16, patch_size=4)
MROPE = dict(rope_parameters=dict(rope_type="default", mrope_section=[1, 1, 2], rope_theta=10000.0))
QWEN_TOWER = dict(depth=1, hidden_size=32, intermediate_size=32, out_hidden_size=32, num_heads=4, patch_size=4)
SMALL_QWEN_TOWER = dict(depth=1, embed_dim=32, hidden_size=32, num_heads=4, patch_size=4, mlp_ratio=2)


def tuned(model, seed):
    """A fine-tuning: every parameter changed a little."""
    found = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    for _, parameter in sorted(found.named_parameters()):
        parameter.data += 0.02 * torch.randn(parameter.shape, generator=generator)
    return found


def body(model):
    """The language model or encoder within a model of any class."""
    inner = getattr(model, model.base_model_prefix, model)
    for name in ("language_model", "text_model"):
        inner = getattr(inner, name, inner)
    return inner


def on_base(model, base, seed):
    """A fine-tuning of another class on the same base."""
    body(model).load_state_dict(body(base).state_dict(), strict=False)
    heads = [getattr(one, "lm_head", None) for one in (model, base)]
    if None not in heads:
        heads[0].load_state_dict(heads[1].state_dict())
    return tuned(model, seed)


def multimodal():
    """Name, multimodal model and the class of its text model."""
    text = tf.LlamaConfig(**TEXT)
    clip = tf.CLIPVisionConfig(**TOWER)
    siglip = tf.SiglipVisionConfig(**TOWER)
    intern = tf.InternVLVisionConfig(**{**TOWER, "image_size": [16, 16], "patch_size": [4, 4]})
    qwen = {**TEXT, **MROPE}
    yield "qwen2-vl", tf.Qwen2VLForConditionalGeneration(
        tf.Qwen2VLConfig(text_config=qwen, vision_config=SMALL_QWEN_TOWER)
    ), tf.Qwen2ForCausalLM, tf.Qwen2Config(**TEXT)
    yield "qwen2.5-vl", tf.Qwen2_5_VLForConditionalGeneration(
        tf.Qwen2_5_VLConfig(text_config=qwen, vision_config=QWEN_TOWER)
    ), tf.Qwen2ForCausalLM, tf.Qwen2Config(**TEXT)
    yield "qwen3-vl", tf.Qwen3VLForConditionalGeneration(
        tf.Qwen3VLConfig(
            text_config={**qwen, "head_dim": 8}, vision_config={**QWEN_TOWER, "deepstack_visual_indexes": [0]}
        )
    ), tf.Qwen3ForCausalLM, tf.Qwen3Config(**TEXT, head_dim=8)
    yield "llava", tf.LlavaForConditionalGeneration(
        tf.LlavaConfig(text_config=text, vision_config=clip)
    ), tf.LlamaForCausalLM, text
    yield "llava-next", tf.LlavaNextForConditionalGeneration(
        tf.LlavaNextConfig(text_config=tf.MistralConfig(**TEXT), vision_config=clip)
    ), tf.MistralForCausalLM, tf.MistralConfig(**TEXT)
    yield "mistral3", tf.Mistral3ForConditionalGeneration(
        tf.Mistral3Config(text_config=tf.MistralConfig(**TEXT), vision_config=tf.PixtralVisionConfig(**TOWER))
    ), tf.MistralForCausalLM, tf.MistralConfig(**TEXT)
    gemma = tf.Gemma3TextConfig(**TEXT, head_dim=8)
    yield "gemma3", tf.Gemma3ForConditionalGeneration(
        tf.Gemma3Config(text_config=gemma, vision_config=siglip, mm_tokens_per_image=4)
    ), tf.Gemma3ForCausalLM, gemma
    yield "internvl", tf.InternVLForConditionalGeneration(
        tf.InternVLConfig(text_config=tf.Qwen2Config(**TEXT), vision_config=intern)
    ), tf.Qwen2ForCausalLM, tf.Qwen2Config(**TEXT)
    yield "idefics3", tf.Idefics3ForConditionalGeneration(
        tf.Idefics3Config(text_config=text, vision_config=TOWER)
    ), tf.LlamaForCausalLM, text


def cases():
    """Name, recipe, models by name (the first decides the class), and further arguments of saving the first."""
    soup = {"method": "soup"}
    llama = tf.LlamaForCausalLM(tf.LlamaConfig(**TEXT))
    language = tuned(llama, 1)
    reward = on_base(tf.LlamaForSequenceClassification(tf.LlamaConfig(**TEXT, num_labels=1)), llama, 2)
    second = tuned(reward, 3)
    labels = on_base(tf.LlamaForTokenClassification(tf.LlamaConfig(**TEXT, num_labels=5)), llama, 4)
    spans = on_base(tf.LlamaForQuestionAnswering(tf.LlamaConfig(**TEXT)), llama, 5)
    yield "reward, language", soup, [reward, language]
    yield "language, reward", soup, [language, reward]
    yield "reward, language by swap", {"method": "layer_swap", "bottom": 1, "top": 1}, [reward, language]
    yield "rewards on a language model", {"method": "task_arithmetic", "lambda": 0.5}, [reward, second, llama]
    yield "labels, language", soup, [labels, language]
    yield "labels, reward", soup, [labels, reward]
    yield "spans, language", soup, [spans, language]
    yield "language, spans", soup, [language, spans]
    bert = tf.BertModel(tf.BertConfig(**ENCODER))
    masked = on_base(tf.BertForMaskedLM(tf.BertConfig(**ENCODER)), bert, 11)
    ner = on_base(tf.BertForTokenClassification(tf.BertConfig(**ENCODER, num_labels=5)), bert, 12)
    answers = on_base(tf.BertForQuestionAnswering(tf.BertConfig(**ENCODER)), bert, 13)
    classes = on_base(tf.BertForSequenceClassification(tf.BertConfig(**ENCODER, num_labels=5)), bert, 14)
    vectors = tuned(bert, 15)
    yield "NER, spans", soup, [ner, answers]
    yield "NER, classes of equal number", soup, [ner, classes]
    yield "spans, masked", soup, [answers, masked]
    yield "masked, vectors", soup, [masked, vectors]
    yield "vectors, NER", soup, [vectors, ner]
    qwen = tf.Qwen3ForCausalLM(tf.Qwen3Config(**TEXT, head_dim=8))
    embedder = on_base(tf.Qwen3Model(tf.Qwen3Config(**TEXT, head_dim=8)), qwen, 21)
    yield "embedder, language", soup, [embedder, tuned(qwen, 22)]
    yield "language, embedder", soup, [tuned(qwen, 22), embedder]
    for index, (name, model, cls, config) in enumerate(multimodal()):
        config.tie_word_embeddings = bool(model.config.tie_word_embeddings)
        text = on_base(cls(config), model, 100 + index)
        seen = tuned(model, 200 + index)
        yield f"{name}, text", soup, [seen, text]
        yield f"{name} in the names of memory, text", soup, [seen, text], {"save_original_format": False}
        yield f"text, {name}", soup, [text, seen]
    yield f"{name}, text by swap", {"method": "layer_swap", "bottom": 1, "top": 1}, [seen, text]
    models = {name: model for name, model, *_ in multimodal()}
    other = tf.LlavaForConditionalGeneration(
        tf.LlavaConfig(text_config=tf.LlamaConfig(**TEXT), vision_config=tf.SiglipVisionConfig(**TOWER))
    )
    models["llava of SigLIP"] = other
    pairs = [("qwen2-vl", "qwen2.5-vl"), ("llava", "idefics3"), ("llava", "llava of SigLIP")]
    for index, (one, two) in enumerate(pairs):
        for a, b in ((one, two), (two, one)):
            first, second = models[a], on_base(copy.deepcopy(models[b]), models[a], 300 + index)
            for how, recipe in ("soup", soup), ("swap", {"method": "layer_swap", "bottom": 1, "top": 1}):
                yield f"{a}, {b} by {how}", recipe, [first, second]


def parts(model):
    """Parameters by a name that no class or version changes."""
    inner = body(model)
    prefix = next((name for name, one in model.named_modules() if one is inner), "")
    found = {}
    for name, tensor in model.state_dict().items():
        short = name.removeprefix(f"{prefix}.") if name.startswith(prefix) else name
        found[f"body {short}" if short != name or prefix == "" else f"{type(model).__name__} {name}"] = tensor
    if getattr(model, "lm_head", None) is not None:
        found["body lm_head.weight"] = model.lm_head.weight
    return found


def expected(recipe, models):
    """The first model with merged parameters; what another class lacks stays."""
    merged = copy.deepcopy(models[0])
    towers = [getattr(model.config, "vision_config", None) for model in models]
    alike = None in towers or towers[0].model_type == towers[1].model_type
    found = [parts(model) for model in models]
    layers = TEXT["num_hidden_layers"]
    with torch.no_grad():
        for name, tensor in parts(merged).items():
            values = [one[name].float() for one in found if name in one]
            if not (alike or name.startswith("body ")):
                continue
            if len(values) < len(models) or not tensor.is_floating_point():
                continue
            if recipe["method"] == "soup":
                tensor.copy_(sum(values) / len(values))
            elif recipe["method"] == "task_arithmetic":
                base = values[-1]
                tensor.copy_(base + 0.5 * sum(one - base for one in values[:-1]))
            else:
                number = re.match(r"body layers\.(\d+)\.", name)
                layer = None if number is None else int(number[1])
                task = layer is not None and 1 <= layer < layers - 1
                tensor.copy_(values[0] if task else values[1] if layer is not None else (values[0] + values[1]) / 2)
    return merged


def answers(model):
    ids = torch.arange(3, 15).reshape(2, 6)
    with torch.no_grad():
        out = model.eval()(input_ids=ids, attention_mask=torch.ones_like(ids))
    values = [value for value in out.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    return torch.cat([value.flatten() for value in values])


def make(work):
    torch.manual_seed(0)
    for name, recipe, models, *kwargs in cases():
        folder = work / name
        paths = []
        for index, model in enumerate(models):
            paths.append(str(folder / f"m{index}"))
            model.save_pretrained(paths[-1], **(kwargs[0] if kwargs and index == 0 else {}))
        torch.save(expected(recipe, models), folder / "expected.pt")
        if recipe["method"] == "layer_swap":
            recipe = {**recipe, "task": paths[0], "language": paths[1]}
        elif recipe["method"] == "task_arithmetic":
            recipe = {**recipe, "models": paths[:-1], "base": paths[-1], "weights": [1, 1]}
        else:
            recipe = {**recipe, "models": paths}
        print(json.dumps({"name": name, "recipe": recipe}))


def compare(work):
    for folder in sorted(work.iterdir()):
        merged = torch.load(folder / "expected.pt", weights_only=False)
        loaded, info = type(merged).from_pretrained(folder / "ours", output_loading_info=True)
        wanted, found = merged.state_dict(), loaded.state_dict()
        weights = max(float((found[key].float() - value.float()).abs().max()) for key, value in wanted.items())
        outputs = float((answers(loaded) - answers(merged)).abs().max())
        wrong = [key for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for key in info[kind]]
        print(json.dumps({"name": folder.name, "weights": weights, "outputs": outputs, "wrong": sorted(map(str, wrong))}))


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
