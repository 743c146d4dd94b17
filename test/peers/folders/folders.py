"""Random folders of models, and their contents as loaded by transformers and PEFT.

    folders.py make DIR COUNT SEED    writes folders and DIR/cases.json: addresses, and the tensors that each means
    folders.py check DIR              reads DIR/outcomes.json and DIR/cases.json, and prints verdicts as JSON
"""

import contextlib
import copy
import functools
import io
import json
import os
import random
import shutil
import sys
import tempfile
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
# For tensors of some hundred numbers threads cost more than they save.
os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")
warnings.filterwarnings("ignore")

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)

SMALL = dict(vocab_size=24, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16)
WIDE = dict(**SMALL, num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def llava():
    text = dict(model_type="llama", **WIDE)
    vision = dict(model_type="clip_vision_model", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4, projection_dim=8)
    return transformers.LlavaConfig(text_config=text, vision_config=vision, image_token_index=3)


FAMILIES = {
    "llama": ("LlamaForCausalLM", lambda: transformers.LlamaConfig(**WIDE), "model."),
    "qwen2": ("Qwen2ForCausalLM", lambda: transformers.Qwen2Config(**WIDE), "model."),
    "gemma": ("GemmaForCausalLM", lambda: transformers.GemmaConfig(**WIDE, head_dim=4), "model."),
    "gpt2": ("GPT2LMHeadModel", lambda: transformers.GPT2Config(vocab_size=24, n_positions=16, n_embd=16, n_layer=2, n_head=4), "transformer."),
    "gpt_neox": ("GPTNeoXForCausalLM", lambda: transformers.GPTNeoXConfig(**SMALL), "gpt_neox."),
    "opt": ("OPTForCausalLM", lambda: transformers.OPTConfig(vocab_size=24, hidden_size=16, ffn_dim=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=16, word_embed_proj_dim=16), "model."),
    "bert": ("BertForMaskedLM", lambda: transformers.BertConfig(**SMALL), "bert."),
    "t5": ("T5ForConditionalGeneration", lambda: transformers.T5Config(vocab_size=24, d_model=16, d_kv=4, d_ff=24, num_layers=2, num_heads=4), None),
    "llava": ("LlavaForConditionalGeneration", llava, "model."),
}
WRAPPERS = ["_orig_mod.", "module.", "module._orig_mod.", "_fsdp_wrapped_module.", "base_model.model.", "_forward_module.", "module.module.", "_forward_module.module.", "_orig_mod._fsdp_wrapped_module.", "_module.", "policy.", "actor.module."]
TARGETS = {"gpt2": ["c_attn"], "gpt_neox": ["query_key_value"], "bert": ["query", "value"], "t5": ["q", "v"]}


@functools.cache
def build(family, seed):
    """A model of random numbers, which callers must not change."""
    torch.manual_seed(seed)
    name, config, _ = FAMILIES[family]
    model = getattr(transformers, name)(config()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.1)
    return model


@functools.cache
def saved(family, seed, half):
    model = copy.deepcopy(build(family, seed))
    with tempfile.TemporaryDirectory() as place:
        (model.to(torch.bfloat16) if half else model).save_pretrained(place)
        with open(os.path.join(place, "config.json")) as file:
            return load_file(os.path.join(place, "model.safetensors")), file.read()


def loaded(place, family, adapter=None):
    """A folder as transformers, and for an adapter PEFT, loads it: tensors and missing keys, or None with the
    reason."""
    cls = getattr(transformers, FAMILIES[family][0])
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            model, info = cls.from_pretrained(place, output_loading_info=True)
            if adapter is not None:
                model = PeftModel.from_pretrained(model, adapter)
            if hasattr(model, "merge_and_unload"):
                model = model.merge_and_unload()
            elif getattr(model, "_hf_peft_config_loaded", False):
                model = PeftModel(model, list(model.peft_config.values())[0]).merge_and_unload()
    except Exception as error:
        return None, [str(error)[:200]]
    return {key: value.clone() for key, value in model.state_dict().items()}, sorted(info["missing_keys"]) + sorted(map(str, info["mismatched_keys"]))


def json_at(path, **changes):
    with open(path) as file:
        value = json.load(file)
    for key, one in changes.items():
        if one is None:
            value.pop(key, None)
        else:
            value[key] = one
    with open(path, "w") as file:
        json.dump(value, file)


def untied_head(state, family):
    return next((key for key in ("lm_head.weight", "cls.predictions.decoder.weight", "language_model.lm_head.weight") if key in state), "lm_head.weight")


class Folder:

    def __init__(self, root, index, seed, shared):
        self.random = random.Random(seed)
        self.root, self.index, self.shared = root, index, shared
        self.path = os.path.join(root, str(index))
        self.cases = []
        self.notes = []

    def choose(self, **weights):
        name = self.random.choices(list(weights), list(weights.values()))[0]
        self.notes.append(name)
        return name

    def case(self, address, tensors, ignored=(), partner=None):
        expected = None
        if tensors is not None:
            expected = os.path.join(self.root, f"{self.index}-{len(self.cases)}.expected")
            save_file({key: value.contiguous().clone() for key, value in tensors.items()}, expected)
        self.cases.append({"folder": self.index, "family": self.family, "address": address, "expected": expected, "ignored": list(ignored), "notes": self.notes})

    def make(self):
        pick = self.random
        self.family = self.choose(llama=8, qwen2=2, gemma=2, gpt2=4, gpt_neox=1, opt=1, bert=2, t5=1, llava=2)
        half = pick.random() < 0.3
        state, text = saved(self.family, pick.randrange(4), half)
        with open(os.path.join(self.path, "config.json"), "w") as file:
            file.write(text)
        config = os.path.join(self.path, "config.json")
        state = self.tie(state, config)
        kind = self.choose(plain=12, beside=3, settings=1, factors=1, below=1, state=4, bare=1)
        if self.family in ("llava", "t5", "opt") or half:
            kind = "plain"
        plain, truth = state, None
        if kind in ("state", "bare"):
            state, truth = self.peft_state(self.truth(state, config), kind)
        state = self.spell(state)
        state, wrapped = self.wrap(state)
        if truth is None and (wrapped or kind == "beside"):
            truth = self.truth(plain, config)
        self.lay_out(state, config)
        if kind == "beside":
            return self.beside(truth)
        if kind == "settings":
            self.adapter(["adapter_config.json"])
        if kind == "factors":
            self.adapter(["adapter_model.safetensors"])
        if kind == "below":
            shutil.copytree(self.shared["adapters"][self.family], os.path.join(self.path, "other"))
        tensors, lacking = loaded(self.path, self.family)
        if kind == "settings":
            return self.case(self.path, None)
        if wrapped or kind in ("state", "bare"):
            # No loader accepts such names, but their meaning is known.
            return self.case(self.path, truth[0], truth[1])
        if tensors is None:
            return self.case(self.path, None)
        self.case(self.path, tensors, lacking)

    def tie(self, state, config):
        """States that the embeddings are tied, or not, or nothing, with or without a head."""
        with open(config) as file:
            value = json.load(file)
        flag = self.choose(said=4, denied=3, silent=2)
        place = value.get("text_config") if self.family == "llava" and self.random.random() < 0.5 else value
        for one in (value, value.get("text_config", {})):
            one.pop("tie_word_embeddings", None)
        if flag != "silent":
            place["tie_word_embeddings"] = flag == "said"
        with open(config, "w") as file:
            json.dump(value, file)
        embedding = next(key for key in state if key.endswith(("embed_tokens.weight", "wte.weight", "embed_in.weight", "word_embeddings.weight", "shared.weight")))
        name = {"bert": "cls.predictions.decoder.weight", "llava": "language_model.lm_head.weight", "gpt_neox": "embed_out.weight"}.get(self.family, "lm_head.weight")
        state = {key: tensor for key, tensor in state.items() if key not in (name, "lm_head.weight", "embed_out.weight")}
        head = self.choose(absent=4, equal=3, other=4, wider=1, longer=0.5, alone=0.5)
        whole = state[embedding]
        if head == "equal":
            state[name] = whole.clone()
        elif head == "other":
            state[name] = torch.randn(whole.shape).to(whole.dtype)
        elif head == "wider":
            state[name] = whole.float().clone() if self.random.random() < 0.5 else torch.randn(whole.shape)
        elif head == "longer":
            state[name] = torch.randn(whole.shape[0] + 2, whole.shape[1]).to(whole.dtype)
        elif head == "alone" and flag == "said":
            state[name] = state.pop(embedding)
        return state

    def truth(self, state, config):
        """The model that transformers loads from these tensors under plain names."""
        plain = os.path.join(self.root, "plain")
        shutil.rmtree(plain, ignore_errors=True)
        os.makedirs(plain)
        shutil.copy(config, plain)
        save_file(state, os.path.join(plain, "model.safetensors"), {"format": "pt"})
        return loaded(plain, self.family)

    def peft_state(self, truth, kind):
        tensors, lacking = truth
        cls = getattr(transformers, FAMILIES[self.family][0])
        if tensors is None or lacking:
            model = copy.deepcopy(build(self.family, 0))
        else:
            plain = os.path.join(self.root, "plain")
            model = cls.from_pretrained(plain)
        options = dict(r=2, lora_alpha=8, target_modules=TARGETS.get(self.family, ["q_proj", "v_proj"]))
        variant = self.choose(lora=3, rslora=1, dora=1, saved=1)
        if variant == "rslora":
            options["use_rslora"] = True
        if variant == "dora":
            options["use_dora"] = True
        if variant == "saved" and self.family in ("llama", "qwen2"):
            options["modules_to_save"] = ["norm"]
        peft = get_peft_model(model, LoraConfig(**options))
        seen = torch.Generator().manual_seed(self.index)
        with torch.no_grad():
            for name, parameter in peft.named_parameters():
                if "lora_" in name and "magnitude" not in name:
                    parameter.copy_(torch.randn(parameter.shape, generator=seen) * 0.3)
                elif "modules_to_save" in name:
                    parameter.mul_(1.5)
        state = {}
        seen = set()
        for name, tensor in peft.state_dict().items():
            if tensor.data_ptr() not in seen:
                state[name] = tensor.clone()
            seen.add(tensor.data_ptr())
        if kind == "state":
            peft.peft_config["default"].save_pretrained(self.path)
        merged = copy.deepcopy(peft).merge_and_unload()
        model.config.save_pretrained(self.path)
        json_at(os.path.join(self.path, "config.json"), architectures=[FAMILIES[self.family][0]])
        return state, ({key: value.clone() for key, value in merged.state_dict().items()}, [])

    def spell(self, state):
        prefix = FAMILIES[self.family][2]
        spelling = self.choose(own=5, bare=2, doubled=1, moved=1)
        if spelling == "doubled" and self.family in ("llava", "gpt_neox"):
            # transformers does not find the head under such names (gpt_neox: the output says so).
            return state
        if any(".base_layer." in key or key.startswith("base_model.") for key in state) or prefix is None:
            return state
        if spelling == "bare":
            return {key.removeprefix(prefix): tensor for key, tensor in state.items()}
        if spelling == "doubled":
            return {prefix + key: tensor for key, tensor in state.items()}
        if spelling == "moved" and self.family == "llava":
            return {key.replace("language_model.model.", "model.language_model.").replace("language_model.lm_head", "lm_head") if key.startswith("language_model.") else "model." + key: tensor for key, tensor in state.items()}
        return state

    def wrap(self, state):
        way = self.choose(none=7, all=2, blocks=1, inside=0.5, some=0.5, twice=0.5)
        if way == "none":
            return state, False
        wrapper = self.random.choice(WRAPPERS)
        if way == "all":
            return {wrapper + key: tensor for key, tensor in state.items()}, True
        inner = self.random.choice(["_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"])
        if way == "blocks":
            return {key.replace(".1.", f".1.{inner}.", 1): tensor for key, tensor in state.items()}, True
        if way == "inside":
            return {key.replace("model.", "model.module.", 1) if "model." in key else "module." + key: tensor for key, tensor in state.items()}, True
        if way == "some":
            return {(wrapper if self.random.random() < 0.5 else "") + key: tensor for key, tensor in state.items()}, True
        key = self.random.choice(list(state))
        return {**state, wrapper + key: state[key] + 1}, True

    def lay_out(self, state, config):
        def write(name, tensors):
            save_file(tensors, os.path.join(self.path, name), {"format": "pt"})

        def index(name, places):
            with open(os.path.join(self.path, name), "w") as file:
                json.dump({"metadata": {}, "weight_map": places}, file)

        way = self.choose(single=5, shards=3, stale=1, itself=1, mixed=0.7, lacking=0.3, torch=1, older=1, named=0.7)
        keys = sorted(state)
        halves = [keys[: len(keys) // 2], keys[len(keys) // 2 :]]
        names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        places = {key: name for name, half in zip(names, halves, strict=True) for key in half}
        safe = "model.safetensors.index.json"
        if way in ("shards", "lacking"):
            for name, half in zip(names, halves, strict=True):
                if way == "shards" or name == names[0]:
                    write(name, {key: state[key] for key in half})
            index(safe, places)
        elif way == "mixed":
            write("model.safetensors", {key: state[key] for key in halves[0]})
            write(names[1], {key: state[key] for key in halves[1]})
            index(safe, {key: "model.safetensors" if key in halves[0] else names[1] for key in keys})
        elif way == "torch":
            torch.save(state, os.path.join(self.path, "pytorch_model.bin"))
        elif way == "named":
            write("other.safetensors", state)
            json_at(config, transformers_weights="other.safetensors")
            if self.random.random() < 0.5:
                write("model.safetensors", {key: tensor + 1 for key, tensor in state.items()})
        else:
            write("model.safetensors", state)
            if way == "stale":
                index(safe, places)
            elif way == "itself":
                index(safe, {key: "model.safetensors" for key in keys})
            elif way == "older":
                torch.save({key: tensor + 1 for key, tensor in state.items()}, os.path.join(self.path, "pytorch_model.bin"))
        extra = self.choose(nothing=5, projector=1, consolidated=1, training=1)
        if extra == "projector":
            write("projector.safetensors", {"projector.weight": torch.ones(2, 2)})
        elif extra == "consolidated":
            write("consolidated.safetensors", {"tok_embeddings.weight": torch.ones(2, 2)})
        elif extra == "training":
            torch.save({"step": 1}, os.path.join(self.path, "optimizer.pt"))

    def adapter(self, files):
        for file in files:
            shutil.copy(os.path.join(self.shared["adapters"][self.family], file), self.path)

    def beside(self, truth):
        """A whole model and an adapter: loaders differ, so the path is refused, and each way to name one of
        them is a case."""
        alone, lacking = truth
        base = self.shared["bases"][self.family]
        self.adapter(["adapter_config.json", "adapter_model.safetensors"])
        named = self.choose(this=1, other=1, nothing=1)
        json_at(os.path.join(self.path, "adapter_config.json"), base_model_name_or_path={"this": self.path, "other": base}.get(named))
        self.case(self.path, None)
        self.cases[-1]["ways"] = True
        plain = os.path.join(self.root, f"{self.index}-alone")
        shutil.copytree(self.path, plain)
        for file in ("adapter_config.json", "adapter_model.safetensors"):
            os.remove(os.path.join(plain, file))
        tensors, lacking = loaded(plain, self.family)
        wrapped = self.notes[-4:] and any(note in ("all", "blocks", "inside", "some", "twice") for note in self.notes)
        if wrapped:
            tensors, lacking = alone, truth[1]
        entry = next((os.path.join(self.path, name) for name in self.entries() if os.path.exists(os.path.join(self.path, name))), None)
        # An index entry has only half of the model; no loader is asked for it under other names.
        if entry is not None and not (wrapped and "mixed" in self.notes):
            self.case(entry, tensors, lacking)
            with_adapter = (None, [])
            if tensors is not None and not wrapped:
                with_adapter = loaded(plain, self.family, self.shared["adapters"][self.family])
            if not wrapped:
                self.case(f"{entry}+{self.path}", with_adapter[0], lacking)
        other = loaded(base, self.family, self.shared["adapters"][self.family])
        self.case(f"{base}+{self.path}", other[0], other[1])
        shutil.rmtree(plain)

    def entries(self):
        with open(os.path.join(self.path, "config.json")) as file:
            named = json.load(file).get("transformers_weights")
        return [named] if named else ["model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"]


def share(root):
    shared = {"adapters": {}, "bases": {}}
    for family in FAMILIES:
        if family in ("llava", "t5", "opt"):
            continue
        base, place = os.path.join(root, f"base-{family}"), os.path.join(root, f"adapter-{family}")
        model = copy.deepcopy(build(family, 9))
        model.save_pretrained(base)
        peft = get_peft_model(model, LoraConfig(r=2, lora_alpha=8, target_modules=TARGETS.get(family, ["q_proj", "v_proj"])))
        with torch.no_grad():
            for name, parameter in peft.named_parameters():
                if "lora_" in name:
                    parameter.copy_(torch.randn(parameter.shape) * 0.3)
        peft.save_pretrained(place)
        json_at(os.path.join(place, "adapter_config.json"), base_model_name_or_path=base)
        shared["adapters"][family], shared["bases"][family] = place, base
    return shared


def make(root, count, seed):
    os.makedirs(root, exist_ok=True)
    with contextlib.redirect_stderr(io.StringIO()):
        shared = share(root)
        cases = []
        for index in range(count):
            folder = Folder(root, index, seed * 1_000_003 + index, shared)
            os.makedirs(folder.path)
            folder.make()
            cases += folder.cases
    with open(os.path.join(root, "cases.json"), "w") as file:
        json.dump(cases, file)


def differences(found, expected, ignored):
    """The largest difference of two states, and keys that only one state has. Leaves out tensors that no file has."""
    keys = (set(found) ^ set(expected)) - set(ignored)
    worst, of = 0.0, None
    for key in (set(found) & set(expected)) - set(ignored):
        if found[key].shape != expected[key].shape:
            return float("inf"), key, sorted(keys)
        distance = (found[key].float() - expected[key].float()).abs().max().item() if found[key].numel() else 0.0
        if distance > worst:
            worst, of = distance, key
    return worst, of, sorted(keys)


def check(root):
    with open(os.path.join(root, "cases.json")) as file:
        cases = json.load(file)
    with open(os.path.join(root, "outcomes.json")) as file:
        outcomes = json.load(file)
    verdicts = []
    for case, outcome in zip(cases, outcomes, strict=True):
        verdict = {"address": case["address"], "notes": case["notes"], "outcome": outcome.get("code", "made"), "faults": []}
        expected = None if case["expected"] is None else load_file(case["expected"])
        for door in ("out", "load"):
            place = outcome.get(door)
            if place is None:
                continue
            base, _, adapter = place.partition("+") if door == "load" else (place, "", "")
            found, lacking = loaded(base, case["family"], adapter or None)
            if found is None:
                verdict["faults"].append(f"{door}: does not load: {lacking}")
            elif expected is None:
                verdict["faults"].append(f"{door}: made of what no loader takes")
            else:
                worst, of, keys = differences(found, expected, case["ignored"])
                more = sorted(set(lacking) - set(case["ignored"]))
                if worst > 2e-5 or keys or more:
                    verdict["faults"].append(f"{door}: {worst} in {of}, keys {keys[:3]}, lacks {more[:3]}")
        if outcome.get("out") and case["ignored"] and not outcome["warnings"]:
            verdict["faults"].append("random tensors without a word")
        verdicts.append(verdict)
    print(json.dumps(verdicts))


if __name__ == "__main__":
    command, root, *rest = sys.argv[1:]
    if command == "make":
        make(root, int(rest[0]), int(rest[1]))
    else:
        with contextlib.redirect_stderr(io.StringIO()):
            check(root)
