import type { CommandDescription } from '../framework/describe.js';
import type { OutputOptions } from '../options/output.js';
import { printJson, printText } from '../print.js';
import { bashCompletion } from './bash.js';
import { checkShell, type Shell } from './candidates.js';
import { fishCompletion } from './fish.js';
import { zshCompletion } from './zsh.js';

const scripts: Readonly<Record<Shell, (commands: readonly CommandDescription[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** @throws INVALID_PARAMETER */
export const completionCommand = (
  name: string,
  commands: readonly CommandDescription[],
  { json }: OutputOptions,
): void => {
  const shell = checkShell(name);
  const script = scripts[shell](commands);
  if (json) printJson({ shell, script });
  else printText(script);
};
