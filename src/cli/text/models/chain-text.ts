import type { Chain, ChainModel } from '../../../core/attestation/chain.js';
import { visibleLine } from '../../../core/base/errors/visible.js';
import { fenced } from '../../../core/plan/card/markdown.js';

export const describeChain = (chain: Chain): string => textOf(chain, true);

/** Formats a chain for a model card. Omits reasons, because they contain local paths. */
export const chainForCard = (chain: Chain): string =>
  ['', '## Made from', '', ...fenced('text', textOf(chain, false))].join('\n');

const textOf = ({ root, complete }: Chain, hasReasons: boolean): string =>
  [
    lineOf(root, hasReasons),
    ...branches(root.inputs, '', hasReasons),
    complete
      ? 'complete: every stated input was found, with the stated SHA-256'
      : 'not complete: see the lines above',
  ].join('\n');

const branches = (models: readonly ChainModel[], indent: string, hasReasons: boolean): string[] =>
  models.flatMap((model, index) => {
    const isLast = index === models.length - 1;
    return [
      `${indent}${isLast ? '└─ ' : '├─ '}${lineOf(model, hasReasons)}`,
      ...branches(model.inputs, `${indent}${isLast ? '   ' : '│  '}`, hasReasons),
    ];
  });

const links: Readonly<Record<ChainModel['link'], string | undefined>> = {
  asked: undefined,
  same: 'the stated files',
  different: 'another file',
  missing: 'missing',
  unidentified: 'not identified',
};

const lineOf = (
  { name, link, kind, method, by, statement, reason, repeated, uri }: ChainModel,
  hasReasons: boolean,
): string =>
  visibleLine(
    [
      `${name}: ${kind === 'model' ? 'model' : `${kind} (${method}) by ${by}`}`,
      links[link],
      statement === 'none' && (link === 'same' || link === 'asked') ? 'no statement' : undefined,
      statement === 'invalid' ? 'statement not valid' : undefined,
      hasReasons ? (reason ?? undefined) : undefined,
      repeated ? 'as above' : undefined,
      uri ?? undefined,
    ]
      .filter((part) => part !== undefined)
      .join('; '),
  );
