"""Simultaneous training: batches of each side's data update only that side's parameters, in one run of
transformers' Trainer."""

import random
from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset

from .partition import NEITHER, Partition
from .parts import Parts


def schedule_of_parts(steps: dict[str, int]) -> list[str]:
    """The order of optimizer steps by part. Each part's steps are spread evenly over the run: a, b, a, b or a, a, b, a,
    a, b."""
    places = [((step + 0.5) / count, part) for part, count in steps.items() for step in range(count)]
    return [part for _, part in sorted(places)]


class PartBatchSampler:
    """Batches of indices into ConcatDataset(datasets.values()), each of one part only.

    The `accumulate` batches of one optimizer step belong to the same part. Rows that do not fill a step are
    left out of an epoch; every epoch has another order, from `seed` and set_epoch().

    Each of `processes` takes its own `batch_size` rows of a batch, by its `rank`. All processes train the
    same part in every step without communication, since the order follows from lengths and seed alone.
    """

    def __init__(
        self,
        lengths: dict[str, int],
        batch_size: int,
        accumulate: int = 1,
        seed: int = 0,
        rank: int = 0,
        processes: int = 1,
    ):
        self.lengths, self.batch_size, self.accumulate, self.seed = lengths, batch_size, accumulate, seed
        self.rank, self.processes = rank, processes
        self.epoch = 0
        rows = batch_size * processes * accumulate
        short = [part for part, length in lengths.items() if length < rows]
        if short:
            raise ValueError(f"{', '.join(short)}: fewer rows than one step takes ({rows})")
        self.schedule = schedule_of_parts({part: length // rows for part, length in lengths.items()})

    def __len__(self) -> int:
        return len(self.schedule) * self.accumulate

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        order = random.Random(f"{self.seed}:{self.epoch}")
        left, start = {}, 0
        for part, length in self.lengths.items():
            left[part] = iter(order.sample(range(start, start + length), length))
            start += length
        for part in self.schedule:
            for _ in range(self.accumulate):
                batch = [next(left[part]) for _ in range(self.batch_size * self.processes)]
                yield batch[self.rank * self.batch_size : (self.rank + 1) * self.batch_size]


class PartDataLoader(DataLoader):
    """A data loader whose trainer sets the epoch, so that a resumed run draws the same order."""

    def set_epoch(self, epoch: int) -> None:
        self.batch_sampler.set_epoch(epoch)


class RowsOfPart(Dataset):
    """Rows of a data set, each with the part that it trains."""

    def __init__(self, rows: Sequence[dict], part: str):
        self.rows, self.part = rows, part

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict:
        return {**self.rows[index], "part": self.part}


class SimultaneousMixin:
    """Put before transformers' Trainer, or a trainer made from it: `class T(SimultaneousMixin, Trainer):
    pass`.

    Pass `partition` and `part_datasets` (side to rows, tokenized) by name; all else goes to the trainer,
    whose train_dataset this replaces. Every batch belongs to one side. The other side's gradients are dropped
    before clipping, so that AdamW leaves those parameters unchanged to the bit. A single schedule of learning rates runs over all steps; `part_learning_rates` sets the peak of each part.

    Several processes (`torchrun`), one on each device, train a step's rows of one part together. The model is
    either whole in each (DDP), or sharded when it is loaded (FSDP 2, `load_sharded`). Raises ValueError for a
    model that the trainer would shard or copy itself: replaced parameters would make this class ineffective.
    """

    def __init__(
        self,
        *args,
        partition: Partition,
        part_datasets: dict[str, Sequence[dict]],
        part_learning_rates: dict[str, float] | None = None,
        **kwargs,
    ):
        for side in part_datasets:
            partition.check(side)
        rows = [RowsOfPart(part_datasets[part], part) for part in part_datasets]
        super().__init__(*args, train_dataset=ConcatDataset(rows), **kwargs)
        if self.args.n_gpu > 1:
            raise ValueError("simultaneous training runs in one process on each device: start it by torchrun")
        if self.is_fsdp_enabled or self.is_deepspeed_enabled:
            raise ValueError("simultaneous training shards a model when it is loaded: use load_sharded, without accelerate's FSDP")
        self.parts = Parts(self.model, partition)
        for parameter in self.parts.parameters.get(NEITHER, []):
            parameter.requires_grad_(False)
        for part in part_datasets:
            if not self.parts.of(part):
                raise ValueError(f"nothing to train: side {part!r} has data, but no trainable parameter")
        self._lengths = {part: len(part_datasets[part]) for part in part_datasets}
        self._rates = part_learning_rates
        self._step_part: tuple[int, str] | None = None

    def get_train_dataloader(self) -> DataLoader:
        sampler = PartBatchSampler(
            self._lengths,
            self.args.per_device_train_batch_size,
            self.args.gradient_accumulation_steps,
            self.args.data_seed if self.args.data_seed is not None else self.args.seed,
            rank=self.args.process_index,
            processes=self.args.world_size,
        )
        return PartDataLoader(self.train_dataset, batch_sampler=sampler, collate_fn=self._collate)

    def _collate(self, rows: list[dict]) -> dict:
        (part,) = {row["part"] for row in rows}
        batch = self.data_collator([{k: v for k, v in row.items() if k != "part"} for row in rows])
        return {**batch, "part": part}

    def create_optimizer(self, *args, **kwargs):
        if self.optimizer is None:
            kind, options = self.get_optimizer_cls_and_kwargs(self.args, self.model)
            options.setdefault("weight_decay", self.args.weight_decay)
            self.optimizer = kind(self.parts.groups(self._rates), **options)
        return self.optimizer

    def training_step(self, model: torch.nn.Module, inputs: dict, *args, **kwargs) -> torch.Tensor:
        part = inputs.pop("part")
        step = self.state.global_step
        if self._step_part is not None and self._step_part[0] == step and self._step_part[1] != part:
            raise RuntimeError(f"step {step} has batches of {self._step_part[1]} and of {part}")
        self._step_part = (step, part)
        loss = super().training_step(model, inputs, *args, **kwargs)
        self.parts.drop_gradients_except(part)
        return loss
