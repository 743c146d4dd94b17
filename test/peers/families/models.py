"""Randomly initialised tiny models of many families, by transformers 5 and diffusers. Names, shapes and the
classes of modules are the library's.

Each line of `families` is a family: its model class, and its configuration besides the sizes with common
names.
"""
import os, warnings

os.environ.setdefault('HF_HUB_OFFLINE', '1')
warnings.filterwarnings('ignore')
import torch
import transformers
from transformers import AutoConfig

transformers.logging.set_verbosity_error()

small = dict(vocab_size=96, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=48, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
halves = dict(encoder_layers=3, decoder_layers=3, d_model=32, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
              decoder_ffn_dim=48, num_hidden_layers=3, decoder_start_token_id=2)
five = dict(d_model=32, d_kv=8, d_ff=48, num_layers=3, num_decoder_layers=3, num_heads=4, num_hidden_layers=3, decoder_start_token_id=0)
mixed = ['linear_attention', 'full_attention'] * 2
sliding = ['sliding_attention', 'full_attention'] * 2
mamba = dict(mamba_d_state=8, mamba_d_conv=4, mamba_expand=2, mamba_n_heads=4, mamba_d_head=16, mamba_n_groups=1, mamba_chunk_size=16)
experts = dict(num_experts=2, num_experts_per_tok=1, num_local_experts=2, moe_intermediate_size=24)
vision = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=28, patch_size=14)

diffused = dict(num_layers=3, attention_head_dim=8, num_attention_heads=2, in_channels=4)

