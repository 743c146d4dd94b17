"""Makes what training programs leave behind, small, and compares layerloom's models with the programs' own exports.

usage: trainers.py base DIR | PROGRAM DIR | compare FILE

`base` writes DIR/base; PROGRAM (trl, torchtune, mlx, swift, layouts) writes folders below DIR/PROGRAM and
prints a line of JSON for each: its name, whether the program itself wrote it, what layerloom is given, and the export,
a folder that transformers loads. `layouts` writes folders of other programs as their documentation describes them.
`compare` reads such lines with `ours`, a folder that layerloom wrote, and prints the differences.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("WANDB_DISABLED", "true")

SIZES = dict(
    hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    vocab_size=128, max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    tie_word_embeddings=False,
)  # fmt: skip
WORDS = ["<pad>", "<s>", "</s>", "<unk>", "user", "assistant", ":", *[f"w{index}" for index in range(121)]]
TEXTS = [" ".join(f"w{(index * step + 3) % 120}" for step in range(1, 12)) for index in range(16)]
TEMPLATE = "{% for m in messages %}{{ m.role }} : {{ m.content }} </s> {% endfor %}"
TARGETS = ["q_proj", "v_proj", "down_proj"]


def say(name, given, export, by_tool=True, **more):
    print("CASE " + json.dumps({"name": name, "given": str(given), "export": str(export), "byTool": by_tool, **more}))


def base(work):
    import torch
    import transformers as tf
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(0)
    tf.LlamaForCausalLM(tf.LlamaConfig(**SIZES)).save_pretrained(work / "base")
    tokens = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = dict(pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=tokens, **special)
    fast.chat_template = TEMPLATE
    fast.save_pretrained(work / "base")


def merged(folder, source, adapter):
    """PEFT's merge of an adapter."""
    import torch
    import transformers as tf
    from peft import PeftModel

    cls = getattr(tf, "AutoModelForSequenceClassification" if "reward" in str(adapter) else "AutoModelForCausalLM")
    more = dict(num_labels=1) if "reward" in str(adapter) else {}
    model = cls.from_pretrained(source, dtype=torch.float32, **more)
    tokenizer = tf.AutoTokenizer.from_pretrained(adapter)
    if len(tokenizer) > model.config.vocab_size:
        model.resize_token_embeddings(len(tokenizer))
    PeftModel.from_pretrained(model, adapter).merge_and_unload().save_pretrained(folder)
    return folder


def trl(work):
    import trl as program
    from datasets import Dataset
    from peft import LoraConfig

    start = work / "base"
    prompts = [{"role": "user", "content": text} for text in TEXTS]
    replies = [[{"role": "assistant", "content": text}] for text in TEXTS[::-1]]
    rows = [[prompt] for prompt in prompts]
    texts = Dataset.from_dict({"text": TEXTS})
    pairs = Dataset.from_dict({"prompt": rows, "chosen": replies, "rejected": replies[::-1]})
    common = dict(
        max_steps=2, save_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True, bf16=False,
        learning_rate=1e-2, logging_steps=1, disable_tqdm=True, gradient_checkpointing=False,
    )  # fmt: skip
    lora = dict(r=4, lora_alpha=8, target_modules=TARGETS)
    trainings = {
        "sft": (program.SFTTrainer, program.SFTConfig, texts, None),
        "sft-lora": (program.SFTTrainer, program.SFTConfig, texts, LoraConfig(**lora, task_type="CAUSAL_LM")),
        "sft-dora": (program.SFTTrainer, program.SFTConfig, texts,
                     LoraConfig(**lora, task_type="CAUSAL_LM", use_dora=True, use_rslora=True)),
        "sft-lora-saved": (program.SFTTrainer, program.SFTConfig, texts,
                           LoraConfig(**lora, task_type="CAUSAL_LM", modules_to_save=["embed_tokens", "lm_head"])),
        "dpo": (program.DPOTrainer, program.DPOConfig, pairs, None),
        "dpo-lora": (program.DPOTrainer, program.DPOConfig, pairs, LoraConfig(**lora, task_type="CAUSAL_LM")),
        "reward": (program.RewardTrainer, program.RewardConfig, pairs, None),
        "reward-lora": (program.RewardTrainer, program.RewardConfig, pairs,
                        LoraConfig(**lora, task_type="SEQ_CLS", modules_to_save=["score"])),
    }  # fmt: skip
    for name, (trainer, config, data, peft) in trainings.items():
        out = work / "trl" / name
        run = trainer(
            model=str(start), args=config(output_dir=str(out), **common), train_dataset=data, peft_config=peft
        )
        run.train()
        run.save_model(str(out))
        for at, folder in (("mid-run", out / "checkpoint-1"), ("final", out)):
            if peft is None:
                say(f"TRL {name}, {at}", folder, folder)
            else:
                say(f"TRL {name}, {at}", f"{start}+{folder}", merged(f"{folder}-peft", start, folder))


