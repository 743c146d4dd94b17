import type { ZodError } from 'zod';
import { visibleLine } from '../base/errors/visible.js';

/** Returns the first fault of a text from outside: where and why. Keys are untrusted. */
export const firstIssue = (error: ZodError | undefined): string => {
  const { path = [], message = '' } = error?.issues[0] ?? {};
  return visibleLine(`${path.join('.')}: ${message}`).slice(0, 400);
};
