"""Reads or fills the hub's cache with huggingface_hub, as its environment variables say.

hub.py read MODEL     prints the cached files, without a network
hub.py fetch MODEL    downloads the model, and prints the folder
"""

import hashlib
import json
import os
import sys

from huggingface_hub import __version__, scan_cache_dir, snapshot_download, try_to_load_from_cache


def digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


what, model = sys.argv[1:3]
if what == "fetch":
    print(json.dumps({"version": __version__, "folder": snapshot_download(model)}))
else:
    folder = snapshot_download(model, local_files_only=True)
    names = sorted(os.listdir(folder))
    cache = scan_cache_dir()
    report = {
        "version": __version__,
        "folder": folder,
        "files": {name: digest(os.path.join(folder, name)) for name in names},
        "found": [name for name in names if try_to_load_from_cache(model, name) == os.path.join(folder, name)],
        "warnings": [str(warning) for warning in cache.warnings],
        "size_on_disk": cache.size_on_disk,
        "refs": sorted(ref for repo in cache.repos for ref in repo.refs),
    }
    print(json.dumps(report))
