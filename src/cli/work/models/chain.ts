import { type ChainOptions, chain } from '../../../api/chain.js';
import { modelsOf } from '../../../core/attestation/chain.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { chainForCard, describeChain } from '../../text/models/chain-text.js';
import { show, watched } from '../running/show.js';

interface ChainCommandOptions extends OutputOptions, Pick<ChainOptions, 'threads'> {
  readonly out: string;
  readonly card?: boolean;
}

/**
 * With `--json`, a chain with an invalid statement is printed only as `details` of the error; it is never
 * printed for a card.
 *
 * @throws OUTPUT_DAMAGED
 */
export const chainCommand = async (options: ChainCommandOptions): Promise<void> => {
  const { out, threads, card = false } = options;
  if (card && options.json) throw invalidParameter('card', card, `nothing beside ${optionName('json')}`);
  const result = await watched(options, (watch) => chain(out, { threads, ...watch }));
  const wrong = modelsOf(result.root).filter(({ statement }) => statement === 'invalid');
  if (!options.quiet) result.warnings.forEach(warn);
  if (wrong.length === 0 || !(options.json || card))
    show(result, options, card ? chainForCard : describeChain);
  if (wrong.length > 0)
    throw new LayerloomError('OUTPUT_DAMAGED', {
      ...result,
      damage: wrong.map(({ name, reason }) => `${name}: ${reason}`),
      remedy: 'do not rely on this chain; get the model again from whoever made it',
    });
};
