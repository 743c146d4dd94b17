import { createHash } from 'node:crypto';
import { mapOperands } from '../operations/expression.js';
import {
  isSource,
  type Operand,
  type PlannedExpression,
  type PlannedTensor,
  type StoredTensor,
} from './plan.js';

/** Raised where the same formula comes to other bits than before, or a shard's file is laid out otherwise. */
const keyVersion = 1;

/** What tells an input's bytes apart from any others. */
export type Identify = (source: StoredTensor) => string;

/**
 * The key of a shard: a hash of its tensors' names, dtypes, shapes and expressions over identified inputs. Two merges that share a key share
 * the bytes.
 *
 * @param tensors in the order of the file
 * @returns SHA-256 in hexadecimal
 */
export const shardKey = (tensors: readonly PlannedTensor[], identify: Identify): string => {
  const hash = createHash('sha256').update(`layerloom shard ${keyVersion}\n`);
  for (const { name, dtype, shape, expression } of tensors)
    hash.update(`${name}\n${dtype} ${shape.join()}\n${wordsOf(expression, identify)}\n`);
  return hash.digest('hex');
};

/** An expression in which inputs stand by what they are, not by where. */
const wordsOf = (expression: PlannedExpression, identify: Identify): string => {
  const ofSource = (source: StoredTensor) =>
    `${identify(source)}:${source.begin}-${source.end}:${source.dtype}`;
  const ofOperand = (operand: Operand): string =>
    isSource(operand) ? ofSource(operand) : `(${operand.dtype} ${wordsOf(operand.expression, identify)})`;
  switch (expression.kind) {
    case 'copy':
      return `copy ${ofSource(expression.source)}`;
    case 'same':
      return `same ${expression.sources.map(ofSource).join(' ')}`;
    case 'linear':
      return `linear ${expression.terms.map(({ source, weight }) => `${weight} ${ofOperand(source)}`).join(' ')}`;
    default:
      return JSON.stringify(mapOperands(expression, ofOperand));
  }
};
