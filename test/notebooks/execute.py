"""Executes a notebook in a directory, and writes it there with its outputs, and its pictures as
NAME-CELL.png.

Exits with 1 if a cell fails or writes to stderr, where warnings go.
"""

import base64
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

source, directory = map(Path, sys.argv[1:])
notebook = nbformat.read(source, as_version=4)
place = {"metadata": {"path": str(directory)}}
client = NotebookClient(notebook, timeout=1200, startup_timeout=300, kernel_name="python3", resources=place)
try:
    client.execute()
except CellExecutionError as error:
    sys.exit(f"{source.name}: {error}")

nbformat.write(notebook, directory / source.name)
warnings: list[str] = []
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.name == "stderr":
            warnings.append(f"{source.name}, cell {cell.id}: {output.text}")
        picture = output.get("data", {}).get("image/png")
        if picture is not None:
            (directory / f"{source.stem}-{cell.id}.png").write_bytes(base64.b64decode(picture))
sys.exit("\n".join(warnings) if warnings else 0)
