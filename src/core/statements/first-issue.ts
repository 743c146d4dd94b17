import type { ZodError } from 'zod';
import { visibleLine } from '../base/errors/visible.js';

/** Returns the first error in untrusted JSON, with its path. Keys are untrusted too. */
export const firstIssue = (error: ZodError | undefined): string => {
  const { path = [], message = '' } = error?.issues[0] ?? {};
  return visibleLine(`${path.join('.')}: ${message}`).slice(0, 400);
};
