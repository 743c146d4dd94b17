"""The checkpoint that a call without `out` returns: its files, mapped into memory."""

import errno
import json
import mmap
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeAlias, cast

from ._arrays import numpy_over, torch_over, write_all
from ._errors import named, system_limits
from ._result import Result
from ._safetensors import read_header

StrPath: TypeAlias = str | os.PathLike[str]


def path_text(path: object) -> str:
    """Returns a path as text. Refuses bytes, because their encoding is unknown."""
    text: object = os.fspath(cast("os.PathLike[str]", path)) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"expected a text or a path, got {path!r}")
    return text

EMBEDDINGS = re.compile(r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings)\.weight$")
HEADS = re.compile(r"(^|\.)(lm_head|embed_out|output)\.weight$")
LANGUAGE_MODELS = re.compile(r"ForCausalLM|LMHead|ForConditionalGeneration")


class Merged(Mapping[str, Any]):
    """A merged checkpoint in memory: a mapping from the name of each tensor to a NumPy array.

    Arrays and tensors are made on request, over the checkpoint's bytes, without a copy. Writing to them
    changes only this process's copy of a page. The memory has no name in a file system, and is freed together with this
    object and the last of its arrays.
    """

    result: Any
    """The result of the same call with `out`, without the key `out`."""

    def __init__(self, directory: str, result: Result) -> None:
        """Maps the files of a directory, which may then be removed."""
        self.result = type(result)({key: value for key, value in result.items() if key != "out"})
        with system_limits("the merge in memory"):
            self._maps: dict[str, mmap.mmap | bytes | None] = {
                name: mapped(os.path.join(directory, name)) for name in names_of(directory)
            }
        self._tensors = {
            name: (file, tensor)
            for file in self._maps
            if file.endswith(".safetensors")
            for name, tensor in read_header(memoryview(self._map(file))).items()
        }

    def __getitem__(self, name: str) -> Any:
        file, tensor = self._tensors[name]
        return numpy_over(name, self._map(file), tensor)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<layerloom.Merged: {len(self)} tensors, {self.nbytes} bytes>"

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.end - tensor.begin for _, tensor in self._tensors.values())

    def dtype(self, name: str) -> str:
        """A tensor's dtype by safetensors' name: `BF16`."""
        return self._tensors[name][1].dtype

    def shape(self, name: str) -> tuple[int, ...]:
        return self._tensors[name][1].shape

    def raw(self, name: str) -> memoryview:
        """The bytes of a tensor, whatever its dtype."""
        file, tensor = self._tensors[name]
        return memoryview(self._map(file))[tensor.begin : tensor.end]

    def tensor(self, name: str) -> Any:
        """A torch tensor over the same bytes as the array."""
        file, tensor = self._tensors[name]
        return torch_over(name, self._map(file), tensor)

    def state_dict(self) -> dict[str, Any]:
        """All tensors as torch tensors, for `model.load_state_dict`; with `assign=True` the model then uses these
        bytes.

        Includes a tied head under its own name, although files store it only as the embeddings.
        """
        tensors = {name: self.tensor(name) for name in self}
        embeddings = self._tied()
        if embeddings is not None:
            tensors["embed_out.weight" if "embed_in" in embeddings else "lm_head.weight"] = tensors[embeddings]
        return tensors

    @property
    def config(self) -> dict[str, Any] | None:
        """`config.json`, or `adapter_config.json` for an adapter, or None."""
        name = next((name for name in ("config.json", "adapter_config.json") if name in self._maps), None)
        if name is None:
            return None
        config: dict[str, Any] = json.loads(bytes(self._map(name)))
        return config

    @property
    def files(self) -> dict[str, bytes]:
        """The files beside the weights, by name: configuration, tokenizer, model card."""
        return {name: bytes(self._map(name)) for name in self._maps if not name.endswith(".safetensors")}

    def save(self, out: StrPath) -> None:
        """Writes the checkpoint, as it is now, into a directory that must not exist."""
        with named("save(): out"):
            directory = os.path.abspath(path_text(out))
        if os.path.lexists(directory):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), directory)
        growing = f"{directory}.{os.urandom(4).hex()}.incomplete"
        try:
            for name in self._maps:
                path = os.path.join(growing, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "xb", buffering=0) as file:
                    write_all(file, memoryview(self._map(name)))
            os.rename(growing, directory)
        except BaseException:
            shutil.rmtree(growing, ignore_errors=True)
            raise

    def close(self) -> None:
        """Frees the memory, except of arrays in use."""
        self._maps = dict.fromkeys(self._maps)

    def __enter__(self) -> "Merged":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a merge in memory is of this process, and is not pickled; `save` writes it to a directory")

    def _map(self, file: str) -> mmap.mmap | bytes:
        content = self._maps[file]
        if content is None:
            raise ValueError("this merge in memory was closed")
        return content

    def _tied(self) -> str | None:
        """Returns the name of embeddings that are also the head of a language model."""
        config = self.config or {}
        texts = {**config, **config.get("text_config", {})}
        is_tied = config.get("tie_word_embeddings", texts.get("tie_word_embeddings", True))
        if not is_tied or not LANGUAGE_MODELS.search(" ".join(config.get("architectures") or [])):
            return None
        if any(HEADS.search(name) for name in self):
            return None
        return next((name for name in self if EMBEDDINGS.search(name)), None)


def names_of(directory: str) -> list[str]:
    return sorted(os.path.relpath(os.path.join(folder, name), directory) for folder, _, names in os.walk(directory) for name in names)


def mapped(path: str) -> mmap.mmap | bytes:
    """Maps a file privately: written pages belong to this process alone. The system keeps the file's bytes for the
    mapping."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            return b""
        # Reserves no swap for writable pages.
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        if sys.version_info >= (3, 13):
            # Without this, each mapping would keep a file descriptor.
            return mmap.mmap(descriptor, size, flags=flags, prot=protection, trackfd=False)
        return mmap.mmap(descriptor, size, flags=flags, prot=protection)
    finally:
        os.close(descriptor)
