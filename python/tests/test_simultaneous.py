import pytest
import torch
from conftest import copy_of, make_model, moved, rows
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments

from layerloom_train import PartBatchSampler, SimultaneousMixin, schedule_of_parts


class SimultaneousTrainer(SimultaneousMixin, Trainer):
    pass


class Watch(TrainerCallback):
    """Records which parameters every optimizer step moved."""

    def on_train_begin(self, args, state, control, model, **_):
        self.steps, self.before = [], copy_of(model)

    def on_step_end(self, args, state, control, model, **_):
        self.steps.append(moved(model, self.before))
        self.before = copy_of(model)


def trainer(tmp_path, model, partition, watch=None, data=None, rates=None, **options):
    arguments = TrainingArguments(
        output_dir=str(tmp_path / "out"), per_device_train_batch_size=2, learning_rate=1e-2, report_to="none",
        use_cpu=True, disable_tqdm=True,
        **{"max_grad_norm": 0.5, "weight_decay": 0.1, "num_train_epochs": 1, "save_strategy": "no", **options},
    )
    return SimultaneousTrainer(
        model=model, args=arguments, partition=partition, part_learning_rates=rates,
        part_datasets=data or {"language": rows(12, 1), "task": rows(12, 2)}, callbacks=[watch] if watch else None,
    )


def test_spreads_the_parts_evenly():
    assert schedule_of_parts({"a": 2, "b": 2}) == ["a", "b", "a", "b"]
    assert schedule_of_parts({"a": 4, "b": 2}) == ["a", "b", "a", "a", "b", "a"]
    assert sorted(schedule_of_parts({"a": 5, "b": 3})) == ["a"] * 5 + ["b"] * 3


def test_batches_hold_rows_of_one_part_for_a_whole_step():
    sampler = PartBatchSampler({"a": 9, "b": 4}, batch_size=2, accumulate=2)
    batches = list(sampler)
    assert len(batches) == len(sampler) == 6
    sides = [{index < 9 for index in batch} for batch in batches]
    assert all(len(side) == 1 for side in sides)
    assert all(sides[i] == sides[i + 1] for i in range(0, 6, 2))
    used = [index for batch in batches for index in batch]
    assert len(used) == len(set(used)) and max(used) < 13


def test_orders_rows_anew_in_every_epoch_and_alike_for_one_seed():
    def order(seed, epoch):
        sampler = PartBatchSampler({"a": 20, "b": 20}, 2, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_refuses_a_part_with_fewer_rows_than_a_step():
    with pytest.raises(ValueError, match="b: fewer rows than one step takes"):
        PartBatchSampler({"a": 8, "b": 3}, 2, 2)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_every_step_moves_all_of_one_part_and_no_bit_of_the_other(tmp_path, model, partition, accumulate):
    watch = Watch()
    trainer(tmp_path, model, partition, watch, gradient_accumulation_steps=accumulate).train()
    names = [partition.trained_by("language"), partition.trained_by("task")]
    assert len(watch.steps) == 12 // accumulate
    assert all(step in names for step in watch.steps)
    assert watch.steps.count(names[0]) == watch.steps.count(names[1]) == 6 // accumulate


def test_clips_by_the_norm_of_the_batchs_own_part(tmp_path, partition):
    """With SGD a step's length is the learning rate times the clipped norm of that part's gradient alone."""
    model = make_model()
    lengths = []

    class Measure(Watch):
        def on_step_end(self, args, state, control, model, **_):
            squares = [(p - self.before[n]).double().square().sum() for n, p in model.named_parameters()]
            lengths.append(sum(squares).sqrt().item())
            self.before = copy_of(model)

    trainer(
        tmp_path, model, partition, Measure(), optim="sgd", weight_decay=0.0, lr_scheduler_type="constant",
        max_grad_norm=1e-3,
    ).train()
    assert lengths == pytest.approx([1e-2 * 1e-3] * 12, rel=1e-2)


def test_trains_each_part_at_its_own_rate(tmp_path, model, partition):
    before = copy_of(model)
    trainer(tmp_path, model, partition, rates={"task": 0.0}).train()
    assert moved(model, before) == partition.trained_by("language")


def test_never_moves_what_neither_side_trains(tmp_path, model, partition):
    before = copy_of(model)
    trainer(tmp_path, model, partition).train()
    assert set(before) - moved(model, before) == partition.parts["neither"]


def test_moves_only_adapters_of_the_batchs_layers(tmp_path, model, partition):
    peft = pytest.importorskip("peft")
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules="all-linear"))
    watch = Watch()
    trainer(tmp_path, adapted, partition, watch).train()
    for step in watch.steps:
        assert step and all("lora_" in name for name in step)
        assert len({partition.part_of(name) for name in step}) == 1


def test_equal_runs_give_equal_bits(tmp_path, partition):
    results = []
    for _ in range(2):
        model = make_model()
        trainer(tmp_path, model, partition, seed=5).train()
        results.append(copy_of(model))
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def test_a_resumed_run_ends_with_the_bits_of_one_that_was_not_stopped(tmp_path, partition):
    results = []
    for resume in (False, True):
        model = make_model()
        options = {"num_train_epochs": 2, "save_strategy": "steps", "save_steps": 15}
        if not resume:
            trainer(tmp_path, model, partition, **options).train()
        else:
            trainer(tmp_path, model, partition, **options).train(resume_from_checkpoint=str(tmp_path / "out/checkpoint-15"))
        results.append(copy_of(model))
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def test_refuses_data_of_an_unknown_side(tmp_path, model, partition):
    with pytest.raises(KeyError, match="no side 'math'"):
        trainer(tmp_path, model, partition, data={"math": rows(4, 0)})


def test_its_batches_are_of_one_part_in_a_data_loader(tmp_path, model, partition):
    loader = trainer(tmp_path, model, partition).get_train_dataloader()
    assert isinstance(loader, DataLoader)
    assert {batch["part"] for batch in loader} == {"language", "task"}
