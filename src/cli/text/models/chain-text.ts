import type { Chain, ChainModel } from '../../../core/attestation/chain.js';
import { visibleLine } from '../../../core/base/errors/visible.js';

export const describeChain = ({ root, complete }: Chain): string =>
  [
    lineOf(root),
    ...branches(root.inputs, ''),
    complete
      ? 'complete: every stated input is here, with the stated SHA-256'
      : 'not complete: see the lines above',
  ].join('\n');

const branches = (models: readonly ChainModel[], indent: string): string[] =>
  models.flatMap((model, index) => {
    const isLast = index === models.length - 1;
    return [
      `${indent}${isLast ? '└─ ' : '├─ '}${lineOf(model)}`,
      ...branches(model.inputs, `${indent}${isLast ? '   ' : '│  '}`),
    ];
  });

const links: Readonly<Record<ChainModel['link'], string | undefined>> = {
  asked: undefined,
  same: 'the stated files',
  different: 'another file',
  missing: 'missing',
  unidentified: 'not identified',
};

const lineOf = ({ name, link, kind, method, by, statement, reason, repeated, uri }: ChainModel): string =>
  visibleLine(
    [
      `${name}: ${kind === 'model' ? 'model' : `${kind} (${method}) by ${by}`}`,
      links[link],
      statement === 'none' && (link === 'same' || link === 'asked') ? 'no statement' : undefined,
      statement === 'invalid' ? 'statement not valid' : undefined,
      reason ?? undefined,
      repeated ? 'as above' : undefined,
      uri ?? undefined,
    ]
      .filter((part) => part !== undefined)
      .join('; '),
  );
