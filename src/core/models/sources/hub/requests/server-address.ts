/** Parses an address of a server; undefined for what is none, and for other schemes than http and https. */
export const parseAddress = (text: string, base?: URL): URL | undefined => {
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return /^https?:$/.test(url.protocol) ? url : undefined;
};

/**
 * Returns an address that the user has set without user name and password, and without slashes at its end. Requests
 * are made of it as messages are, so that no text can have a password.
 */
export const withoutCredentials = (text: string): string => {
  const url = parseAddress(text);
  // The password may be what makes it no address.
  if (url === undefined) return text.replace(/^(\w+:\/\/)?.*@/s, '$1');
  url.username = '';
  url.password = '';
  return url.href.replace(/\/+$/, '');
};
