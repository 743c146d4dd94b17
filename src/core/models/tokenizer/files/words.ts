import { counted } from '../../../base/format.js';
export const quote = (token: string, shown = 40): string =>
  JSON.stringify(token.length > shown ? `${token.slice(0, shown)}…` : token);

export const someTokens = (tokens: readonly string[], shown = 3): string =>
  `${counted(tokens.length, 'token')} (${quoted(tokens, shown)})`;

export const quoted = (tokens: readonly string[], shown = 3): string =>
  tokens
    .slice(0, shown)
    .map((token) => quote(token))
    .join(', ') + (tokens.length > shown ? ', …' : '');

/** Joins names as `a`, `a and b`, or `a, b and c`, without duplicates, because a base may also be merged. */
export const joined = (names: readonly string[]): string => {
  const each = [...new Set(names)];
  return each.length < 2 ? each.join('') : `${each.slice(0, -1).join(', ')} and ${each.at(-1)}`;
};
