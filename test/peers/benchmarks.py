#!/usr/bin/env python3
"""Facts of the harness's own tasks for `benchmarks.test.ts`, in JSON.

facts  {names}      from standard input: of each task or group its metrics, shots, output and members.
match  {patterns}   the harness's tasks and groups that each expression matches whole.
model  DIRECTORY    a model of 0.1 million random weights, with a tokenizer of bytes.
"""
import json
import re
import sys


def index():
    from lm_eval.tasks import TaskManager

    return TaskManager().task_index


def members_of(tasks, name):
    """The tasks of a group, in groups and tags at any depth."""
    entry = tasks[name]
    if entry.kind.name == "TAG":
        return sorted(entry.tags)
    if entry.kind.name == "TASK":
        return [name]
    return [each for member in entry.cfg["task"] for each in members_of(tasks, member)]


def metric_name(metric):
    # A metric of code is a function; HumanEval's function names its figure itself.
    return "pass@1" if str(metric).endswith("pass_at_k") else str(metric).rpartition(".")[2]


def answer_facts(names):
    tasks = index()
    answers = {}
    for name in names:
        if name not in tasks:
            answers[name] = None
            continue
        members = members_of(tasks, name)
        first = tasks[members[0]].cfg
        filters = [each["name"] for each in first.get("filter_list") or []] or ["none"]
        metrics = [metric_name(each["metric"]) for each in first["metric_list"]]
        answers[name] = {
            "metrics": [f"{metric},{each}" for metric in metrics for each in filters],
            "shots": first.get("num_fewshot") or 0,
            "output": first["output_type"],
            "unsafe": bool(first.get("unsafe_code")),
            "members": [each.removeprefix(f"{name}_") for each in members if each != name],
        }
    return answers


def answer_match(patterns):
    names = list(index())
    return {pattern: [name for name in names if re.fullmatch(pattern, name)] for pattern in patterns}


def make_model(directory):
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {"<eos>": 0} | {c: i + 1 for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<eos>").save_pretrained(directory)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=8192, bos_token_id=None, eos_token_id=0, pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(directory)
    return {}


mode = sys.argv[1]
if mode == "model":
    answer = make_model(sys.argv[2])
else:
    answer = {"facts": answer_facts, "match": answer_match}[mode](**json.load(sys.stdin))
print(json.dumps(answer))
