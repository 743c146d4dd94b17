/** True if a file's name, which may come from a stranger, is a path that stays inside its directory. */
export const staysInside = (name: string): boolean =>
  name !== '' &&
  !/\p{Cc}/u.test(name) &&
  !name.includes('://') &&
  !/^([/\\]|[A-Za-z]:)/.test(name) &&
  !name.split(/[/\\]/).includes('..');
