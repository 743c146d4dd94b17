"""The filter `last-number` of layerloom's MGSM tasks, for lm-evaluation-harness's `function: custom`."""

import re

# Separators and signs of other scripts; their decimal digits are mapped by Unicode's own table.
_MARKS = str.maketrans({
    "\uff0c": ",",  # full-width comma
    "\u066c": ",",  # Arabic thousands separator
    "\uff0e": ".",  # full-width full stop
    "\u066b": ".",  # Arabic decimal separator
    "\uff0d": "-",  # full-width hyphen-minus
    "\u2212": "-",  # minus sign
    "\uff04": "$",  # full-width dollar sign
})

# A minus after a digit, a Latin letter or a closing bracket subtracts: 20-12.
_SIGN = r"(?P<sign>(?<![0-9A-Za-z)\]])-\$?)?"

# 1,234.5 and, with groups as in India, 1,14,200.
_POINT = re.compile(_SIGN + r"(?P<number>(?!0)\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)")

# 1.234,5 and 1 234,5. MGSM's answers are whole, so that a comma before three digits groups them too.
_COMMA = re.compile(
    _SIGN
    + r"(?P<number>(?!0)\d{1,3}(?P<group>[.,\u00a0\u202f ])\d{3}(?:(?P=group)\d{3})*(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
)


def _canonical(sign, whole, fraction):
    # The metric drops ASCII punctuation, which would make 1.5 equal to 15 and -5 equal to 5. So the minus becomes
    # U+2212 and the point a middle dot, which the metric keeps.
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    number = f"{whole}\u00b7{fraction}" if fraction else whole
    return f"\u2212{number}" if sign and number != "0" else number


def _ungrouped_point(match):
    return match["number"].replace(",", "")


def _ungrouped_comma(match):
    number = match["number"]
    return (number.replace(match["group"], "") if match["group"] else number).replace(",", ".")


def _last(pattern, ungrouped, response):
    text = "".join(str(int(c)) if c.isdecimal() else c for c in response).translate(_MARKS)
    matches = list(pattern.finditer(text))
    if not matches:
        return "[invalid]"
    whole, _, fraction = ungrouped(matches[-1]).partition(".")
    return _canonical(matches[-1]["sign"], whole, fraction)


def last_number(responses, docs):
    """Returns the last number of each response in plain digits, or `[invalid]`.

    Decimal digits of any script count (Bengali, Telugu, full-width); thousands separators and zeros that change
    nothing are dropped (1,234 and 5.00 give 1234 and 5), and so is what stands around the number: currencies,
    units, a full stop, a colon of any width.
    """
    return [[_last(_POINT, _ungrouped_point, response) for response in of_one] for of_one in responses]


def last_number_decimal_comma(responses, docs):
    """Does the same for German, Spanish, French and Russian, where 1.234 and 1 234 are thousands and 1,5 is a
    fraction."""
    return [[_last(_COMMA, _ungrouped_comma, response) for response in of_one] for of_one in responses]
