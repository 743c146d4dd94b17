"""Simultaneous training in two processes on the CPU (gloo), against the same training in one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import copy_of
from safetensors.torch import load_file
from transformers import Trainer, TrainingArguments

from layerloom_train import PartBatchSampler, SimultaneousMixin, load_sharded

script = Path(__file__).parent / "train_on_devices.py"


@pytest.fixture
def train(tmp_path, model, partition):
    """Trains the model in processes, and returns their records with the last checkpoint's tensors."""
    model.save_pretrained(tmp_path / "base")

    def run(processes: int, method: str = "full", rows: int = 4, accumulate: int = 1) -> dict:
        out = tmp_path / f"out-{processes}"
        start = [] if processes == 1 else ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
        words = [tmp_path / "base", tmp_path / "partition.json", out, method, rows, accumulate]
        paths = [str(script.parent), str(script.parent.parent), os.environ.get("PYTHONPATH", "")]
        subprocess.run(
            [sys.executable, *start, str(script), *map(str, words)],
            check=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)},
        )
        seen = json.loads((out / "seen.json").read_text())
        assert seen["processes"] == processes
        last = max(out.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
        (weights,) = last.glob("*.safetensors")
        return {**seen, "tensors": load_file(weights)}

    return run


@pytest.mark.parametrize("accumulate", [1, 2])
def test_two_processes_train_a_sharded_model_as_one_trains_it_whole(train, model, partition, accumulate):
    base = copy_of(model)
    one, two = train(1, accumulate=accumulate), train(2, accumulate=accumulate)
    assert two["sharded"] and not one["sharded"]
    assert len(one["losses"]) == 6
    assert two["losses"] == pytest.approx(one["losses"], rel=1e-5)
    assert two["norms"] == pytest.approx(one["norms"], rel=1e-5)
    assert two["tensors"].keys() == one["tensors"].keys()
    for name, tensor in one["tensors"].items():
        # AdamW divides by a gradient's size. Near zero the rounding shows, here 1 % of a step.
        assert torch.allclose(two["tensors"][name], tensor, rtol=0, atol=1e-4), name

    # Every step moves one side, the same in all processes, and no bit of the other side.
    sides = {side: sorted(partition.trained_by(side)) for side in ("language", "task")}
    for seen in (one, two):
        assert all(step in sides.values() for step in seen["moved"])
        assert seen["moved"].count(sides["language"]) == seen["moved"].count(sides["task"]) == 3
    for name in partition.parts["neither"]:
        assert torch.equal(two["tensors"][name], base[name])


def test_two_processes_train_an_adapter_as_one_does(train, partition):
    pytest.importorskip("peft")
    one, two = train(1, "lora"), train(2, "lora")
    assert not two["sharded"]
    assert two["losses"] == pytest.approx(one["losses"], rel=1e-5)
    assert two["moved"] == one["moved"]
    for step in two["moved"]:
        assert step and all("lora_" in name for name in step)
        assert len({partition.part_of(name) for name in step}) == 1


def test_processes_take_the_rows_of_one_larger_batch():
    def batches(**options):
        return list(PartBatchSampler({"a": 17, "b": 9}, seed=3, accumulate=2, **options))

    first, second = (batches(batch_size=2, rank=rank, processes=2) for rank in (0, 1))
    assert [a + b for a, b in zip(first, second, strict=True)] == batches(batch_size=4)


def test_refuses_a_part_with_fewer_rows_than_a_step_of_all_processes():
    with pytest.raises(ValueError, match=r"b: fewer rows than one step takes \(8\)"):
        PartBatchSampler({"a": 8, "b": 7}, 2, 2, processes=2)


def test_refuses_a_model_that_accelerate_would_shard(tmp_path, model, partition):
    class Sharding(SimultaneousMixin, Trainer):
        def create_accelerator_and_postprocess(self):
            super().create_accelerator_and_postprocess()
            self.is_fsdp_enabled = True

    arguments = TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to="none")
    with pytest.raises(ValueError, match="use load_sharded, without accelerate's FSDP"):
        Sharding(model=model, args=arguments, partition=partition, part_datasets={"task": []})


def test_says_which_transformers_can_shard(tmp_path, model, monkeypatch):
    from transformers import distributed

    def old(**options):
        raise TypeError("unexpected keyword argument 'fsdp_size'")

    monkeypatch.setattr(distributed, "DistributedConfig", old)
    with pytest.raises(RuntimeError, match="transformers>=5.23"):
        load_sharded(str(tmp_path), 2)
