import { LayerloomError } from '../../base/errors/errors.js';
import type { RowsChange } from '../../models/adapters/kinds/rows.js';
import { vocabularyTensors } from '../../models/architecture/vocabulary-tensors.js';
import { readSideFile } from '../../models/checkpoint/files/small-file.js';
import { TokenizerReader } from '../../models/tokenizer/files/read-tokenizer.js';
import { Runs } from '../../models/tokenizer/runs.js';
import type { RowRun } from '../../models/tokenizer/vocabulary.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { MergePlan } from '../../plan/plan.js';
import type { TensorReference } from '../../tensor/reference.js';

const ofTokens =
  /^(tokenizer\.json|vocab\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json)$/;

/**
 * Puts the rows of an output's vocabulary into the plan's order of tokens: programs number the added tokens
 * of a union differently. Does nothing unless both tokenizers have the same tokens in different orders. Warns
 * of a tokenizer that cannot be read.
 */
export const inTokenOrder = async (
  out: OpenedCheckpoint,
  { files }: Pick<MergePlan, 'files'>,
): Promise<OpenedCheckpoint> => {
  const { checkpoint, architecture } = out;
  const vocabulary = vocabularyTensors(checkpoint, architecture);
  if (vocabulary === undefined) return out;
  const rows = await rowsByToken(out, files, vocabulary.rows).catch((error: unknown) => {
    if (error instanceof LayerloomError) return error;
    throw error;
  });
  if (rows instanceof LayerloomError)
    return warned(out, `tokens are not compared, and rows are compared by their numbers: ${rows.message}`);
  if (rows === undefined) return out;
  const tensors = [...checkpoint.tensors].map(([name, tensor]): [string, TensorReference] => {
    if (!vocabulary.names.has(name) || !isPlain(tensor)) return [name, tensor];
    const change: RowsChange = { kind: 'rows', rows, tensor };
    return [name, { ...tensor, change }];
  });
  return warned(
    { ...out, checkpoint: { ...checkpoint, tensors: new Map(tensors) } },
    `${checkpoint.name} gives tokens other ids than the expected merge: rows of embeddings and head are compared token by token`,
  );
};

const warned = (out: OpenedCheckpoint, warning: string): OpenedCheckpoint => ({
  ...out,
  checkpoint: { ...out.checkpoint, warnings: [...out.checkpoint.warnings, warning] },
});

const isPlain = ({ change, quantised, blocks, pieces }: TensorReference): boolean =>
  [change, quantised, blocks, pieces].every((other) => other === undefined);

/** Returns which rows of the output to move where; undefined if the order is the same. */
const rowsByToken = async (
  { checkpoint }: OpenedCheckpoint,
  files: MergePlan['files'],
  rows: number,
): Promise<readonly RowRun[] | undefined> => {
  const planned = files.filter(({ name }) => ofTokens.test(name));
  const carried = new Map<string, string>();
  for (const file of planned)
    carried.set(file.name, 'text' in file ? file.text : (await readSideFile(file.copyOf)).toString());
  const { adapted: _, ...place } = checkpoint;
  const expected = { ...place, sideFiles: [...carried.keys()], carried };
  const tokenizers = new TokenizerReader();
  const found = [await tokenizers.filesOf(expected), await tokenizers.filesOf(checkpoint)];
  const [hash, other] = found.map((one) => (one?.form === 'tokenizer.model' ? undefined : one?.hash));
  if (hash === undefined || other === undefined || hash === other) return undefined;
  return runsBetween(await tokenizers.idsOf(expected), await tokenizers.idsOf(checkpoint), rows);
};

/**
 * Returns runs of rows that turn one order of tokens into another. Undefined unless both have the same tokens
 * and ids, each id has one token, and some token has another id.
 */
const runsBetween = (
  wanted: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>,
  rows: number,
): readonly RowRun[] | undefined => {
  if (wanted.size !== found.size) return undefined;
  const from = new Int32Array(rows).map((_, row) => row);
  const [taken, used] = [new Uint8Array(rows), new Uint8Array(rows)];
  for (const [token, to] of wanted) {
    const row = found.get(token);
    if (row === undefined) return undefined;
    if (row === to && to >= rows) continue;
    if (to >= rows || row >= rows || taken[to] === 1 || used[row] === 1) return undefined;
    from[to] = row;
    [taken[to], used[row]] = [1, 1];
  }
  if (taken.some((one, row) => one !== used[row]) || from.every((row, to) => row === to)) return undefined;
  const runs = new Runs();
  for (const [to, row] of from.entries()) runs.push(to, row);
  return runs.runs;
};