families = {
    'llama': ('llama', 'CausalLM', dict(tie_word_embeddings=False)),
    'llama-tied': ('llama', 'CausalLM', dict(tie_word_embeddings=True)),
    'mistral': ('mistral', 'CausalLM', {}),
    'mixtral': ('mixtral', 'CausalLM', experts),
    'qwen2': ('qwen2', 'CausalLM', {}),
    'qwen3': ('qwen3', 'CausalLM', dict(head_dim=8)),
    'qwen3-moe': ('qwen3_moe', 'CausalLM', dict(experts, head_dim=8)),
    'qwen3-next': ('qwen3_next', 'CausalLM', dict(experts, head_dim=8, layer_types=mixed, linear_num_value_heads=4, linear_num_key_heads=2,
                   linear_key_head_dim=8, linear_value_head_dim=8, shared_expert_intermediate_size=24)),
    'qwen3.5': ('qwen3_5_text', 'CausalLM', dict(head_dim=8, layer_types=mixed, linear_num_value_heads=4, linear_num_key_heads=2,
                linear_key_head_dim=8, linear_value_head_dim=8)),
    'gemma': ('gemma', 'CausalLM', dict(head_dim=8)),
    'gemma2': ('gemma2', 'CausalLM', dict(head_dim=8)),
    'gemma3': ('gemma3_text', 'CausalLM', dict(head_dim=8)),
    'gemma3n': ('gemma3n_text', 'CausalLM', dict(head_dim=8, vocab_size_per_layer_input=96, hidden_size_per_layer_input=8, laurel_rank=4,
                num_kv_shared_layers=0, layer_types=sliding, altup_num_inputs=2, activation_sparsity_pattern=[0.0] * 4)),
    'gemma4': ('gemma4_text', 'CausalLM', dict(head_dim=8, global_head_dim=8, vocab_size_per_layer_input=96, hidden_size_per_layer_input=8,
               num_kv_shared_layers=0, layer_types=sliding)),
    'phi': ('phi', 'CausalLM', {}),
    'phi3': ('phi3', 'CausalLM', {}),
    'gpt-neox': ('gpt_neox', 'CausalLM', {}),
    'gpt2': ('gpt2', 'CausalLM', dict(n_embd=32, n_layer=4, n_head=4, n_positions=64, n_inner=48)),
    'gpt-j': ('gptj', 'CausalLM', dict(n_embd=32, n_layer=4, n_head=4, n_positions=64, n_inner=48, rotary_dim=4)),
    'gpt-oss': ('gpt_oss', 'CausalLM', dict(experts, head_dim=8, layer_types=sliding)),
    'bloom': ('bloom', 'CausalLM', dict(n_layer=4, n_head=4)),
    'opt': ('opt', 'CausalLM', dict(ffn_dim=48, word_embed_proj_dim=32)),
    'falcon': ('falcon', 'CausalLM', dict(new_decoder_architecture=True, num_kv_heads=2)),
    'starcoder2': ('starcoder2', 'CausalLM', {}),
    'stablelm': ('stablelm', 'CausalLM', {}),
    'mpt': ('mpt', 'CausalLM', dict(d_model=32, n_heads=4, n_layers=4, expansion_ratio=2)),
    'olmo2': ('olmo2', 'CausalLM', {}),
    'cohere2': ('cohere2', 'CausalLM', dict(layer_types=sliding)),
    'glm4': ('glm4', 'CausalLM', dict(head_dim=8)),
    'granite': ('granite', 'CausalLM', {}),
    'granitemoeshared': ('granitemoeshared', 'CausalLM', dict(experts, shared_intermediate_size=24)),
    'granitemoehybrid': ('granitemoehybrid', 'CausalLM', dict(experts, **mamba, shared_intermediate_size=24,
                         layer_types=['mamba', 'attention'] * 2)),
    'smollm3': ('smollm3', 'CausalLM', {}),
    'deepseek-v3': ('deepseek_v3', 'CausalLM', dict(experts, num_key_value_heads=4, n_routed_experts=2, n_shared_experts=1, kv_lora_rank=8,
                    q_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, first_k_dense_replace=1, n_group=1, topk_group=1)),
    'longcat-flash': ('longcat_flash', 'CausalLM', dict(num_layers=3, num_key_value_heads=4, ffn_hidden_size=48, n_routed_experts=2,
                      zero_expert_num=2, moe_topk=2, expert_ffn_hidden_size=24, kv_lora_rank=8, q_lora_rank=8, qk_nope_head_dim=8,
                      qk_rope_head_dim=8, v_head_dim=8, head_dim=8, num_hidden_layers=6)),
    'doge': ('doge', 'CausalLM', {}),
    'biogpt': ('biogpt', 'CausalLM', {}),
    'xglm': ('xglm', 'CausalLM', dict(d_model=32, ffn_dim=48, num_layers=4, attention_heads=4)),
    'mamba': ('mamba', 'CausalLM', dict(state_size=8, num_hidden_layers=4)),
    'mamba2': ('mamba2', 'CausalLM', dict(num_heads=4, head_dim=16, state_size=8, n_groups=1, chunk_size=16)),
    'falcon-mamba': ('falcon_mamba', 'CausalLM', dict(state_size=8)),
    'falcon-h1': ('falcon_h1', 'CausalLM', dict(mamba, mamba_d_ssm=64, head_dim=8)),
    'bamba': ('bamba', 'CausalLM', dict(mamba, attn_layer_indices=[1, 3])),
    'jamba': ('jamba', 'CausalLM', dict(experts, mamba_d_state=8, mamba_dt_rank=4, attn_layer_period=2, attn_layer_offset=1,
              expert_layer_period=2, expert_layer_offset=1, use_mamba_kernels=False)),
    'nemotron-h': ('nemotron_h', 'CausalLM', dict(layers_block_type=['mamba', 'attention', 'moe', 'mamba'], mamba_num_heads=4,
                   mamba_head_dim=16, ssm_state_size=8, n_groups=1, chunk_size=16, head_dim=8, n_routed_experts=2, num_experts_per_tok=1,
                   n_group=1, topk_group=1, moe_intermediate_size=24, moe_shared_expert_intermediate_size=24)),
    'recurrent-gemma': ('recurrent_gemma', 'CausalLM', dict(lru_width=32, block_types=['recurrent', 'attention'], head_dim=8)),
    'rwkv': ('rwkv', 'CausalLM', dict(attention_hidden_size=32, context_length=64)),
    'lfm2': ('lfm2', 'CausalLM', dict(layer_types=['conv', 'full_attention'] * 2, block_ff_dim=48)),
    'gemma3-multimodal': ('gemma3', 'ImageTextToText', dict(text_config=dict(small, head_dim=8), vision_config=vision)),
    'qwen2.5-vl': ('qwen2_5_vl', 'ImageTextToText', dict(text_config=dict(small, rope_parameters=dict(rope_type='default', mrope_section=[1, 1, 2], rope_theta=10000.0)),
                   vision_config=dict(depth=2, hidden_size=32, num_heads=4, intermediate_size=48, out_hidden_size=32, fullatt_block_indexes=[1]))),
    'llava': ('llava', 'ImageTextToText', dict(text_config=dict(small, model_type='llama'), vision_config=dict(vision, model_type='clip_vision_model'))),
    'mllama': ('mllama', 'ImageTextToText', dict(text_config=dict(small, cross_attention_layers=[1]),
               vision_config=dict(hidden_size=32, num_hidden_layers=2, num_global_layers=1, attention_heads=4, intermediate_size=48, image_size=28,
                                  patch_size=14, vision_output_dim=64, intermediate_layers_indices=[0], max_num_tiles=1,
                                  supported_aspect_ratios=[[1, 1]]))),
    'bert': ('bert', 'MaskedLM', {}),
    'bert-embedding': ('bert', 'Model', {}),
    'bert-classifier': ('bert', 'SequenceClassification', {}),
    'roberta': ('roberta', 'MaskedLM', {}),
    'xlm-roberta': ('xlm-roberta', 'MaskedLM', {}),
    'camembert': ('camembert', 'MaskedLM', {}),
    'electra': ('electra', 'MaskedLM', dict(embedding_size=32)),
    'distilbert': ('distilbert', 'MaskedLM', dict(dim=32, n_layers=4, n_heads=4, hidden_dim=48)),
    'mpnet': ('mpnet', 'MaskedLM', {}),
    'deberta-v2': ('deberta-v2', 'MaskedLM', dict(relative_attention=True, position_buckets=8, pos_att_type='p2c|c2p', conv_kernel_size=3,
                   norm_rel_ebd='layer_norm', share_att_key=True)),
    'modernbert': ('modernbert', 'MaskedLM', {}),
    't5': ('t5', 'Seq2SeqLM', five),
    't5-gated': ('t5', 'Seq2SeqLM', dict(five, tie_word_embeddings=False, feed_forward_proj='gated-gelu')),
    'mt5': ('mt5', 'Seq2SeqLM', five),
    'umt5': ('umt5', 'Seq2SeqLM', five),
    'bart': ('bart', 'Seq2SeqLM', halves),
    'mbart': ('mbart', 'Seq2SeqLM', halves),
    'm2m-100': ('m2m_100', 'Seq2SeqLM', halves),
    'marian': ('marian', 'Seq2SeqLM', dict(halves, decoder_vocab_size=96)),
    'pegasus': ('pegasus', 'Seq2SeqLM', halves),
    'flux': ('FluxTransformer2DModel', 'Diffusion', dict(diffused, patch_size=1, num_single_layers=3, joint_attention_dim=16,
             pooled_projection_dim=16, axes_dims_rope=(2, 2, 4))),
    'sd3': ('SD3Transformer2DModel', 'Diffusion', dict(diffused, sample_size=8, patch_size=2, joint_attention_dim=16,
            caption_projection_dim=16, pooled_projection_dim=16, out_channels=4, pos_embed_max_size=8)),
    'pixart': ('PixArtTransformer2DModel', 'Diffusion', dict(diffused, sample_size=8, patch_size=2, cross_attention_dim=16,
               caption_channels=8, out_channels=8, num_embeds_ada_norm=10)),
    'qwen-image': ('QwenImageTransformer2DModel', 'Diffusion', dict(diffused, patch_size=2, in_channels=16, out_channels=4,
                   joint_attention_dim=16, axes_dims_rope=(2, 2, 4))),
    'wan': ('WanTransformer3DModel', 'Diffusion', dict(diffused, patch_size=(1, 2, 2), attention_head_dim=12, out_channels=4, text_dim=16,
            freq_dim=16, ffn_dim=32)),
    'whisper': ('whisper', 'SpeechSeq2Seq', dict(halves, num_mel_bins=8, max_source_positions=20, max_target_positions=20)),
}


def model_of(name, seed=0):
    model_type, kind, more = families[name]
    torch.manual_seed(2410 + seed)
    if kind == 'Diffusion':
        import diffusers
        model = getattr(diffusers, model_type)(**more)
    else:
        config = AutoConfig.for_model(model_type, **(more if 'text_config' in more else {**small, **more}))
        auto = getattr(transformers, 'AutoModel' if kind == 'Model' else f'AutoModelFor{kind}')
        model = auto.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model.eval()
