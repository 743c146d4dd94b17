import pytest
import torch
from conftest import batch, copy_of, make_model, moved

from layerloom_train import Partition, Parts, freeze


def adamw(groups):
    return torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.1)


def step(model, optimizer, seed):
    model(**batch(2, seed)).loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@pytest.mark.parametrize("part", ["language", "task"])
def test_moves_every_parameter_of_the_side_and_no_bit_of_another(model, partition, part):
    before = copy_of(model)
    parts = freeze(model, partition, part)
    optimizer = adamw(parts.groups())
    for seed in range(3):
        step(model, optimizer, seed)
    assert moved(model, before) == partition.trained_by(part)


@pytest.mark.parametrize("fused", [False, True])
def test_alternating_parts_leaves_the_other_part_as_it_is_in_spite_of_momentum_and_decay(model, partition, fused):
    parts = Parts(model, partition)
    optimizer = torch.optim.AdamW(parts.groups(), lr=1e-2, weight_decay=0.1, fused=fused)
    for seed, part in enumerate(["task", "language", "task", "language"]):
        before = copy_of(model)
        parts.train_only(part)
        step(model, optimizer, seed)
        assert moved(model, before) == partition.trained_by(part)


def test_counts_the_steps_of_each_part_alone(model, partition):
    parts = Parts(model, partition)
    optimizer = adamw(parts.groups())
    for seed, part in enumerate(["task", "task", "task", "language"]):
        parts.train_only(part)
        step(model, optimizer, seed)
    steps = {part: {int(optimizer.state[p]["step"]) for p in ps if p in optimizer.state} for part, ps in parts.parameters.items()}
    assert steps == {"task": {3}, "language": {1}, "both": {4}, "neither": set()}


def test_equals_training_one_part_with_the_other_frozen_while_only_that_part_has_batches(partition):
    """Without batches of the other part, simultaneous training is freeze-then-train."""
    results = []
    for way in ("freeze", "simultaneous"):
        model = make_model()
        parts = freeze(model, partition, "task") if way == "freeze" else Parts(model, partition)
        optimizer = adamw(parts.of("task") if way == "freeze" else parts.groups())
        for seed in range(3):
            parts.train_only("task")
            step(model, optimizer, seed)
        results.append(copy_of(model))
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def test_drops_gradients_that_another_part_accumulated(model, partition):
    parts = Parts(model, partition)
    model(**batch(2, 0)).loss.backward()
    parts.drop_gradients_except("language")
    assert all(p.grad is None for p in parts.parameters["task"] + parts.parameters["neither"])
    assert all(p.grad is not None for p in parts.of("language"))


def test_gives_each_part_its_own_learning_rate(model, partition):
    groups = Parts(model, partition).groups({"task": 1e-3})
    assert {group["part"]: group.get("lr") for group in groups} == {"both": None, "language": None, "task": 1e-3}


def test_trains_only_the_adapter_of_the_parts_layers(model, partition):
    peft = pytest.importorskip("peft")
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules="all-linear"))
    with torch.no_grad():  # B is zero at first, which leaves A without a gradient
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    before = copy_of(adapted)
    parts = freeze(adapted, partition, "task")
    optimizer = adamw(parts.groups())
    step(adapted, optimizer, 0)
    expected = {n for n in before if "lora_" in n and (".layers.1." in n or ".layers.2." in n)}
    assert moved(adapted, before) == expected
    assert len(expected) == 2 * 7 * 2


def test_refuses_a_part_with_nothing_to_train(model, partition):
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(partition.part_of(name) == "language")
    with pytest.raises(ValueError, match="side 'task' has no trainable parameter"):
        freeze(model, partition, "task")


def test_refuses_an_unknown_side_and_a_partition_of_another_model(model, partition):
    with pytest.raises(KeyError, match="no side 'math'"):
        freeze(model, partition, "math")
    with pytest.raises(KeyError, match="made for another model"):
        freeze(model, Partition({"task": frozenset({"other.weight"})}), "task")
