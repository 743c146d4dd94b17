/** Parses an http or https address; undefined for anything else. */
export const parseAddress = (text: string, base?: URL): URL | undefined => {
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return /^https?:$/.test(url.protocol) ? url : undefined;
};

/**
 * Removes credentials and trailing slashes from an address. Requests use it too, so that no message can
 * contain the password.
 */
export const withoutCredentials = (text: string): string => {
  const url = parseAddress(text);
  // The password may make it unparsable.
  if (url === undefined) return text.replace(/^(\w+:\/\/)?.*@/s, '$1');
  url.username = '';
  url.password = '';
  return url.href.replace(/\/+$/, '');
};
