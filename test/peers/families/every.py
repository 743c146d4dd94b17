"""Tiny models of every family of text models that transformers can make from a configuration alone.

A family of `models.py` is made as defined there. Any other has its default configuration with six layers and
small sizes, found by key names. `varied` has settings that make a family's layers differ if its defaults do
not.
"""
import copy, re
import torch
import transformers
from transformers import AutoConfig
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from models import families, small

LAYERS = 6
MOST = 3_000_000
kinds = {'CausalLM': 'CAUSAL_LM', 'Seq2SeqLM': 'SEQ_TO_SEQ_CAUSAL_LM', 'MaskedLM': 'MASKED_LM', 'Model': 'TEXT_ENCODING', 'ImageTextToText': 'IMAGE_TEXT_TO_TEXT'}
counts = re.compile(r'^(num_hidden_layers|num_layers|n_layers?|encoder_layers|decoder_layers|num_decoder_layers|num_encoder_layers|'
                    r'encoder_num_hidden_layers|decoder_num_hidden_layers|layers)$')
# Sizes by name pattern, in order: the first match gives the size.
sizes = [(re.compile(pattern), size) for pattern, size in [
    (r'^(vocab_size|decoder_vocab_size|src_vocab_size|tgt_vocab_size|vocab_size_per_layer_input|entity_vocab_size|emoji_vocab_size)$', 96),
    (r'^(max_position_embeddings|n_positions|n_ctx|max_source_positions|max_target_positions|context_length|max_seq_len|max_seq_length)$', 64),
    (r'^(head_dim|global_head_dim|v_head_dim|qk_nope_head_dim|qk_rope_head_dim|swa_head_dim|swa_v_head_dim|linear_key_head_dim|'
     r'linear_value_head_dim|index_head_dim|kv_channels|d_kv|attention_head_dim|linear_head_dim|kda_head_dim|lightning_head_dim)$', 8),
    (r'^qk_head_dim$', 16),
    (r'(num|n)_?(key_value|kv)_?heads$|^num_kv_heads$|^num_query_groups$|^num_global_key_value_heads$|^swa_num_key_value_heads$|^linear_num_key_heads$', 2),
    (r'(attention_)?heads$|^n_head$|^num_heads$|^linear_num_value_heads$', 4),
    (r'^mamba_n_heads$', 4), (r'^mamba_d_head$|^mamba_head_dim$', 16),
    (r'lora_rank$|^(lora_r|state_size|ssm_state_size|mamba_d_state|mamba_dt_rank|time_step_rank|laurel_rank|hidden_size_per_layer_input|'
     r'index_topk|o_lora_rank|low_rank_\w+)$', 8),
    (r'^(n_groups|mamba_n_groups|n_group|topk_group|o_groups)$', 1), (r'chunk_size$', 16),
    (r'^(num_experts|n_routed_experts|num_local_experts|moe_num_experts|zero_expert_num|num_routed_experts|ffn_num_experts)$', 4),
    (r'^(num_experts_per_tok(en)?|moe_topk|moe_top_k|moe_k|top_k_experts|expert_top_k|moe_router_topk|num_selected_experts)$', 2),
    (r'^(n_shared_experts|num_shared_experts|moe_num_shared_experts|num_shared_expert)$', 1),
    (r'^(moe_intermediate_size|expert_ffn_hidden_size|shared_expert_intermediate_size|moe_shared_expert_intermediate_size|'
     r'shared_intermediate_size|moe_latent_size|moe_ffn_hidden_size|intermediate_size_mlp|block_ff_dim|dense_intermediate_size)$', 32),
    (r'intermediate_size$|ffn_dim$|^(d_ff|n_inner|hidden_dim|ffn_hidden_size|ffn_hidden_dim|intermediate_dim|feed_forward_size|'
     r'feedforward_dim|attention_hidden_size)$', 48),
    (r'^(hidden_size|d_model|n_embd|dim|d_embed|embedding_size|embed_dim|embedding_dim|hidden_dimension|width|dim_model|lru_width|'
     r'word_embed_proj_dim|decoder_hidden_size|text_embed_dim|projection_dim|entity_emb_size|output_size|emb_dim|text_hidden_size)$', 32),
    (r'^(sliding_window|attention_chunk_size|window_size|local_attention)$', 8),
]]
towers = re.compile(r'vision|visual|image|audio|speech|codec|vq|projector|perceiver|talker|token2wav|qformer')

