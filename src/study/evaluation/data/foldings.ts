const punctuation = /[!-/:-@[-`{-~]/g;

/** Makes texts the same that lm_eval's `ignore_case` and `ignore_punctuation` call equal. */
export const withoutMarks = (text: string): string => text.toLowerCase().replace(punctuation, '');
