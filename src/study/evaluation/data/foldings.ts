const punctuation = /[!-/:-@[-`{-~]/g;

/** Normalises text like lm_eval's `ignore_case` and `ignore_punctuation`. */
export const withoutMarks = (text: string): string => text.toLowerCase().replace(punctuation, '');

/**
 * Reads an answer as lm_eval's AIME does: the last `\boxed{…}`, else the text between the first and the last
 * `$`, else the whole response, normalised like `strip_string`. Fractions and roots keep their spelling,
 * since AIME's answers are whole numbers. A response without such marks has an answer only if it is a number.
 */
export const boxedAnswer = (response: string): string => {
  const [from, to] = [response.indexOf('$'), response.lastIndexOf('$')];
  const marked = lastBoxed(response) ?? (from < to ? response.slice(from + 1, to) : undefined);
  const text = stripped(marked ?? response);
  return marked === undefined && !/^-?\d+$/.test(text) ? '' : text;
};

const lastBoxed = (response: string): string | undefined => {
  const spaced = response.lastIndexOf('\\boxed ');
  if (spaced >= 0) return response.slice(spaced + '\\boxed '.length).split('$', 1)[0];
  const start = response.lastIndexOf('\\boxed');
  if (!response.startsWith('\\boxed{', start)) return undefined;
  let depth = 0;
  for (let at = start; at < response.length; at += 1) {
    if (response[at] === '{') depth += 1;
    if (response[at] === '}') depth -= 1;
    if (response[at] === '}' && depth === 0) return response.slice(start + '\\boxed{'.length, at);
  }
  return undefined;
};

/** Marks that lm_eval's `strip_string` ignores. */
const idle = /\\!|\\left|\\right|\^\{\\circ\}|\^\\circ|\\\$|\\%/g;

const stripped = (answer: string): string => {
  const [text = '', ...units] = answer
    .replaceAll('\n', '')
    .replaceAll('\\\\', '\\')
    .replace(idle, '')
    .split('\\text{ ');
  if (units.length > 1) return answer;
  const [left = '', right, ...others] = text.split('=');
  const value = right !== undefined && others.length === 0 && left.length <= 2 ? right : text;
  return value.replaceAll(' ', '');
};
