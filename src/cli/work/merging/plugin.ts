import { Console } from 'node:console';
import { resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { importFile } from '../../../core/base/files/import-file.js';
import { methods } from '../../../core/methods/index.js';

/**
 * Imports each module once. Modules register methods (docs/methods.md), and print to stderr.
 *
 * @param files paths, relative to the working directory
 * @throws USAGE if a module cannot be imported, or registers no method
 */
export const loadPlugins = async (files: readonly string[]): Promise<void> => {
  // Stdout has only the command's output, for other programs.
  if (files.length > 0) globalThis.console = new Console(process.stderr);
  for (const file of new Set(files.map((given) => resolve(given)))) {
    const before = methods.size;
    await importFile(file).catch((cause: unknown) => {
      const [reason] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
      throw new LayerloomError('USAGE', { reason: `--plugin ${file}: ${reason}` }, { cause });
    });
    // No method is registered here if the plugin imports another copy of the package.
    if (methods.size === before)
      throw new LayerloomError('USAGE', {
        reason: `--plugin ${file}: no method was registered; import registerMethod from the layerloom that runs this command`,
      });
  }
};
