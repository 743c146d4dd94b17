"""Tests of merges of modules with adapters of PEFT, in an environment with `peft`: `python -m unittest test_peft`."""

import copy
import unittest
from importlib.util import find_spec
from typing import Any

import layerloom
from workplace import Workplace


@unittest.skipUnless(find_spec("peft"), "needs peft")
class Adapters(Workplace):
    """Small random models with random adapters. PEFT's own merge gives the expected weights."""

    def setUp(self) -> None:
        super().setUp()
        import torch

        self.torch = torch
        self.plain = self.llama(0)

    def llama(self, seed: int, kind: str = "LlamaForCausalLM", **changes: Any) -> Any:
        import transformers

        self.torch.manual_seed(seed)
        config = transformers.LlamaConfig(
            hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=64,
            bos_token_id=1, eos_token_id=2, pad_token_id=0, **changes,
        )
        return getattr(transformers, kind)(config).eval()

    def adapted(self, seed: int, model: Any = None, **options: Any) -> Any:
        from peft import LoraConfig, get_peft_model

        given = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"], **options}
        return self.random(get_peft_model(copy.deepcopy(model or self.plain), LoraConfig(**given)), seed)

    def random(self, model: Any, seed: int) -> Any:
        made = self.torch.Generator().manual_seed(seed)
        with self.torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_" in name or "modules_to_save" in name:
                    noise = self.torch.randn(parameter.shape, generator=made) * 0.1
                    parameter.mul_(1 + noise) if "magnitude" in name else parameter.add_(noise)
        return model

    def merged(self, model: Any, adapter: str | None = None) -> Any:
        return copy.deepcopy(model).merge_and_unload(adapter_names=None if adapter is None else [adapter])

    def check(self, models: list[Any], expected: list[Any]) -> Any:
        found = layerloom.soup(models)
        states = [model.state_dict() for model in expected]
        names = {name for name in states[0] if name != "lm_head.weight" or "lm_head.weight" in found}
        self.assertEqual(set(found), names)
        for name in names:
            mean = sum(state[name].float() for state in states) / len(states)
            self.assertLess((found.tensor(name).float() - mean).abs().max().item(), 1e-5, name)
        return found

    def test_merge_as_the_models_that_they_compute(self) -> None:
        first, second = self.adapted(1), self.adapted(2, r=2, lora_alpha=16, use_rslora=True)
        found = self.check([first, second], [self.merged(first), self.merged(second)])
        self.assertEqual(found.config["architectures"], ["LlamaForCausalLM"])
        self.check([first, self.plain], [self.merged(first), self.plain])
        self.check([self.torch.compile(first), self.torch.compile(self.plain)], [self.merged(first), self.plain])
        self.check([self.torch.nn.DataParallel(first), layerloom.Model(second)], [self.merged(first), self.merged(second)])
        dora = self.adapted(3, use_dora=True)
        self.check([dora, first], [self.merged(dora), self.merged(first)])
        saved = self.adapted(4, modules_to_save=["lm_head", "norm"])
        self.check([saved, self.plain], [self.merged(saved), self.plain])
        reward = [self.adapted(seed, self.llama(7, "LlamaForSequenceClassification", num_labels=1), task_type="SEQ_CLS") for seed in (5, 6)]
        self.check(reward, [self.merged(model) for model in reward])

    def test_with_tied_embeddings_stay_tied_unless_they_are_trained(self) -> None:
        tied = self.llama(0, tie_word_embeddings=True)
        adapted = self.adapted(1, tied)
        self.assertTrue(self.check([adapted, tied], [self.merged(adapted), tied]).config["tie_word_embeddings"])
        trained = [self.adapted(seed, tied, modules_to_save=["embed_tokens"]) for seed in (2, 3)]
        self.assertFalse(self.check(trained, [self.merged(model) for model in trained]).config["tie_word_embeddings"])

    def test_count_as_far_as_they_are_active(self) -> None:
        from peft import LoraConfig

        adapted = self.adapted(1)
        in_place = copy.deepcopy(adapted)
        in_place.merge_adapter()
        self.check([in_place, self.plain], [self.merged(adapted), self.plain])
        disabled = copy.deepcopy(adapted)
        disabled.base_model.disable_adapter_layers()
        self.check([disabled, self.plain], [self.plain, self.plain])
        several = copy.deepcopy(adapted)
        several.add_adapter("other", LoraConfig(r=2, lora_alpha=4, target_modules=["v_proj"]))
        self.random(several, 2)
        self.check([several, self.plain], [self.merged(several, "default"), self.plain])
        several.set_adapter("other")
        self.check([several, self.plain], [self.merged(several, "other"), self.plain])

    def test_are_refused_where_settings_do_not_say_what_they_compute(self) -> None:
        from peft import IA3Config, LoraConfig, PromptTuningConfig, get_peft_model

        both = self.adapted(1)
        both.add_adapter("other", LoraConfig(r=2, lora_alpha=4, target_modules=["v_proj"]))
        both.base_model.set_adapter(["default", "other"])
        scaled = self.adapted(1)
        for layer in scaled.modules():
            if hasattr(layer, "scale_layer"):
                layer.scale_layer(0.5)
        prompts = get_peft_model(copy.deepcopy(self.plain), PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"))
        for model, reason in ((both, "2 adapters are active"), (scaled, "a layer scales default"), (prompts, "prompts are no weights")):
            with self.assertRaisesRegex(ValueError, reason):
                layerloom.soup([model, self.plain])
        other = get_peft_model(copy.deepcopy(self.plain), IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]))
        with self.assertRaisesRegex(layerloom.LayerloomError, "IA3"):
            layerloom.soup([other, self.plain])
        state = dict(self.adapted(1).state_dict())
        with self.assertRaisesRegex(layerloom.LayerloomError, "adapter_config.json"):
            layerloom.soup([state, self.plain])


if __name__ == "__main__":
    unittest.main()
