/** `problem`: merging does not work; `warning`: it works, with less than it could have. */
export type Mark = 'ok' | 'warning' | 'problem';

/** One thing that was looked at. */
export interface Finding {
  readonly subject: string;
  readonly mark: Mark;
  readonly text: string;
  /** Undefined where nothing is to be done. */
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
