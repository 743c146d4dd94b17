import { encodeHeader } from '../checkpoint/header.js';
import { LayerloomError } from '../errors.js';
import { bitsOf, isDtype } from '../tensor/dtype.js';
import { byteLength, elementCount } from '../tensor/reference.js';
import { type MergePlan, movesBytes, type PlannedShard, type PlannedTensor, sourcesOf } from './plan.js';

/**
 * Asks that the byte ranges of a plan fit together: it may have come through JSON, from another program. The engine trusts it from here on.
 *
 * @throws LayerloomError PLAN_INVALID
 */
export const checkPlan = (plan: MergePlan): void => {
  for (const shard of plan.shards) {
    for (const tensor of shard.tensors) checkTensor(plan, shard, tensor);
    checkLayout(shard);
  }
};

const invalid = (shard: PlannedShard, tensor: PlannedTensor | undefined, reason: string): LayerloomError =>
  new LayerloomError('PLAN_INVALID', {
    reason: `${shard.file}${tensor === undefined ? '' : `, tensor ${tensor.name}`}: ${reason}`,
  });

const checkTensor = (plan: MergePlan, shard: PlannedShard, tensor: PlannedTensor): void => {
  const { dtype, shape, begin, end, expression } = tensor;
  if (!isDtype(dtype)) throw invalid(shard, tensor, `unknown dtype ${String(dtype)}`);
  const elements = elementCount(shape);
  if (elements === undefined || byteLength(dtype, elements) !== end - begin)
    throw invalid(shard, tensor, 'its range is not its shape’s');
  if (expression.kind === 'rowSelect') {
    const rows = shape.length === 2 ? shape[expression.rows === 'input' ? 1 : 0] : undefined;
    if (rows === undefined || Buffer.from(expression.kept, 'base64').length !== Math.ceil(rows / 8))
      throw invalid(shard, tensor, 'its kept rows are not those of its shape');
  }
  for (const source of sourcesOf(expression)) {
    const file = plan.inputs[source.input]?.files[source.file];
    if (file === undefined || source.begin < 0 || source.end > file.bytes)
      throw invalid(shard, tensor, 'a source lies outside its file');
    const bits = movesBytes(expression) ? bitsOf(dtype) : bitsOf(source.dtype);
    if ((source.end - source.begin) * 8 !== elements * bits)
      throw invalid(shard, tensor, 'a source has another length');
  }
};

const checkLayout = (shard: PlannedShard): void => {
  const { tensors, bytes, verbatim } = shard;
  const sizes = tensors.map(({ name, dtype, shape, begin, end }) => ({
    name,
    dtype,
    shape,
    bytes: end - begin,
  }));
  let position = verbatim === undefined ? encodeHeader(sizes).length : (tensors[0]?.begin ?? bytes);
  for (const tensor of tensors) {
    if (tensor.begin !== position)
      throw invalid(shard, tensor, 'it does not begin where the one before it ends');
    position = tensor.end;
  }
  if (position !== bytes) throw invalid(shard, undefined, 'its tensors do not end where it does');
};
