import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';

/** @throws INVALID_PARAMETER unless `value` is a whole number of at least `least` */
export const checkCount = (parameter: string, value: number, least = 1): void => {
  if (!Number.isSafeInteger(value) || value < least)
    throw invalidParameter(parameter, value, `a whole number, ${least} or more`);
};

/**
 * False for texts with control characters, or with characters that parsers may reject or treat as a line
 * break (YAML 1.1: U+2028 and U+2029).
 */
export const isPlain = (text: string): boolean => !/[\p{Cc}\p{Cs}\u2028\u2029\ufeff\ufffe\uffff]/u.test(text);

/** @throws INVALID_PARAMETER for empty texts, and texts that are not plain */
export const checkTexts = (texts: Readonly<Record<string, string | undefined>>, prefix = ''): void => {
  for (const [parameter, value] of Object.entries(texts))
    if (value !== undefined && (value === '' || !isPlain(value)))
      throw invalidParameter(
        `${prefix}${parameter}`,
        value,
        'text without control characters or line separators',
      );
};

/**
 * Parses a time as sbatch does: `MINUTES`, `MINUTES:SECONDS`, `HOURS:MINUTES:SECONDS`, `DAYS-HOURS`,
 * `DAYS-HOURS:MINUTES` or `DAYS-HOURS:MINUTES:SECONDS`.
 *
 * @throws INVALID_PARAMETER
 */
export const secondsOf = (parameter: string, text: string): number => {
  const { days, rest = '' } = /^(?:(?<days>\d+)-)?(?<rest>\d+(?::\d+){0,2})$/.exec(text)?.groups ?? {};
  const [first = 0, second = 0, third = 0] = rest.split(':').map(Number);
  const fields = rest.split(':').length;
  const seconds =
    days !== undefined
      ? ((Number(days) * 24 + first) * 60 + second) * 60 + third
      : fields === 3
        ? (first * 60 + second) * 60 + third
        : first * 60 + second;
  if (seconds === 0 || !Number.isSafeInteger(seconds))
    throw invalidParameter(parameter, text, "a time in sbatch's notation, such as 02:00:00 or 1-12");
  return seconds;
};

/**
 * Parses a size as sbatch does: `32G`, `500M`; the default unit is MiB.
 *
 * @throws INVALID_PARAMETER
 */
export const mebibytesOf = (parameter: string, text: string): number => {
  const { number, unit = 'M' } = /^(?<number>\d+)(?<unit>[KMGT])?B?$/i.exec(text)?.groups ?? {};
  const factor = { K: 1 / 1024, M: 1, G: 1024, T: 1024 ** 2 }[unit.toUpperCase()];
  const size = number === undefined || factor === undefined ? 0 : Math.ceil(Number(number) * factor);
  if (size === 0 || !Number.isSafeInteger(size))
    throw invalidParameter(parameter, text, "a size in sbatch's notation, such as 32G or 500M");
  return size;
};