def torchtune(work):
    import torch
    from torchtune.models.llama3_2 import llama3_2
    from torchtune.models.llama3 import llama3, lora_llama3
    from torchtune.modules.peft import get_adapter_params, get_lora_module_names
    from torchtune.training import FullModelHFCheckpointer

    start = work / "base"
    shape = dict(
        vocab_size=SIZES["vocab_size"], num_layers=2, num_heads=4, num_kv_heads=2, embed_dim=32, max_seq_len=128,
        intermediate_dim=64,
    )  # fmt: skip
    for kind in ("full", "lora", "adapter"):
        out = work / "torchtune" / kind
        checkpointer = FullModelHFCheckpointer(
            checkpoint_dir=str(start), checkpoint_files=["model.safetensors"], model_type="LLAMA3", output_dir=str(out)
        )
        state = checkpointer.load_checkpoint()["model"]
        torch.manual_seed(3)
        saved = {"model": {name: value + 0.01 * torch.randn_like(value) for name, value in state.items()}}
        if kind != "full":
            model = lora_llama3(
                lora_attn_modules=["q_proj", "v_proj"], apply_lora_to_mlp=False, lora_rank=4, lora_alpha=8, **shape
            )
            model.load_state_dict(state, strict=False)
            adapter = {name: 0.05 * torch.randn_like(value) for name, value in get_adapter_params(model).items()}
            model.load_state_dict(adapter, strict=False)
            merged_state = dict(state)
            for name in state:
                a, b = (adapter.get(name.replace(".weight", f".lora_{which}.weight")) for which in "ab")
                if a is not None:
                    merged_state[name] = state[name] + 2.0 * (b @ a)
            modules = get_lora_module_names(["q_proj", "v_proj"], False, False)
            saved = {
                "model": merged_state, "adapter": adapter,
                "adapter_config": dict(r=4, lora_alpha=8, target_modules=modules, peft_type="LORA"),
            }  # fmt: skip
        checkpointer.save_checkpoint(saved, epoch=0, adapter_only=kind == "adapter")
        folder = next(out.glob("epoch_0"))
        # transformers would add the adapter of the folder to the merged model, a second time.
        whole = work / "torchtune" / "lora-whole"
        if kind == "lora":
            shutil.copytree(folder, whole, ignore=shutil.ignore_patterns("adapter_*"))
        if kind == "full":
            say("torchtune full", folder, folder)
        elif kind == "lora":
            index = next((path for path in folder.glob("*.index.json")), None)
            say("torchtune LoRA, merged and adapter in one folder", index, whole)
            say("torchtune LoRA, the adapter of both", f"{start}+{folder}", whole)
        else:
            say("torchtune LoRA, adapter only", f"{start}+{folder}", whole)


