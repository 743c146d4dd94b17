"""Merges by mergekit, PEFT, transformers and plain torch, with the statements that say how they were made.

    merges.py DIR [NAME...]    makes the models and merges in DIR; prints one JSON object a line:
                               name, out, against, by, family, and `random` if mergekit drew random numbers
"""

import json
import os
import sys
import traceback

import by_mergekit
import by_others

if __name__ == "__main__":
    root, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    for made in (by_mergekit, by_others):
        for name, make in made.merges(root).items():
            if only and name not in only:
                continue
            out = os.path.join(root, "merges", name)
            try:
                print(json.dumps({"name": name, "out": out, "random": False, **make(out)}), flush=True)
            except Exception:
                print(f"{name}: {traceback.format_exc()}", file=sys.stderr, flush=True)
                sys.exitcode = 1
    sys.exit(getattr(sys, "exitcode", 0))
