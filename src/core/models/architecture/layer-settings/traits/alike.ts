/** Families whose layers are all the same, in configuration and code. */
export const alikeTypes: readonly string[] = `
apertus apertus1p5_text arcee aria_text bart bert bert-generation biogpt bitnet blenderbot
blenderbot-small blip_text_model bloom camembert clip_text_model codegen cohere convbert
cosmos3_edge_text cpmant ctrl data2vec-text dbrx deberta distilbert doge electra emu3_text_model
ernie ernie4_5 eurobert exaone falcon falcon_h1 falcon_mamba flex_olmo fnet fsmt gemma git glm glm4
glm4v_text glm_ocr_text gpt_bigcode gpt_neox gptj granite granitemoe granitemoeshared gte helium
hunyuan_v1_dense hyperclovax ibert internlm3 iquestcoder jais2 jetmoe jina_embeddings_v3
kosmos_2_5_text_model kosmos_2_text_model layoutlm llama luke m2m_100 mamba mamba2 marian mbart
megatron-bert minimax_m2 ministral3 mistral mixtral mobilebert mpnet mpt mra mt5 nanochat nemotron
nomic_bert nystromformer olmo olmo2 olmoe openai-gpt opt paddleocr_vl_text pegasus persimmon phi
phi3 phi4_multimodal phimoe plbart prophetnet rembert roberta roberta-prelayernorm roc_bert roformer
seed_oss solar_open squeezebert stablelm starcoder2 t5 tapas tipsv2_text_model trocr umt5
voxtral_realtime_text whisper xglm xlm-roberta xlm-roberta-xl xlnet xmod yoso youtu
FluxTransformer2DModel PixArtTransformer2DModel QwenImageTransformer2DModel WanTransformer3DModel
`
  .trim()
  .split(/\s+/);
