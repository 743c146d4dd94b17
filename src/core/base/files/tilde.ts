import { homedir } from 'node:os';
import { join } from 'node:path';

/** Matches a tilde that a shell would expand: at a path's start, or after `NAME=` or `BASE+`. */
const tilde = /(?<=^|[=+])~(?<user>[a-z_][\w-]*)?(?<rest>\/.*)?$/;

/** Matches a variable that a shell would expand in the same places. */
const variable = /(?<=^|[=+])\$(?:\{(?<braced>[A-Z][A-Z\d_]+)\}|(?<bare>[A-Z][A-Z\d_]+))(?<rest>\/.*)?$/;

/**
 * Returns a message about an unexpanded tilde, as in `--out=~/merged`.
 *
 * @param by who should have expanded it, as a phrase: ` by your shell`
 */
export const tildeIn = (text: string, by = ''): string | undefined => {
  const groups = tilde.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { user, rest = '' } = groups;
  const remedy =
    user === undefined
      ? `write ${join(homedir(), rest)}`
      : `write the home directory of ${user} in its place`;
  return `\`~\` was not expanded${by}; ${remedy}`;
};

/** Returns why a path was not expanded. Also finds `$HOME` and other variables, which single quotes keep. */
export const unexpandedIn = (text: string, by = ''): string | undefined => {
  const { braced, bare, rest = '' } = variable.exec(text)?.groups ?? {};
  const name = braced ?? bare;
  if (name === undefined) return tildeIn(text, by);
  // Writes no other variable's value: it may be secret, and the text may come from someone else.
  const remedy =
    name === 'HOME'
      ? `write ${join(homedir(), rest)}`
      : 'write its value, or double quotes instead of single ones';
  return `\`$${name}\` was not expanded${by}; ${remedy}`;
};
