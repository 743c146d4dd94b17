const plainText = /^[A-Za-z][\w./+-]*$/;
const words = /^(true|false|null|yes|no|on|off|y|n)$/i;

const scalar = (value: unknown): string =>
  typeof value === 'string' && plainText.test(value) && !words.test(value) ? value : JSON.stringify(value);

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Formats a mapping as YAML with snake-case keys, as in recipes; inner values in flow style. */
export const yamlOf = (mapping: Readonly<Record<string, unknown>>): string =>
  Object.entries(mapping)
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) =>
        `${snake(name)}: ${Array.isArray(value) ? `[${value.map(scalar).join(', ')}]` : scalar(value)}\n`,
    )
    .join('');
