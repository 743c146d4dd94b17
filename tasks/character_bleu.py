"""BLEU over characters, for text without spaces between words."""

import sacrebleu


def bleu_char(items):
    """Passes on reference and prediction, because BLEU is computed over the whole set."""
    return items


def corpus_bleu_char(items):
    """Returns sacrebleu's corpus BLEU with `tokenize="char"` of (reference, prediction) pairs."""
    references, predictions = zip(*items, strict=True)
    return sacrebleu.corpus_bleu(list(predictions), [list(references)], tokenize="char").score
