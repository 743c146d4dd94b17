"""Modules with PEFT adapters in memory: their effective weights, as tensors and settings that the engine
reads."""

import re
from collections.abc import Mapping
from typing import Any, cast

# Wrapper modules, each with its attribute for the wrapped module. FSDP gathers its parameters itself.
HOLDERS = {"OptimizedModule": "_orig_mod", "DataParallel": "module", "DistributedDataParallel": "module"}

PREFIX = "base_model.model."
SAVED = re.compile(r"^(?P<module>.+)\.modules_to_save\.(?P<adapter>[^.]+)\.(?P<rest>.+)$")
# The parts that tuners of PEFT 0.21 add to names, followed by the adapter's name.
FACTOR = re.compile(
    r"\.(lora|ia3|hada|lokr|oft|boft|vera|pvera|hra|ln_tuning|fourierft|vblora|shira|c3a|miss|bone|road|randlora|waveft|poly"
    r"|trainable_tokens|delora|gralora|lily|adamss|beft|deft|frod|glora|hira|osf|peanut|psoft|shadow|supertuning|tinylora"
    r"|unilora)_\w+(\.(?P<adapter>[^.]+))?"
)


def unwrapped(module: Any) -> Any:
    while type(module).__name__ in HOLDERS:
        module = getattr(module, HOLDERS[type(module).__name__])
    return module


def base_of(module: Any) -> Any:
    return unwrapped(module.get_base_model()) if hasattr(module, "get_base_model") else module


def has_adapters(module: Any) -> bool:
    settings = getattr(module, "peft_config", None)
    return isinstance(settings, Mapping) and len(cast("Mapping[str, Any]", settings)) > 0


def whole_state(module: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Returns the effective state of a module with adapters: its tensors, and the settings of the adapter
    whose factors are among them. Omits adapters that are merged, disabled or inactive.

    Raises:
        ValueError: if several adapters are active, or the settings do not determine the module's effect
    """
    adapters: Mapping[str, Any] = module.peft_config
    if any(getattr(settings, "is_prompt_learning", False) for settings in adapters.values()):
        raise ValueError("PEFT: prompts are no weights, and are not merged: give the model without them (get_base_model)")
    active = active_of(module)
    layers = [layer for layer in module.modules() if hasattr(layer, "base_layer") and hasattr(layer, "merged_adapters")]
    states = {state_of(layer, active) for layer in layers} or {"active"}
    if len(states) > 1:
        raise ValueError(f"PEFT: adapters are {' in some layers and '.join(sorted(states))} in others: merge them (merge_and_unload)")
    state = states.pop()
    if state != "disabled" and len(active) != 1:
        raise ValueError(f"PEFT: {len(active)} adapters are active ({', '.join(active)}): choose one (set_adapter), or merge them (merge_and_unload)")
    adapter = active[0] if state != "disabled" else None
    unmerged = adapter if state == "active" else None
    for layer in layers:
        check_scale(layer, unmerged, adapters)
    tensors: dict[str, Any] = {}
    for name, tensor in module.state_dict().items():
        plain = plain_name(name.removeprefix(PREFIX), adapter, unmerged)
        if plain is not None:
            tensors[plain] = tensor
    if unmerged is None or not any(FACTOR.search(name) for name in tensors):
        return {name.replace(".base_layer.", "."): tensor for name, tensor in tensors.items()}, None
    # Modules that were saved whole replace the original modules.
    return tensors, {**adapters[unmerged].to_dict(), "modules_to_save": None}


def active_of(module: Any) -> list[str]:
    is_method = callable(module.active_adapters)
    return list(module.active_adapters() if is_method else module.active_adapters)


def state_of(layer: Any, active: list[str]) -> str:
    merged, own = list(layer.merged_adapters), list(layer.active_adapters)
    if layer.disable_adapters and not merged:
        return "disabled"
    if sorted(own) != sorted(active):
        raise ValueError(f"PEFT: layers have other active adapters ({', '.join(own)}) than the model ({', '.join(active)})")
    if layer.disable_adapters or (merged and sorted(merged) != sorted(own)):
        raise ValueError(f"PEFT: other adapters are merged ({', '.join(merged)}) than are active: unmerge them (unmerge_adapter)")
    return "merged" if merged else "active"


def check_scale(layer: Any, adapter: str | None, adapters: Mapping[str, Any]) -> None:
    """Refuses factors whose scale differs from the settings (`scale_layer`, `set_scale`)."""
    if adapter is None or adapter not in getattr(layer, "scaling", {}) or adapter not in getattr(layer, "lora_alpha", {}):
        return
    rank = layer.r[adapter]
    expected = layer.lora_alpha[adapter] / (rank**0.5 if getattr(adapters[adapter], "use_rslora", False) else rank)
    if layer.scaling[adapter] != expected:
        raise ValueError(f"PEFT: a layer scales {adapter} by {layer.scaling[adapter]}, and by its settings that is {expected}: merge it (merge_and_unload)")


def plain_name(name: str, adapter: str | None, unmerged: str | None) -> str | None:
    """Returns the engine's name for a tensor, or None if the tensor has no effect.
    
    Args: adapter: the active adapter, if any unmerged: the same if its factors have an effect
    """
    saved = SAVED.match(name)
    if saved is not None:
        return f"{saved['module']}.{saved['rest']}" if saved["adapter"] == adapter else None
    if ".original_module." in name:
        return name.replace(".original_module.", ".") if adapter is None else None
    factor = FACTOR.search(name)
    return name if factor is None or (unmerged is not None and factor["adapter"] == unmerged) else None
