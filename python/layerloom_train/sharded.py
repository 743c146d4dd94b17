"""Loads a model in shards: each process holds its share of every parameter (FSDP 2)."""

from transformers import AutoModelForCausalLM, PreTrainedModel


def load_sharded(name: str, processes: int, **options) -> PreTrainedModel:
    """Loads a causal language model, sharded over `processes` by `torch.distributed.fsdp.fully_shard`, layer
    by layer.

    Each process reads only its own shards, and transformers' Trainer takes the model as it is. With one
    process the model is whole. `options` go to `from_pretrained`. All processes must call this together.
    Raises RuntimeError if transformers lacks such loading (5.23 has it).
    """
    if processes == 1:
        return AutoModelForCausalLM.from_pretrained(name, **options)
    model = AutoModelForCausalLM.from_pretrained(name, distributed_config=_over(processes), **options)
    if not getattr(model, "is_distributed_loading_by_transformers", False):
        raise RuntimeError(too_old)
    _save_tied_weights_once(model)
    return model


def _save_tied_weights_once(model: PreTrainedModel) -> None:
    """Leaves the second name of tied weights out of saved files, as for whole models.

    transformers 5.23 recognises tied weights by their memory, which gathered shards no longer share: it saved
    a Llama with tied embeddings with an `lm_head.weight` that its base lacks.
    """
    gather = model.gather_sharded_state_dict_for_save

    def gather_once(*args, **options) -> dict:
        return {name: tensor for name, tensor in gather(*args, **options).items() if name not in model.all_tied_weights_keys}

    model.gather_sharded_state_dict_for_save = gather_once


too_old = "this transformers cannot shard a model over several devices as it loads it: pip install 'transformers>=5.23'"


def _over(processes: int):
    try:
        from transformers.distributed import DistributedConfig

        return DistributedConfig(fsdp_size=processes)
    except (ImportError, TypeError) as error:
        raise RuntimeError(too_old) from error
