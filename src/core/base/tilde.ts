import { homedir } from 'node:os';
import { join } from 'node:path';

/** A tilde that a shell would replace by a home directory: at the start of a path, also behind `NAME=` and `BASE+`. */
const tilde = /(?<=^|[=+])~(?<user>[a-z_][\w-]*)?(?<rest>\/.*)?$/;

/**
 * Says that the tilde of a path stands for no home directory here; undefined for other texts. Shells leave it as it is in
 * `--out=~/merged` and in quotes, and a directory of that name would be made.
 *
 * @param by who has not replaced it, as a phrase: ` by your shell`
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
