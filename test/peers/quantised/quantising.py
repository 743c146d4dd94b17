"""Quantises values with the libraries that define the schemes, to compare with layerloom's quantised outputs.

    quantising.py codes SCHEME OUT VALUES      codes and scales of OUT, against those of the float32 model VALUES.
    quantising.py kept SCHEME BASE MODEL JSON  the rest of a change, against `layerloom diff --quantize-report --json`.
    quantising.py load OUT VALUES              OUT in transformers, against the logits of the float32 model VALUES.

Each prints one line of JSON.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

SCHEMES = {
    "int8": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True},
    "int4": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True},
    "mxfp4": {
        "num_bits": 4,
        "type": "float",
        "strategy": "group",
        "group_size": 32,
        "symmetric": True,
        "scale_dtype": torch.uint8,
        "zp_dtype": torch.uint8,
    },
    "nvfp4": {
        "num_bits": 4,
        "type": "float",
        "strategy": "tensor_group",
        "group_size": 16,
        "symmetric": True,
        "scale_dtype": torch.float8_e4m3fn,
        "zp_dtype": torch.float8_e4m3fn,
    },
}


class Settings(dict):
    scale_fmt = None


class Quantizer:
    def __init__(self, block):
        self.quantization_config = Settings(weight_block_size=[block, block])


def float8(weight, block):
    """Codes, scales and values of transformers' FineGrainedFP8."""
    from transformers.integrations.finegrained_fp8 import Fp8Quantize

    made = Fp8Quantize(Quantizer(block)).convert({"x.weight": weight})
    codes, scales = made["x.weight"], made["x.weight_scale_inv"]
    wide = scales.repeat_interleave(block, 0).repeat_interleave(block, 1)
    return codes, scales, codes.float() * wide


def compressed(weight, scheme):
    """The same with compressed-tensors; cuts groups at the end of a row."""
    from compressed_tensors.quantization import QuantizationArgs
    from compressed_tensors.quantization.lifecycle.forward_helpers import _dequantize, _quantize
    from compressed_tensors.quantization.utils.helpers import calculate_qparams, calculate_range, generate_gparam

    args = QuantizationArgs(**SCHEMES[scheme])
    group = args.group_size or weight.shape[1]
    padded = torch.nn.functional.pad(weight, (0, -weight.shape[1] % group))
    groups = padded.reshape(padded.shape[0], -1, group)
    factor = generate_gparam(weight.min(), weight.max()) if scheme == "nvfp4" else None
    scales, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), args, global_scale=factor)
    scales = scales.unsqueeze(-1).float()
    codes = _quantize(groups, scales, None, *calculate_range(args, "cpu"), args, global_scale=factor)
    values = _dequantize(codes, scales, None, global_scale=factor)
    cut = lambda what: what.reshape(padded.shape)[:, : weight.shape[1]]
    return cut(codes), scales.squeeze(-1), cut(values)


def tensors(directory):
    found = {}
    for file in sorted(Path(directory).glob("*.safetensors")):
        found.update(load_file(file))
    return found


def block_of(out):
    settings = json.loads((Path(out) / "config.json").read_text())["quantization_config"]
    return settings.get("weight_block_size", [None])[0]


def codes(scheme, out, values):
    made, wanted = tensors(out), tensors(values)
    unequal = elements = matrices = 0
    for name, weight in wanted.items():
        scale = made.pop(f"{name}_scale_inv", None) if scheme == "fp8-block" else made.pop(f"{name}_scale", None)
        own = made.pop(name)
        elements += weight.numel()
        if scale is None:
            unequal += int((own != weight.to(own.dtype)).sum())
            continue
        matrices += 1
        if scheme == "fp8-block":
            right, scales, _ = float8(weight, block_of(out))
            right = right.view(torch.uint8)
            own = own.view(torch.uint8)
        else:
            right, scales, _ = compressed(weight, scheme)
        unequal += int((own != right.to(own.dtype)).sum()) + int((scale != scales.reshape(scale.shape)).sum())
    return {"matrices": matrices, "elements": elements, "unequal": unequal, "more": sorted(made)}


def kept(scheme, base, model, report):
    told = json.loads(Path(report).read_text())["quantised"]
    a, b = tensors(base), tensors(model)
    worst = 0.0
    for one in told["tensors"]:
        x, y = a[one["name"]].float(), b[one["name"]].float()
        of = (lambda w: float8(w, told["block"][0])[2]) if scheme == "fp8-block" else (lambda w: compressed(w, scheme)[2])
        before, after = (y - x).double(), (of(y) - of(x)).double()
        share = float(after.norm() / before.norm())
        cosine = float((before * after).sum() / before.norm() / after.norm())
        worst = max(worst, abs(share / one["share"] - 1), abs(cosine - one["cosine"]))
    return {"tensors": len(told["tensors"]), "worst": worst}


def load(out, values):
    from transformers import AutoModelForCausalLM, CompressedTensorsConfig, FineGrainedFP8Config

    method = json.loads((Path(out) / "config.json").read_text())["quantization_config"]["quant_method"]
    how = FineGrainedFP8Config(dequantize=True) if method == "fp8" else CompressedTensorsConfig(run_compressed=False)
    model, info = AutoModelForCausalLM.from_pretrained(
        out, dtype=torch.float32, quantization_config=how, output_loading_info=True
    )
    plain = AutoModelForCausalLM.from_pretrained(values, dtype=torch.float32)
    ids = torch.arange(1, 17).unsqueeze(0)
    with torch.no_grad():
        # Running such a model quantises activations too; here only its weights are compared.
        off = [module for module in model.modules() if hasattr(module, "quantization_enabled")]
        for module in off:
            module.quantization_enabled = False
        ours, theirs = model(ids).logits, plain(ids).logits
    return {
        "missing": sorted(info["missing_keys"]),
        "unexpected": sorted(info["unexpected_keys"]),
        "difference": float((ours - theirs).abs().max() / theirs.abs().max()),
    }


if __name__ == "__main__":
    what, *args = sys.argv[1:]
    print(json.dumps({"codes": codes, "kept": kept, "load": load}[what](*args)))
