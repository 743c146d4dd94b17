"""Saves tiny models by torch.distributed.checkpoint, and the same states as safetensors.

  torchrun --nproc-per-node N distributed.py FOLDER

FOLDER/NAME is a distributed checkpoint; FOLDER/NAME.plain holds its state in safetensors.
"""

import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_optimizer_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

warnings.filterwarnings("ignore")

HIDDEN, INNER, VOCABULARY, LAYERS = 16, 36, 27, 2

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
    "max_position_embeddings": 64,
}

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8": torch.float8_e4m3fn,
}


class Parts(torch.nn.Module):
    """Modules by name; they are never called."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self):
        raise NotImplementedError


def model():
    """A model of Llama's shapes and names."""
    torch.manual_seed(1)
    linear = lambda out, into: torch.nn.Linear(into, out, bias=False)
    norm = lambda: torch.nn.RMSNorm(HIDDEN)
    layer = lambda: Parts(
        self_attn=Parts(**{f"{one}_proj": linear(HIDDEN, HIDDEN) for one in "qkvo"}),
        mlp=Parts(
            gate_proj=linear(INNER, HIDDEN), up_proj=linear(INNER, HIDDEN), down_proj=linear(HIDDEN, INNER)
        ),
        input_layernorm=norm(),
        post_attention_layernorm=norm(),
    )
    inner = Parts(
        embed_tokens=torch.nn.Embedding(VOCABULARY, HIDDEN),
        layers=torch.nn.ModuleList([layer() for _ in range(LAYERS)]),
        norm=norm(),
    )
    return Parts(model=inner, lm_head=linear(VOCABULARY, HIDDEN))


def states():
    full = {name: tensor.detach().clone() for name, tensor in model().state_dict().items()}
    return {name: {key: value.to(dtype) for key, value in full.items()} for name, dtype in DTYPES.items()}


def piece(tensor, mesh, placements):
    """The DTensor whose pieces are cut like distribute_tensor's, without sending bytes."""
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    sizes, offsets = compute_local_shape_and_global_offset(tensor.shape, mesh, placements)
    local = tensor
    for dimension, (first, size) in enumerate(zip(offsets, sizes)):
        local = local.narrow(dimension, min(first, tensor.shape[dimension]), size)
    return DTensor.from_local(
        local.contiguous(), mesh, placements, run_check=False, shape=tensor.shape, stride=tensor.stride()
    )


def main(folder):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (size,))

    def describe(path):
        if rank == 0:
            os.makedirs(path, exist_ok=True)
            with open(f"{path}/config.json", "w") as file:
                json.dump(CONFIG, file)

    def save(name, state, plain):
        dcp.save(state, checkpoint_id=f"{folder}/{name}")
        describe(f"{folder}/{name}")
        describe(f"{folder}/{name}.plain")
        if rank == 0:
            save_file(plain, f"{folder}/{name}.plain/model.safetensors", metadata={"format": "pt"})

    def parallel(name, tensor):
        if tensor.dim() < 2:
            return [Replicate()]
        return [Shard(1 if "o_proj" in name or "down_proj" in name else 0)]

    for dtype, plain in states().items():
        rest = {"optimizer": {"state": {"0": {"exp_avg": torch.zeros(5)}}, "lr": 0.1}, "step": torch.tensor(3)}
        rows = {name: piece(tensor, mesh, [Shard(0)]) for name, tensor in plain.items()}
        cut = {name: piece(tensor, mesh, parallel(name, tensor)) for name, tensor in plain.items()}
        save(f"{size}-{dtype}-replicated", {"model": plain, **rest}, plain)
        save(f"{size}-{dtype}-rows", {"app": {"model": rows, "optim": rest["optimizer"]}}, plain)
        save(f"{size}-{dtype}-parallel", {"state_dict": cut, **rest}, plain)
        if size == 4:
            grid = init_device_mesh("cpu", (2, 2))
            both = {
                name: piece(tensor, grid, [Shard(0), Shard(1) if tensor.dim() > 1 else Replicate()])
                for name, tensor in plain.items()
            }
            save(f"{size}-{dtype}-grid", both, plain)

    whole = model()
    plain = {name: tensor.detach().clone() for name, tensor in whole.state_dict().items()}
    for layer in whole.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(whole, mesh=mesh)
    optimizer = torch.optim.AdamW(whole.parameters())
    for parameter in whole.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    changed = {name: tensor.full_tensor().clone() for name, tensor in whole.state_dict().items()}
    assert changed.keys() == plain.keys()
    state = {
        "model": get_model_state_dict(whole),
        "optimizer": get_optimizer_state_dict(whole, optimizer),
    }
    save(f"{size}-fsdp2", state, changed)

    whole = model()
    plain = {name: tensor.detach().clone() for name, tensor in whole.state_dict().items()}
    how = {"q_proj": ColwiseParallel(), "k_proj": ColwiseParallel(), "v_proj": ColwiseParallel()}
    for layer in whole.model.layers:
        parallelize_module(layer.self_attn, mesh, {**how, "o_proj": RowwiseParallel()})
        parallelize_module(
            layer.mlp,
            mesh,
            {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": RowwiseParallel()},
        )
    save(f"{size}-tensor-parallel", {"model": whole.state_dict()}, plain)

    rows = {name: piece(tensor, mesh, [Shard(0)]) for name, tensor in plain.items()}
    writer = lambda path, join: HuggingFaceStorageWriter(path, save_distributed=True, enable_consolidation=join)
    dcp.save(rows, storage_writer=writer(f"{folder}/parts", False))
    dcp.save(rows, storage_writer=writer(f"{folder}/joined", True))
    describe(f"{folder}/joined")
    if rank == 0:
        os.makedirs(f"{folder}/joined.plain", exist_ok=True)
        describe(f"{folder}/joined.plain")
        save_file(plain, f"{folder}/joined.plain/model.safetensors", metadata={"format": "pt"})
    dist.barrier()
    dist.destroy_process_group()


main(sys.argv[1])
