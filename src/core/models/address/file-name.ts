/** True if an untrusted file name is a relative path inside its directory. */
export const staysInside = (name: string): boolean =>
  name !== '' &&
  !/\p{Cc}/u.test(name) &&
  !name.includes('://') &&
  !/^([/\\]|[A-Za-z]:)/.test(name) &&
  !name.split(/[/\\]/).includes('..');
