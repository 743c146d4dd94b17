import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { endOf, type ModelTokens } from './files/tokenizer.js';
import { quote } from './files/words.js';
import { Runs } from './runs.js';
import type { ModelRows, RowFill, TokenizerRequest, TokenSource } from './vocabulary.js';

interface Row {
  readonly model: number;
  readonly row: number;
}

/** Missing tokens whose rows come from the same models. */
export interface Missing {
  readonly models: readonly number[];
  readonly tokens: readonly string[];
  /** Indexes of the models whose rows are averaged; if empty, the rows are 0. */
  readonly from: readonly number[];
}

/**
 * Returns which rows each model supplies for an output of `rows` rows. A missing token gets the row of the only model
 * that has it, the base's row, the mean of all models that have it, or zeros. An output row without a token is the
 * model's own row or, if the model has a token there, the row of the first model without one.
 *
 * @throws INVALID_PARAMETER if a token's source has no row for it
 */
export const rowsOf = (
  models: readonly ModelTokens[],
  ids: ReadonlyMap<string, number>,
  rows: number,
  { base, tokens: rules }: Pick<TokenizerRequest, 'base' | 'tokens'>,
): { readonly models: readonly ModelRows[]; readonly missing: readonly Missing[] } => {
  const tokens: (string | undefined)[] = new Array<undefined>(rows).fill(undefined);
  ids.forEach((id, token) => {
    tokens[id] = token;
  });
  const own = ownRows(models, ids, tokens);

  const havers = (to: number): Row[] =>
    own.flatMap((of, model) => {
      const row = itemAt(of, to);
      return row < 0 ? [] : [{ model, row }];
    });
  const sourceOf = (to: number): readonly Row[] => {
    const token = tokens[to];
    const rule = token === undefined ? undefined : rules.get(token)?.source;
    if (token !== undefined && rule !== undefined) return ruled(models, token, rule);
    const found = havers(to);
    if (token === undefined) return found.slice(0, 1);
    const ofBase = found.length > 1 && found.find(({ model }) => model === base);
    return ofBase ? [ofBase] : found;
  };
  const sources = new Map<number, readonly Row[]>();
  const source = (to: number): readonly Row[] => {
    const known = sources.get(to) ?? sourceOf(to);
    sources.set(to, known);
    return known;
  };
  const isForced = (to: number): boolean => {
    const token = tokens[to];
    return token !== undefined && rules.get(token)?.force === true;
  };

  const results = new Map([...new Set(own)].map((of) => [of, divide(of, source, isForced)]));
  const missing = [...results].flatMap(([of, { lacking }]) =>
    lacking.flatMap(({ from, rows: lacks }): Missing[] => {
      const named = lacks.flatMap((to) => tokens[to] ?? []).filter((token) => !rules.has(token));
      const sharing = own.flatMap((other, model) => (other === of ? [model] : []));
      return named.length === 0 ? [] : [{ models: sharing, tokens: named, from }];
    }),
  );
  return { models: own.map((of) => valueAt(results, of).rows), missing };
};

/** Returns, for each model, its row for every output row, or −1. Models with equal tokens share an array. */
const ownRows = (
  models: readonly ModelTokens[],
  ids: ReadonlyMap<string, number>,
  tokens: readonly (string | undefined)[],
): Int32Array[] => {
  const made: { readonly like: ModelTokens; readonly own: Int32Array }[] = [];
  return models.map((model) => {
    const { rows, tokenizer } = model;
    const known = made.find(({ like }) => like.tokenizer === tokenizer && like.rows === rows);
    if (known !== undefined) return known.own;
    const own = new Int32Array(tokens.length).fill(-1);
    const taken = new Uint8Array(endOf(tokenizer.ids));
    tokenizer.ids.forEach((id, token) => {
      taken[id] = 1;
      // Most ids are equal, and comparing them is faster than a lookup.
      const to = tokens[id] === token ? id : ids.get(token);
      if (to !== undefined && tokens[to] === token && id < rows) own[to] = id;
    });
    for (let to = 0; to < tokens.length; to += 1)
      if (tokens[to] === undefined && !taken[to] && to < rows) own[to] = to;
    made.push({ like: model, own });
    return own;
  });
};

const divide = (
  own: Int32Array,
  source: (to: number) => readonly Row[],
  isForced: (to: number) => boolean,
): {
  readonly rows: ModelRows;
  readonly lacking: readonly { readonly from: readonly number[]; readonly rows: readonly number[] }[];
} => {
  const kept = new Runs();
  const groups = new Map<
    string,
    { readonly from: readonly number[]; readonly rows: number[]; readonly runs: readonly Runs[] }
  >();
  for (const [to, row] of own.entries()) {
    if (row >= 0 && !isForced(to)) {
      kept.push(to, row);
      continue;
    }
    const rows = source(to);
    const from = rows.map(({ model }) => model);
    const group = groups.get(from.join()) ?? { from, rows: [], runs: from.map(() => new Runs()) };
    groups.set(from.join(), group);
    group.rows.push(to);
    for (const [index, { row: fromRow }] of rows.entries()) itemAt(group.runs, index).push(to, fromRow);
  }
  const lacking = [...groups.values()];
  const fills = lacking
    .filter(({ from }) => from.length > 0)
    .map(
      ({ from, rows, runs }): RowFill => ({
        rows: ranges(rows),
        from: from.map((model, index) => ({ model, runs: itemAt(runs, index).runs })),
      }),
    );
  return { rows: { own: kept.runs, fills }, lacking };
};

const ranges = (rows: readonly number[]): RowFill['rows'] => {
  const runs = new Runs();
  for (const row of rows) runs.push(row, row);
  return runs.runs.map(([first, , count]) => [first, count]);
};

const ruled = (models: readonly ModelTokens[], token: string, rule: TokenSource): readonly Row[] => {
  if (rule.kind === 'zero') return [];
  const { name, rows, tokenizer } = itemAt(models, rule.model);
  const of = rule.kind === 'model' ? token : rule.token;
  const row = typeof of === 'number' ? of : tokenizer.ids.get(of);
  if (row === undefined || row >= rows)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: `the source of token ${quote(token)}`,
      value: `${of} of ${name}`,
      expected:
        typeof of === 'number' ? `an id below ${rows}` : 'a token that has a row in the model’s embeddings',
    });
  return [{ model: rule.model, row }];
};
