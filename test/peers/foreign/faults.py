"""Merges with exactly one fault each, made as tools make them, and the expected kind of each fault.

    faults.py DIR [NAME...]    makes the faults in DIR, five seeds each; prints one JSON object a line:
                               name, seed, out, against
"""

import json
import os
import sys
import traceback

import adapter_faults
import merge_faults

if __name__ == "__main__":
    root, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    failed = False
    for kinds in (adapter_faults, merge_faults):
        for name, make in kinds.FAULTS.items():
            for seed in range(1, 6) if not only or name in only else ():
                out = os.path.join(root, "faults", f"{name}-{seed}")
                try:
                    print(json.dumps({"name": name, "seed": seed, "out": out, "against": make(root, seed, out)}), flush=True)
                except Exception:
                    failed = True
                    print(f"{name}: {traceback.format_exc()}", file=sys.stderr, flush=True)
    sys.exit(failed)
