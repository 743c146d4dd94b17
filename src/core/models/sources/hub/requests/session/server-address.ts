/** Parses an http or https address; undefined for other text. */
export const parseAddress = (text: string, base?: URL): URL | undefined => {
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return /^https?:$/.test(url.protocol) ? url : undefined;
};

/** Removes credentials and trailing slashes, so that no request or message contains a password. */
export const withoutCredentials = (text: string): string => {
  const url = parseAddress(text);
  // The password may make the address invalid.
  if (url === undefined) return text.replace(/^(\w+:\/\/)?.*@/s, '$1');
  url.username = '';
  url.password = '';
  return url.href.replace(/\/+$/, '');
};
