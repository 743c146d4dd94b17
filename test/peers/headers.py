"""The reference reader of safetensors (Rust) on every file in a directory: its tensors, or a refusal.

Prints a line of JSON for each file: its name, and its tensors as [dtype, shape, SHA-256 of its bytes] or
null.
"""

import hashlib
import json
import os
import sys

from safetensors import deserialize

directory = sys.argv[1]
for name in sorted(os.listdir(directory)):
    with open(os.path.join(directory, name), "rb") as file:
        content = file.read()
    try:
        tensors = {
            tensor: [of["dtype"], of["shape"], hashlib.sha256(of["data"]).hexdigest()]
            for tensor, of in deserialize(content)
        }
    except Exception as error:
        print(json.dumps([name, None, str(error)]))
        continue
    print(json.dumps([name, tensors, ""]))
