"""Writes lm-eval.json: what lm_eval extracts from made-up responses, and their scores. Needs lm_eval 0.4.13."""

import json
import random
from pathlib import Path

from lm_eval.api.metrics import exact_match_hf_evaluate
from lm_eval.filters.extraction import RegexFilter

random.seed(7)
flexible = RegexFilter(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", group_select=-1)
first = RegexFilter(r"The answer is (\-?[0-9\.\,]+)", group_select=0)
parts = ["The answer is ", "18", "-5", "$1,250.50", ".", "...", "x", "\n", "#### ", " 7 ", "-", "no ", "3", "$", "1."]
gsm8k = {"ignore_case": True, "regexes_to_ignore": [",", r"\$", "(?s).*#### ", r"\.$"]}


def score(answer, target, **options):
    return int(exact_match_hf_evaluate([answer], [target], **options)["exact_match"])


rows = []
while len(rows) < 60:
    response = "".join(random.choice(parts) for _ in range(random.randint(1, 6)))
    target = random.choice(["18", "-5", "5", "1250.50", "3", "7"])
    answer = list(flexible.apply([[response]], [{}]))[0][0]
    row = {
        "response": response,
        "target": target,
        "flexible": answer,
        "first": list(first.apply([[response]], [{}]))[0][0],
        "mgsm": score(answer, target, ignore_case=True, ignore_punctuation=True),
        "gsm8k": score(answer, f"so #### {target}", **gsm8k),
    }
    # Half of the rows are right by one of the ways.
    if row["mgsm"] or row["gsm8k"] or len(rows) % 2:
        rows.append(row)
lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
Path(__file__).with_name("lm-eval.json").write_text(f"[\n{lines}\n]\n")
