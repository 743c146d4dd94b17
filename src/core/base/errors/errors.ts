import { constants } from 'node:os';
import { nearPath } from '../files/near-path.js';
import { catalogue, cut } from './error-catalogue.js';
import { fileLimitOf } from './file-limit.js';
import { ownValue } from './lookup.js';
import { optionName } from './option-name.js';
import type { ExitCode, Sentence } from './sentence.js';
import { visible, visibleLine } from './visible.js';

/** Details that stay unescaped: `excerpt` and `message` are escaped already, `value` is shown as JSON. */
const shownAsTheyAre = ['excerpt', 'message', 'value'];

/** Escapes control characters and newlines in strings at any depth, because names are untrusted. */
const shown = (value: unknown, key = ''): unknown => {
  if (shownAsTheyAre.includes(key)) return value;
  if (typeof value === 'string') return visibleLine(cut(value));
  if (Array.isArray(value)) return value.map((item) => shown(item, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shown(inner, name)]));
};

type Catalogue = typeof catalogue;

/** An error code; docs/errors.md explains each. */
export type ErrorCode = keyof Catalogue;

/** Details of errors with this code, without context. */
export type ErrorDetails<Code extends ErrorCode> = Parameters<Catalogue[Code]['message']>[0];

/** All error codes. */
export const errorCodes = Object.keys(catalogue) as ErrorCode[];

/** Facts that callers add to an error on its way up. */
export interface ErrorContext {
  /** Keys and indexes of the faulty value in a recipe. */
  readonly recipePath?: readonly (string | number)[] | undefined;
  /** The faulty value's place in a file; `excerpt` is the line, with a caret below. */
  readonly place?:
    | { readonly file: string; readonly line: number; readonly column: number; readonly excerpt: string }
    | undefined;
  /** The command's option for the refused parameter: `--base`. Absent for values in files. */
  readonly option?: string | undefined;
  /** The batch's merge in which the error occurred. */
  readonly merge?: string | undefined;
  /** Directory with the finished work, which `--resume` continues. */
  readonly keptIn?: string | undefined;
  /** Earlier warnings that may explain the error, such as about an ignored key. */
  readonly warnings?: readonly string[] | undefined;
}

/** The details that an error's context adds. */
export interface ContextDetails {
  readonly path?: ErrorContext['recipePath'];
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly merge?: string;
  readonly kept?: string;
  readonly warnings?: readonly string[];
}

/** Adds the context: `place` overrides the file in `details`, but `recipePath` does not override `path`. */
const withContext = <Details>(
  details: Details,
  { recipePath, place, merge, keptIn, warnings = [] }: ErrorContext,
): Details & ContextDetails => ({
  ...details,
  ...(recipePath === undefined ? {} : { path: recipePath, ...details }),
  ...(place === undefined ? {} : { file: place.file, line: place.line, column: place.column }),
  ...(merge === undefined ? {} : { merge }),
  ...(keptIn === undefined ? {} : { kept: keptIn }),
  ...(warnings.length === 0 ? {} : { warnings }),
});

const messageIn = (message: string, { place, merge, keptIn }: ErrorContext): string =>
  (merge === undefined ? '' : `${visibleLine(merge)}: `) +
  (place === undefined ? '' : `${visibleLine(place.file)}:${place.line}:${place.column}: `) +
  message +
  (keptIn === undefined ? '' : `; what is done waits in ${visibleLine(keptIn)} for ${optionName('resume')}`) +
  (place === undefined || place.excerpt === '' ? '' : `\n${visible(place.excerpt)}`);

/** Spells INVALID_PARAMETER's parameter as the user did: as an option, or in snake case. */
const spelt = <Details extends object>(details: Details, { option, place }: ErrorContext): Details => {
  if (!('parameter' in details) || typeof details.parameter !== 'string') return details;
  const inFile = details.parameter.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { ...details, parameter: option ?? (place === undefined ? details.parameter : inFile) };
};

/**
 * The only error class. Programs read `code` and `details`. People read `message`, which is escaped and names
 * file, tensor and remedy.
 */