# Settings by which a family's layers differ, or that make its configuration valid at these sizes.
varied = {
    'bamba': dict(attn_layer_indices=[1, 4]),
    'jamba': dict(attn_layer_period=3, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, use_mamba_kernels=False),
    'deepseek_v2': dict(first_k_dense_replace=2), 'deepseek_v3': dict(first_k_dense_replace=2), 'glm4_moe': dict(first_k_dense_replace=2),
    'dots1': dict(first_k_dense_replace=1),
    'ernie4_5_moe': dict(moe_layer_start_index=2, moe_layer_end_index=4),
    'qwen2': dict(use_sliding_window=True, sliding_window=4, max_window_layers=3),
    'qwen3': dict(use_sliding_window=True, sliding_window=4, max_window_layers=3),
    'qwen2_moe': dict(decoder_sparse_step=2, mlp_only_layers=[3]), 'qwen3_moe': dict(decoder_sparse_step=2, mlp_only_layers=[1]),
    'llama4_text': dict(interleave_moe_layer_step=2, attention_chunk_size=4),
    'lfm2': dict(layer_types=None, full_attn_idxs=[1, 4]), 'lfm2_moe': dict(layer_types=['conv', 'full_attention', 'conv'] * 2),
    'granitemoehybrid': dict(layer_types=['mamba', 'attention', 'mamba'] * 2, mamba_expand=2, mamba_n_heads=4, mamba_d_head=16),
    'gpt_neo': dict(attention_types=[[['global', 'local'], 3]], window_size=4),
    'nemotron_h': dict(layers_block_type=['mamba', 'attention', 'moe', 'mamba', 'mlp', 'attention'], mamba_num_heads=4, mamba_head_dim=16),
    'recurrent_gemma': dict(block_types=['recurrent', 'attention']),
    'reformer': dict(attn_layers=['local', 'lsh', 'local', 'local', 'lsh', 'lsh'], is_decoder=True, axial_pos_shape=[8, 8], axial_pos_embds_dim=[16, 16]),
    'mllama_text_model': dict(cross_attention_layers=[1, 4]),
    'nllb-moe': dict(encoder_sparse_step=2, decoder_sparse_step=3),
    'switch_transformers': dict(num_sparse_encoder_layers=3, num_sparse_decoder_layers=2),
    'afmoe': dict(global_attn_every_n_layers=3, num_dense_layers=2),
    'bailing_hybrid': dict(layer_group_size=3), 'zamba': dict(attn_layer_period=3, attn_layer_offset=1),
}


def small_values(values, inside_tower=False):
    found = {}
    for key, value in values.items():
        if isinstance(value, dict) and (key.endswith('_config') or key in ('encoder', 'decoder')) and key != 'quantization_config':
            below = small_values(value, inside_tower or bool(towers.search(key)))
            if below:
                found[key] = dict(below, **({'model_type': value['model_type']} if value.get('model_type') else {}))
        elif isinstance(value, bool) or not isinstance(value, int):
            continue
        elif counts.match(key):
            found[key] = 2 if inside_tower else LAYERS
        else:
            size = next((size for pattern, size in sizes if pattern.search(key)), None)
            if size is not None and value > 0:
                found[key] = min(size, value) if not re.search('size|dim|embd|d_model', key) else size
    if 'vocab_size' in values:
        for key in ('pad_token_id', 'bos_token_id', 'eos_token_id', 'decoder_start_token_id'):
            if isinstance(values.get(key), int) and values[key] >= 96 or isinstance(values.get(key), list):
                found[key] = 2
    return found


def merged(one, other):
    result = copy.deepcopy(one)
    for key, value in other.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and isinstance(result.get(key), dict) else value
    return result


def kind_of(model_type):
    return next((kind for kind, word in kinds.items() if model_type in getattr(auto, f'MODEL_FOR_{word}_MAPPING_NAMES')), None)


def types():
    return [one for one in CONFIG_MAPPING.keys() if kind_of(one) is not None]


def config_of(model_type):
    values = CONFIG_MAPPING[model_type]().to_dict()
    more = varied.get(model_type, {})
    # Guesses the number of heads of keys and values: half the number of query heads, or the same.
    tries = [{}, dict(num_key_value_heads=4), dict(head_dim=None), dict(num_key_value_heads=4, head_dim=None)]
    error, made = None, None
    for one in tries:
        try:
            given = merged(small_values(values), {key: value for key, value in one.items() if key in values})
            config = AutoConfig.for_model(model_type, **merged(given, more))
            with torch.device('meta'):
                size = sum(one.numel() for one in model_class(model_type).from_config(copy.deepcopy(config)).parameters())
            if size > MOST:
                raise ValueError(f'{size} parameters are too many for a tiny model')
            model = model_class(model_type).from_config(copy.deepcopy(config), dtype=torch.float32).eval()
            made = made or config
            output_of(model, **inputs_of(model))
            return config
        except Exception as failed:
            error = error or failed
    if made is None:
        raise error
    return made


def inputs_of(model):
    generator = torch.Generator().manual_seed(7)
    given = dict(input_ids=torch.randint(5, 90, (1, 14), generator=generator))
    if model.main_input_name == 'input_features':
        given = dict(input_features=torch.randn((1, model.config.num_mel_bins, 2 * model.config.max_source_positions), generator=generator))
    if model.config.is_encoder_decoder:
        given['decoder_input_ids'] = torch.randint(5, 90, (1, 14), generator=generator)
    if hasattr(model.config.get_text_config(), 'use_cache'):
        given['use_cache'] = False
    return given


def output_of(model, **given):
    with torch.no_grad():
        try:
            found = model(**given)
        except TypeError:
            given.pop('use_cache', None)
            found = model(**given)
    tensor = getattr(found, 'logits', None)
    return tensor if tensor is not None else found[0]


def model_class(model_type):
    kind = kind_of(model_type)
    return getattr(transformers, 'AutoModel' if kind == 'Model' else f'AutoModelFor{kind}')


def every_model(model_type, seed=0):
    torch.manual_seed(2410 + seed)
    model = model_class(model_type).from_config(config_of(model_type), dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter.add_(torch.randn_like(parameter) * 0.05)
    return model.eval()
