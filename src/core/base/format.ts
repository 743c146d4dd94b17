const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Formats bytes in decimal units, like the hub: `16.1 GB`. */
export const formatBytes = (bytes: number): string => {
  const exponent = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)));
  const value = bytes / 1000 ** exponent;
  return `${exponent === 0 ? Math.round(value) : value.toPrecision(3).includes('e') ? Math.round(value) : value.toPrecision(3)} ${units[exponent]}`;
};

/** Formats `8.03 B`, `134.5 M`. */
export const formatCount = (count: number): string => {
  const [value, unit] =
    count >= 1e9
      ? [count / 1e9, ' B']
      : count >= 1e6
        ? [count / 1e6, ' M']
        : count >= 1e3
          ? [count / 1e3, ' k']
          : [count, ''];
  return `${unit === '' ? value : Number(value.toPrecision(4))}${unit}`;
};

/** Formats `0.7 s`, `42 s`, `3 min 20 s`, `2 h 5 min`. */
export const formatSeconds = (seconds: number): string => {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, hours] = [Math.floor(whole / 60), Math.floor(whole / 3600)];
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min ${whole % 60} s`;
};

export const formatRate = (bytes: number, seconds: number): string =>
  `${formatBytes(bytes / Math.max(seconds, 1e-9))}/s`;

export const formatPercent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Joins names: `a`; `a and b`; `a, b and c`. */
export const inWords = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/** `1 tensor`; `2 tensors`. */
export const counted = (count: number, what: string, plural = `${what}s`): string =>
  `${count} ${count === 1 ? what : plural}`;

export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