def mlx(work):
    from mlx_lm import fuse, lora  # noqa: F401

    start = work / "base"
    data = work / "mlx" / "data"
    data.mkdir(parents=True)
    for name in ("train", "valid"):
        (data / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    python = [sys.executable, "-m", "mlx_lm"]
    for kind in ("lora", "dora", "full"):
        out = work / "mlx" / kind
        subprocess.run(
            [*python, "lora", "--train", "--model", start, "--data", data, "--adapter-path", out, "--iters", "2",
             "--batch-size", "2", "--fine-tune-type", kind, "--num-layers", "2", "--learning-rate", "1e-2"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        fused = work / "mlx" / f"{kind}-fused"
        subprocess.run([*python, "fuse", "--model", start, "--adapter-path", out, "--save-path", fused], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        say(f"mlx-lm {kind}, fused", fused, fused)
        say(f"mlx-lm {kind}, adapters", f"{start}+{out}", fused)


def swift(work):
    start, out = work / "base", work / "swift"
    out.mkdir()
    data = out / "data.jsonl"
    rows = zip(TEXTS, TEXTS[::-1])
    data.write_text("\n".join(json.dumps({"messages": [
        {"role": "user", "content": one}, {"role": "assistant", "content": other}]}) for one, other in rows))  # fmt: skip

    def run(command, *args):
        program = [sys.executable, "-c", "from swift.cli.main import cli_main; cli_main()", command]
        kind = ["--model_type", "llama", "--template", "dummy", "--torch_dtype", "float32", "--use_hf", "true"]
        subprocess.run([*program, "--model", str(start), *kind, *args], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})  # fmt: skip

    for name in ("full", "lora"):
        run("sft", "--dataset", str(data), "--max_steps", "2", "--save_steps", "1", "--output_dir", str(out / name),
            "--add_version", "false", "--learning_rate", "1e-2", "--per_device_train_batch_size", "2", "--report_to",
            "none", "--split_dataset_ratio", "0", "--tuner_type", name)  # fmt: skip
        for at, step in (("mid-run", 1), ("final", 2)):
            folder = out / name / f"checkpoint-{step}"
            if name == "full":
                say(f"ms-swift full, {at}", folder, folder)
            elif at == "final":
                export = out / f"{name}-merged"
                run("export", "--adapters", str(folder), "--merge_lora", "true", "--output_dir", str(export))
                say("ms-swift LoRA, final", f"{start}+{folder}", export)
                say("ms-swift LoRA, merged", export, export)


def layouts(work):
    """Folders of programs that do not run here, as their documentation and code describe them."""
    import torch
    import torch.distributed.checkpoint as dcp
    import transformers as tf
    from peft import LoraConfig, get_peft_model

    start, out = work / "base", work / "layouts"
    tokenizer = tf.AutoTokenizer.from_pretrained(start)

    def trained(seed):
        torch.manual_seed(seed)
        model = tf.AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
        for parameter in model.parameters():
            parameter.data += 0.01 * torch.randn_like(parameter)
        return model

    def full(name, folder, *beside, dtype=None, **how):
        model = trained(len(name)).to(dtype or torch.float32)
        model.save_pretrained(out / folder, **how)
        tokenizer.save_pretrained(out / folder)
        for file in beside:
            (out / folder / file).parent.mkdir(parents=True, exist_ok=True)
            torch.save({"step": 1}, out / folder / file)
        say(name, out / folder, out / folder, False)
        return model

    def lora(name, folder, *beside, more=None):
        torch.manual_seed(len(name))
        model = tf.AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
        tuned = get_peft_model(
            model, LoraConfig(r=4, lora_alpha=8, target_modules=TARGETS, task_type="CAUSAL_LM", init_lora_weights=False)
        )
        tuned.save_pretrained(out / folder)
        tokenizer.save_pretrained(out / folder)
        config = out / folder / "adapter_config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), **(more or {})}))
        for file in beside:
            torch.save({"step": 1}, out / folder / file)
        export = out / f"{folder}-merged"
        tuned.merge_and_unload().save_pretrained(export)
        say(name, f"{start}+{out / folder}", export, False)

    def state(name, folder, save, given=None):
        model = trained(len(name))
        export = out / f"{folder}-export"
        model.save_pretrained(export)
        (out / folder).mkdir(parents=True)
        save(model, out / folder)
        say(name, out / folder / given if given else out / folder, export, False, config=str(start))

    training = ["optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"]
    full("axolotl full, final", "axolotl-full", "training_args.bin")
    full("axolotl full, mid-run", "axolotl-full/checkpoint-1", *training)
    lora("axolotl LoRA, final", "axolotl-lora")
    full("axolotl LoRA, merged", "axolotl-lora-run/merged")
    lora("unsloth LoRA", "unsloth-lora", more={"auto_mapping": {"base_model_class": "LlamaForCausalLM",
         "parent_library": "transformers.models.llama.modeling_llama", "unsloth_fixed": True}})  # fmt: skip
    full("unsloth merged_16bit", "unsloth-16bit", dtype=torch.float16)
    full("unsloth merged_16bit in shards", "unsloth-shards", dtype=torch.bfloat16, max_shard_size="40KB")
    full("LLaMA-Factory full, final", "lf-full", "training_args.bin")
    full("LLaMA-Factory full, mid-run", "lf-full/checkpoint-1", *training)
    lora("LLaMA-Factory LoRA, mid-run", "lf-lora/checkpoint-1", *training)
    lora("LLaMA-Factory LoRA, final", "lf-lora", "training_args.bin")
    full("open-instruct, final", "open-instruct")
    full("NeMo Automodel, consolidated", "nemo/epoch_0_step_1/model/consolidated")
    lora("NeMo Automodel, PEFT", "nemo-peft")
    lora("verl, lora_adapter", "verl-lora")
    state("NeMo Automodel, DCP", "nemo-dcp",
          lambda model, to: dcp.save(model.state_dict(), checkpoint_id=to, no_dist=True))  # fmt: skip
    state("Accelerate FSDP, mid-run", "fsdp/checkpoint-1",
          lambda model, to: dcp.save({"model": model.state_dict()}, checkpoint_id=to / "pytorch_model_fsdp_0", no_dist=True))  # fmt: skip
    state("axolotl FSDP, final", "axolotl-fsdp",
          lambda model, to: dcp.save({"model": model.state_dict()}, checkpoint_id=to / "pytorch_model_fsdp_0", no_dist=True))  # fmt: skip
    state("torch.save of a state dict", "state", given="pytorch_model.bin",
          save=lambda model, to: torch.save(model.state_dict(), to / "pytorch_model.bin"))  # fmt: skip
    state("verl, one rank", "verl", given="model_world_size_1_rank_0.pt",
          save=lambda model, to: torch.save(model.state_dict(), to / "model_world_size_1_rank_0.pt"))  # fmt: skip


def compare(file):
    import torch
    import transformers as tf

    tf.logging.set_verbosity_error()
    tf.utils.logging.disable_progress_bar()
    ids = torch.arange(3, 19).reshape(2, 8)
    for line in file.read_text().splitlines():
        case = json.loads(line)
        answers = []
        for folder in (case["ours"], case["export"]):
            config = tf.AutoConfig.from_pretrained(folder)
            cls = getattr(tf, config.architectures[0])
            model, info = cls.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
            wrong = [key for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") for key in info[kind]]
            with torch.no_grad():
                answers.append(model.eval()(input_ids=ids, attention_mask=torch.ones_like(ids)).logits)
            if folder == case["ours"]:
                found = [str(key) for key in wrong]
        largest = float((answers[0] - answers[1]).abs().max())
        print("CASE " + json.dumps({**case, "wrong": found, "logits": largest}))


if __name__ == "__main__":
    command, work = sys.argv[1], Path(sys.argv[2]).resolve()
    globals()[command](work)
