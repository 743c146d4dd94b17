"""Calls the custom weight loader as SGLang does, with a model whose layers are made and loaded like SGLang's.

Reads lines of JSON: {"form": the model's peculiarity, "requests": […]}. Prints the answers to each.
"""

import json
import os
import sys
import tempfile

import torch

from layerloom_eval import sglang_weights

FORM = ""


class UnquantizedLinearMethod:
    def process_weights_after_loading(self, layer):
        if FORM == "made over":
            layer.weight.data = layer.weight.data.flip(0).contiguous()
        if FORM == "made over in place":
            layer.weight.data.copy_(layer.weight.data.flip(0))


class Fp8LinearMethod(UnquantizedLinearMethod):
    pass


class Linear(torch.nn.Module):

    def __init__(self, inputs, *outputs):
        super().__init__()
        dtype = torch.float16 if FORM == "narrow" else torch.float32
        self.weight = torch.nn.Parameter(torch.randn(sum(outputs), inputs, dtype=dtype), requires_grad=False)
        self.quant_method = Fp8LinearMethod() if FORM == "quantised" else UnquantizedLinearMethod()
        self.outputs = outputs
        if FORM == "derived":
            self.cached = torch.zeros(3)

    def load(self, tensor, shard):
        begin = sum(self.outputs[:shard])
        part = self.weight.data.narrow(0, begin, self.outputs[shard])
        part.copy_(tensor.clone() if FORM == "copied" else tensor)


class Model(torch.nn.Module):
    FUSED = {"q_proj": ("qk_proj", 0), "k_proj": ("qk_proj", 1)}

    def __init__(self, shapes):
        super().__init__()
        rows, hidden = shapes["model.embed_tokens.weight"]
        # Adds rows, as if the vocabulary were padded to divide evenly.
        self.embed = torch.nn.Parameter(torch.randn(rows + 3, hidden), requires_grad=False)
        self.lm_head = self.embed
        self.parts = torch.nn.ModuleDict()
        self.norms = torch.nn.ParameterDict()
        for name, shape in shapes.items():
            key, module, shard = self.placed(name)
            if len(shape) == 1:
                self.norms[key] = torch.nn.Parameter(torch.randn(shape), requires_grad=False)
            elif module == "qk_proj" and shard == 0:
                more = [shape[0]] if FORM == "part" else []
                self.parts[key] = Linear(shape[1], shape[0], shapes[name.replace("q_proj", "k_proj")][0], *more)
            elif module != "qk_proj" and "embed" not in name:
                self.parts[key] = Linear(shape[1], shape[0])
        if FORM == "further":
            self.bias = torch.nn.Parameter(torch.randn(3), requires_grad=False)
        if FORM == "post load":
            self.post_load_weights = lambda: None

    def placed(self, name):
        *before, last = name.removesuffix(".weight").split(".")
        module, shard = self.FUSED.get(last, (last, 0))
        return "-".join([*before, module]), module, shard

    def load_weights(self, weights):
        for name, tensor in weights:
            key, _, shard = self.placed(name)
            if "embed" in name:
                self.embed.data[: len(tensor)].copy_(tensor)
                self.embed.data[len(tensor) :].fill_(0)
            elif key in self.norms:
                self.norms[key].data.copy_(tensor)
            else:
                self.parts[key].load(tensor, shard)


def answers(requests):
    model = Model({each["name"]: each["shape"] for each in requests[0]["weights"]})
    for request in requests:
        with tempfile.TemporaryDirectory() as replies:
            sglang_weights.load(model, [(json.dumps({**request, "replies": replies}), torch.Tensor())])
            with open(os.path.join(replies, "0.json"), encoding="utf-8") as file:
                yield json.load(file)
        if FORM == "changed":
            # The next answer reports the change that stays.
            model.norms["model-norm"].data.fill_(1)


for line in sys.stdin:
    case = json.loads(line)
    FORM = case["form"]
    print(json.dumps(list(answers(case["requests"]))))
