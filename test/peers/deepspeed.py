"""Checkpoints that DeepSpeed itself saves by ZeRO, for deepspeed.test.ts. Run by torchrun:

  deepspeed.py save DIR          DIR/CASE: a trainer's checkpoint with global_stepN, of as many ranks as processes
  deepspeed.py gather DIR        DIR/CASE.plain: the same by DeepSpeed's own zero_to_fp32, as safetensors (one process)
"""
import contextlib, io, os, sys, warnings

os.environ.update(DS_ACCELERATOR='cpu', HF_HUB_OFFLINE='1')
warnings.simplefilter('ignore')
# This file has DeepSpeed's name.
sys.path = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
import torch
import deepspeed
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig

config = dict(vocab_size=97, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64, head_dim=6)
# Cases by name: stage, dtype, tied, settings. Small groups of stage 3 cut a rank's weights in several vectors.
cases = {
    'one': (1, 'bf16', True, {}),
    'two': (2, 'bf16', True, {}),
    'two-untied': (2, 'bf16', False, {}),
    'two-plain': (2, None, True, {}),
    'three': (3, 'bf16', True, {'stage3_param_persistence_threshold': 0}),
    'three-groups': (3, 'bf16', False, {'sub_group_size': 700, 'stage3_param_persistence_threshold': 0}),
    'three-plain': (3, None, False, {'stage3_param_persistence_threshold': 100}),
}


def save(directory):
    deepspeed.init_distributed('gloo')
    for case, (stage, dtype, tied, settings) in cases.items():
        torch.manual_seed(len(case))
        of = LlamaConfig(**config, tie_word_embeddings=tied)
        model = AutoModelForCausalLM.from_config(of)
        model.register_buffer('scale_of_run', torch.randn(5))
        model.register_buffer('count_of_run', torch.arange(3))
        model.model.layers[0].self_attn.q_proj.weight.requires_grad_(False)
        model.model.layers[1].mlp.down_proj.weight.requires_grad_(False)
        named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        groups = [{'params': [p for _, p in named if p.ndim > 1], 'weight_decay': 0.1},
                  {'params': [p for _, p in named if p.ndim == 1], 'weight_decay': 0.0}]
        engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(groups, lr=1e-3), config={
            'train_micro_batch_size_per_gpu': 1, 'zero_allow_untested_optimizer': True,
            'zero_optimization': {'stage': stage, **settings}, **({dtype: {'enabled': True}} if dtype else {}),
            'scheduler': {'type': 'WarmupLR', 'params': {}}})
        ids = torch.arange(8)[None] + engine.global_rank
        for _ in range(2):
            engine.backward(engine(input_ids=ids, labels=ids).loss)
            engine.step()
        engine.save_checkpoint(f'{directory}/{case}', client_state={'epoch': 1.5, 'names': ['a']})
        if engine.global_rank == 0:
            of.save_pretrained(f'{directory}/{case}')


def gather(directory):
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint as gathered
    for case, (_, _, tied, _) in cases.items():
        with contextlib.redirect_stdout(io.StringIO()):
            state = gathered(f'{directory}/{case}')
        plain = f'{directory}/{case}.plain'
        LlamaConfig(**config, tie_word_embeddings=tied).save_pretrained(plain)
        save_file({name: tensor.clone().contiguous() for name, tensor in state.items()}, f'{plain}/model.safetensors')


if __name__ == '__main__':
    {'save': save, 'gather': gather}[sys.argv[1]](sys.argv[2])
