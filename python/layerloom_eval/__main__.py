"""Runs `lm_eval run` for one model after another in one process.

`layerloom evaluate` starts it with the harness's Python. It needs the standard library and lm_eval. Since it
uses internals of lm_eval, it first says its version, and whether it has them. Lines of JSON:

    out  {"program": 1, "lm_eval": VERSION, "lacks": [what it lacks of `uses.py`, …]}
    in   {"words": ["run", …], "log": PATH, "fingerprint": "samples" | "whole", "weights": [{"name", "file",
    "begin", "end", "dtype", "shape", "key"}, …] | null,
          "there": null | [{"name", …, "key"}, …]: the checkpoint's own files, if they differ from `weights`}
         or, instead of the words, {"trial": {"prompt", "max_tokens", "chat", "arguments"}}: see `trial.py`
    out  {"loaded": {"tensors", "bytes", "whole"}, "fingerprint": {NAME: {"whole" | "samples": SHA-256}}}
    if weights were given
    in   {"go": true}
    and can be compared
    out  {"code": EXIT CODE, "text": the answer of a trial}

Requests wait until the fingerprint is accepted. The harness prints to the log. A failed run loses only its own answers:
the next run loads its model whole. The process ends with its input.
"""

import json
import os
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version

from uses import lacking

PROGRAM = 1
"""Version of the lines above."""


def version_of_harness():
    try:
        return version("lm_eval")
    except PackageNotFoundError:
        return None


def run(words, trial, expected):
    """Runs the harness's command line once, or answers a prompt. Returns its exit code, and the answer.

    `expected` are the arguments of `exchange.expect`.
    """
    exchange = None
    try:
        import kept

        # A harness that asks servers has no torch and loads no weights.
        if expected["weights"] is not None or "exchange" in sys.modules:
            import exchange

            exchange.expect(**expected)
        if trial is not None:
            from trial import answer

            return 0, answer(**trial)
        from lm_eval.__main__ import cli_evaluate

        sys.argv = ["lm_eval", *words]
        with kept.settings(words):
            cli_evaluate()
        return 0, None
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:  # a line of the log, as of a process of its own
        traceback.print_exc()
        code = 1
    if code != 0 and exchange is not None:
        exchange.forget()
    return code, None


def main():
    # The harness and its children print to descriptors 1 and 2, so the protocol uses other descriptors.
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(silence, number)

    def reply(message):
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    def agree(loaded, fingerprint):
        reply({"loaded": loaded, "fingerprint": fingerprint})
        if not json.loads(requests.readline() or "{}").get("go"):
            sys.exit("the weights that were loaded are not the model's")

    reply({"program": PROGRAM, "lm_eval": version_of_harness(), "lacks": lacking()})
    # Reads each line without read-ahead, because `agree` reads from the same input.
    for line in iter(requests.readline, ""):
        request = json.loads(line)
        log = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        expected = {key: request[key] for key in ("weights", "there", "fingerprint")}
        code, text = run(request.get("words"), request.get("trial"), {**expected, "agree": agree})
        sys.stdout.flush()
        sys.stderr.flush()
        reply({"code": code} if text is None else {"code": code, "text": text})


if __name__ == "__main__":
    main()
