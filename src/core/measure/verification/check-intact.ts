import { LayerloomError } from '../../base/errors/errors.js';
import type { OutputVerification } from './verification.js';

/** @throws OUTPUT_DAMAGED, with the verification, the damage and remedies */
export const checkIntact = (found: OutputVerification): void => {
  if (!found.intact) throw new LayerloomError('OUTPUT_DAMAGED', { ...found, ...damageOf(found) });
};

const damageOf = ({ structure, files, unlisted, againstInputs }: OutputVerification) => {
  const wrong = files.filter(({ state }) => state === 'different' || state === 'missing');
  const damage = [
    ...(structure === null ? [] : [structure]),
    ...wrong.map(({ file, reason }) => `${file} ${reason ?? 'differs'}`),
    ...(againstInputs?.different ?? []).map(({ file, tensor }) => `${tensor ?? 'the header'} of ${file}`),
  ];
  const added = wrong.filter(({ file }) => unlisted.includes(file)).length;
  const remedies = [
    ...(added > 0 ? ['remove what was added'] : []),
    ...(added < damage.length ? ['merge it again'] : []),
  ];
  return { damage, remedy: remedies.join(', and ') };
};
