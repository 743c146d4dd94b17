#!/usr/bin/env python3
"""Renders conversations by transformers with two templates of each name: from standard input, and mergekit's.

chat_templates.py < {"NAME": "TEMPLATE", …}

Answers in JSON, for each name and conversation, with both texts: `error: …` if a template raises an error,
and null if mergekit has no template of the name.
"""
import importlib.resources
import json
import sys

from jinja2.exceptions import TemplateError
from mergekit._data import chat_templates
from transformers.utils.chat_template_utils import render_jinja_template

SYSTEM, USER, MORE = ({"role": role, "content": content} for role, content in [
    ("system", "Be kind.\nAnswer briefly."), ("user", " What is 2 + 3?\n"), ("user", "And twice that?")])
ANSWER = {"role": "assistant", "content": "5 "}

CONVERSATIONS = {
    "user": ([USER], True),
    "user, no prompt": ([USER], False),
    "system": ([SYSTEM, USER], True),
    "answered": ([USER, ANSWER], False),
    "answered, prompt": ([USER, ANSWER], True),
    "turns": ([USER, ANSWER, MORE], True),
    "system, turns": ([SYSTEM, USER, ANSWER, MORE], True),
    "system, turns, answered": ([SYSTEM, USER, ANSWER, MORE, ANSWER], False),
    "two of the user": ([USER, MORE], True),
    "assistant first": ([ANSWER, USER], True),
    "an unknown role": ([USER, {"role": "tool", "content": "5"}], True),
}


def render(template, messages, prompt):
    try:
        (text,), _ = render_jinja_template(
            [messages], chat_template=template, add_generation_prompt=prompt, bos_token="<s>", eos_token="</s>")
    except TemplateError as error:
        return f"error: {error}"
    return text


def peer(name):
    file = importlib.resources.files(chat_templates) / f"{name}.jinja"
    return file.read_text() if file.is_file() else None


def compare(name, own):
    theirs = peer(name)
    return {
        title: {
            "own": render(own, messages, prompt),
            "peer": None if theirs is None else render(theirs, messages, prompt),
        }
        for title, (messages, prompt) in CONVERSATIONS.items()
    }


print(json.dumps({name: compare(name, own) for name, own in json.load(sys.stdin).items()}))
