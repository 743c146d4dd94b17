import { type BuiltAddon, buildAddon } from '../../../core/native/build.js';
import type { OutputOptions } from '../../options/output.js';
import { note } from '../../print.js';
import { show, watched } from '../running/show.js';

const describe = ({ target, file, seconds }: BuiltAddon): string =>
  `built the native addon for ${target} in ${seconds.toFixed(0)} s: ${file}`;

export const buildCommand = async (options: OutputOptions): Promise<void> => {
  const onOutput = options.quiet ? undefined : (text: string) => note(text.trimEnd());
  show(await watched(options, ({ signal }) => buildAddon({ onOutput, signal })), options, describe);
};
