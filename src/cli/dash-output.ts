import type { Command } from 'commander';
import { LayerloomError } from '../core/base/errors/errors.js';
import { printsByDefault, wholeName } from './framework/help.js';
import { defaultOf } from './framework/option.js';

/**
 * Reads `-o -` as stdout if the command prints without `--out`.
 *
 * @throws USAGE if the command writes a file or a directory
 */
export const resolveDash = (command: Command): void => {
  if (command.opts<{ out?: string }>().out !== '-') return;
  const option = command.options.find((one) => one.attributeName() === 'out');
  if (option === undefined || defaultOf(option) !== printsByDefault)
    throw new LayerloomError('USAGE', {
      reason: `${option?.flags ?? '--out'}: \`-\` stands for stdout, but \`${wholeName(command)}\` cannot write there; name a path (./- for a file named -)`,
    });
  command.setOptionValue('out', undefined);
};
