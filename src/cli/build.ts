import { type BuiltAddon, buildAddon } from '../native/build.js';
import { interruptSignal } from './interrupt.js';
import type { OutputOptions } from './options.js';
import { note, printJson, printLine } from './print.js';

const describe = ({ target, file, seconds }: BuiltAddon): string =>
  `built the native addon for ${target} in ${seconds.toFixed(0)} s: ${file}`;

/** Builds the addon; the compiler's output goes to stderr. */
export const buildCommand = async ({ json, quiet }: OutputOptions): Promise<void> => {
  const { signal, release } = interruptSignal();
  try {
    const onOutput = quiet ? undefined : (text: string) => note(text.trimEnd());
    const built = await buildAddon({ onOutput, signal });
    if (json) printJson(built);
    else if (!quiet) printLine(describe(built));
  } finally {
    release();
  }
};