export class LayerloomError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly details: ErrorDetails<Code> & ContextDetails;
  readonly exitCode: ExitCode;
  readonly context: ErrorContext;
  readonly #own: ErrorDetails<Code>;

  constructor(
    code: Code,
    details: ErrorDetails<Code>,
    { context = {}, ...options }: ErrorOptions & { context?: ErrorContext } = {},
  ) {
    const entry = catalogue[code] as unknown as Sentence<ErrorDetails<Code>>;
    // Escapes nothing in USAGE: it quotes the user's own text, and commander's messages may have two lines.
    const texts = code === 'USAGE' ? details : (shown(details) as ErrorDetails<Code>);
    // Drops the cause, because a SyntaxError quotes the file's text, and programs print the causes of errors.
    const cause = options.cause instanceof SyntaxError ? {} : options;
    super(messageIn(visible(entry.message(spelt(texts, context))), context), cause);
    this.name = 'LayerloomError';
    this.code = code;
    this.details = withContext(details, context);
    this.exitCode = entry.exitCode;
    this.context = context;
    this.#own = details;
  }

  /** Returns the error with more context, which overrides existing values. */
  with(context: ErrorContext): LayerloomError<Code> {
    return newError(this.code, this.#own, {
      cause: this.cause,
      context: { ...this.context, ...context },
    });
  }
  /** The error as `--json` prints it. */

  toJSON(): { code: Code; message: string; details: ErrorDetails<Code> & ContextDetails } {
    return { code: this.code, message: this.message, details: this.details };
  }
}

/**
 * Outside the class, because the bundler renames a class that refers to itself, and Node prints that name.
 */
const newError = <Code extends ErrorCode>(
  ...parameters: ConstructorParameters<typeof LayerloomError<Code>>
): LayerloomError<Code> => new LayerloomError(...parameters);

/** Errors that libuv does not name (`Unknown system error -122`), such as a full quota or NFS errors. */
const unnamedErrors: ReadonlyMap<number, string> = new Map([
  [-constants.errno.EDQUOT, 'EDQUOT: disk quota exceeded'],
  [-constants.errno.ESTALE, 'ESTALE: stale file handle'],
]);

/** Returns a system error's name, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined => {
  const { errno = 0, code, message = '' } = error as NodeJS.ErrnoException;
  return unnamedErrors.get(errno)?.replace(/:.*/, '') ?? code ?? /^(E[A-Z\d]+): /.exec(message)?.[1];
};

export const withPath = (error: unknown, path: string): unknown => {
  if (!(error instanceof Error) || error instanceof LayerloomError) return error;
  const system = error as NodeJS.ErrnoException;
  if (system.syscall !== undefined) system.path ??= path;
  return error;
};

/**
 * Plain words for errors that users can resolve. Other errors keep the system's words, for administrators.
 */
const plainReasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a part of its path is a file, not a directory',
  EISDIR: 'it is a directory, not a file',
  EEXIST: 'a file of that name, or of a part of its path, is in the way',
  ENOTEMPTY: 'the directory is not empty',
  EACCES: 'permission denied',
  EPERM: 'the system does not permit it',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'its symbolic links lead in a circle',
};

/**
 * Returns a system error's reason without Node's path and call: `no space left on device (ENOSPC)`. Adds the
 * nearest name for a missing path, and the remedy for a limit on open files.
 */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { errno = 0, path } = error as NodeJS.ErrnoException;
  const reason = fileLimitOf(error) ?? jsonFault(error);
  if (reason !== undefined) return reason;
  const code = codeOf(error) ?? '';
  const near = code === 'ENOENT' && path !== undefined ? nearPath(path) : undefined;
  const plain = ownValue(plainReasons, code);
  if (plain !== undefined) return near === undefined ? plain : `${plain} (did you mean ${near}?)`;
  const system = unnamedErrors.get(errno) ?? error.message.replace(/, \w+( '.*)?$/, '');
  return system.replace(/^(E[A-Z\d]+): (.+)$/s, '$2 ($1)');
};

/** Returns where a text stops being JSON. Does not quote the text, which may be a private file's. */
const jsonFault = (error: Error): string | undefined => {
  if (!(error instanceof SyntaxError) || !/\bJSON\b/.test(error.message)) return undefined;
  const { position } = / at position (?<position>\d+)/.exec(error.message)?.groups ?? {};
  if (position !== undefined) return `there is a mistake at character ${Number(position) + 1}`;
  return /end of JSON input/.test(error.message) ? 'it ends too early' : 'it has other characters';
};

/** @throws INTERRUPTED if `signal` is aborted */
export const checkInterrupt = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw new LayerloomError('INTERRUPTED', {}, { cause: signal.reason });
};
