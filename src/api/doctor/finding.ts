/** `problem`: merging does not work; `warning`: it works with limitations. */
export type Mark = 'ok' | 'warning' | 'problem';

/** Result of one check. */
export interface Finding {
  readonly subject: string;
  readonly mark: Mark;
  readonly text: string;
  /** Remedy, if something is wrong. */
  readonly remedy?: string | undefined;
}

export const ok = (subject: string, text: string): Finding => ({ subject, mark: 'ok', text });

export const warning = (subject: string, text: string, remedy: string): Finding => ({
  subject,
  mark: 'warning',
  text,
  remedy,
});

export const problem = (subject: string, text: string, remedy?: string): Finding => ({
  subject,
  mark: 'problem',
  text,
  remedy,
});
