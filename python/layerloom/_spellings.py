# Written by scripts/python-calls.mjs from the definitions of the command line: `npm run docs:tables`.
"""Other spellings of parameters, and those of the functions."""

shown_spellings = {
    "language": "lang",
    "language_layers": "lang_layers",
    "shard_range": "part",
    "quantize": "quantise",
    "quantize_report": "quantise_report",
    "out_shard_size": "max_shard_size",
}
