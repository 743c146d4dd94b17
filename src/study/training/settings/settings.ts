import { stringify } from 'yaml';

export type Setting = readonly [key: string, value: unknown, note?: string | undefined];

export interface Section {
  readonly title: string;
  readonly settings: readonly Setting[];
}

export const printed = 'Table 4';

export const ours = (reason?: string): string => (reason === undefined ? 'ours' : `ours: ${reason}`);

export const settingsText = (header: readonly string[], sections: readonly Section[]): string =>
  [
    ...header.map((line) => (line === '' ? '#' : `# ${line}`)),
    ...sections.flatMap(({ title, settings }) =>
      settings.length === 0 ? [] : ['', `# ${title}`, ...settings.map(settingText)],
    ),
    '',
  ].join('\n');

const settingText = ([key, value, note]: Setting): string => {
  const lines = entryOf(key, value).split('\n');
  if (note === undefined) return lines.join('\n');
  return [`${lines[0]} # ${note}`, ...lines.slice(1)].join('\n');
};

const entryOf = (key: string, value: unknown): string =>
  typeof value === 'number'
    ? `${key}: ${numberText(value)}`
    : stringify({ [key]: value }, { lineWidth: 0 }).trimEnd();

/** Formats a number for PyYAML, for which `2e-8` is a string, and `2.0e-8` a number. */
export const numberText = (value: number): string => {
  if (value === 0 || Math.abs(value) >= 1e-4) return String(value);
  const [mantissa = '', exponent = ''] = value.toExponential().split('e');
  return `${mantissa.includes('.') ? mantissa : `${mantissa}.0`}e${exponent}`;
};
