import { LayerloomError } from '../../base/errors/errors.js';
import { groupBy } from '../../base/errors/lookup.js';
import { adapterWeightsName } from '../../models/adapters/peft-config.js';
import { writer } from '../../models/checkpoint/containers/containers.js';
import { isModuleWeights, moduleOf } from '../../models/checkpoint/module-folders.js';
import { isSideFileName } from '../../models/checkpoint/side-files.js';
import { byteLength, elementCount } from '../../tensor/reference.js';
import { indexTextOf } from '../layout.js';
import { parseBy, type Refuse } from '../parse.js';
import type { MergePlan, PlannedFile, PlannedInput, PlannedShard, PlannedTensor } from '../plan.js';
import { nameInFile, tensorsInFile } from '../tensors-in-file.js';
import { parseExpression } from './check-expression.js';
import { planSchema, type UnparsedShard, type UnparsedTensor } from './plan-schema.js';

/**
 * Checks a plan, which may come from another program, and returns a copy. Opens no files.
 *
 * @throws PLAN_INVALID; MERGE_UNDEFINED if a formula's rule is not registered in this process
 */
export const checkPlan = (value: unknown): MergePlan => {
  const plan = parseBy(planSchema, value, refusePlan);
  const shards = plan.shards.map((shard) => parseShard(shard, plan.inputs));
  if (plan.form === 'adapter' && shards.length > 1) refusePlan('an adapter is one file');
  const own = shards.filter(({ file }) => !isModuleWeights(file));
  const modules = shards.slice(own.length);
  for (const [index, { file }] of [...own, ...modules].entries()) {
    const expected = plan.form === 'adapter' ? adapterWeightsName : writer.shardName(index, own.length);
    if (shards[index]?.file !== file || (index < own.length && file !== expected))
      refusePlan(`a shard is named ${JSON.stringify(shards[index]?.file)} and not ${expected}`);
  }
  requireDistinct(
    'shard',
    modules.map(({ file }) => ({ name: file })),
  );
  for (const shard of shards) checkFolder(shard);
  requireDistinct(
    'tensor',
    shards.flatMap(({ tensors }) => tensors),
  );
  requireDistinct(
    'tensor',
    own.flatMap(({ tensors }) => tensorsInFile(tensors)),
  );
  for (const { tensors } of modules) requireDistinct('tensor', tensorsInFile(tensors));
  checkFiles(plan.files, shards);
  return { ...plan, shards };
};

const refusePlan = (reason: string): never => {
  throw new LayerloomError('PLAN_INVALID', { reason });
};

/** Checks that a module's folder has exactly that module's tensors, named without the folder. */
const checkFolder = ({ file, tensors }: PlannedShard): void => {
  const folder = isModuleWeights(file) ? moduleOf(file)?.folder : undefined;
  for (const { name, part } of tensors) {
    const found = moduleOf(name);
    if (found?.folder !== folder || (found !== undefined && part?.name !== found.name))
      refusePlan(`${file}, tensor ${name}: it is not in the folder of its module`);
  }
};

const requireDistinct = (what: string, named: readonly { readonly name: string }[]): void => {
  const seen = new Set<string>();
  for (const { name } of named) {
    if (seen.has(name)) refusePlan(`it has two ${what}s ${JSON.stringify(name)}`);
    seen.add(name);
  }
};

const checkFiles = (files: readonly PlannedFile[], shards: readonly PlannedShard[]): void => {
  for (const { name } of files)
    if (!isSideFileName(name)) refusePlan(`no side file may be named ${JSON.stringify(name)}`);
  requireDistinct('side file', files);
  const index = files.find(({ name }) => name === writer.indexName);
  const expected = indexTextOf(shards);
  if (index === undefined ? expected !== undefined : !('text' in index) || index.text !== expected)
    refusePlan(`its ${writer.indexName} is not that of its shards`);
};

const parseShard = (shard: UnparsedShard, inputs: readonly PlannedInput[]): PlannedShard => {
  const tensors = shard.tensors.map((tensor) => {
    const refuse = (reason: string) => refusePlan(`${shard.file}, tensor ${tensor.name}: ${reason}`);
    return parseTensor(tensor, inputs, refuse);
  });
  const parsed = { ...shard, tensors };
  const refuse = (reason: string) => refusePlan(`${shard.file}: ${reason}`);
  if (shard.verbatim !== undefined) checkVerbatim(parsed, shard.verbatim, inputs, refuse);
  checkLayout(parsed, refuse);
  checkFactors(parsed, refuse);
  checkQuantised(parsed, refuse);
  return parsed;
};

const parseTensor = (
  tensor: UnparsedTensor,
  inputs: readonly PlannedInput[],
  refuse: Refuse,
): PlannedTensor => {
  const { name, dtype, shape, begin, end, expression } = tensor;
  if (!name.isWellFormed() || name === '__metadata__') refuse('no tensor may have this name');
  const elements = elementCount(shape);
  if (elements === undefined || byteLength(dtype, elements) !== end - begin)
    return refuse('its range is not its shape’s');
  return {
    ...tensor,
    expression: parseExpression(expression, { name, dtype, shape, elements }, inputs, refuse),
  };
};

/** Checks that a shard planned as an input file has its length and tensor offsets. */
const checkVerbatim = (
  { bytes, tensors }: PlannedShard,
  { input, file }: NonNullable<PlannedShard['verbatim']>,
  inputs: readonly PlannedInput[],
  refuse: Refuse,
): void => {
  if (inputs[input]?.files[file]?.bytes !== bytes) refuse('it is not as long as the file that it is');
  for (const { name, begin, expression } of tensors) {
    const source = expression.kind === 'copy' ? expression.source : undefined;
    if (source?.input !== input || source.file !== file || source.begin !== begin)
      refuse(`tensor ${name} is not where the file that the shard is has it`);
  }
};

/** Checks that a matrix's two factors are in one shard, with the same sum, rank and dtype. */
const checkFactors = ({ tensors }: PlannedShard, refuse: Refuse): void => {
  const factors = tensors.flatMap(({ expression, dtype, shape }) =>
    expression.kind === 'factor'
      ? [{ ...expression, dtype, rank: shape[expression.side === 'left' ? 1 : 0] }]
      : [],
  );
  for (const [of, sides] of groupBy(factors, (factor) => factor.of)) {
    const alike = new Set(sides.map(({ side: _side, ...factor }) => JSON.stringify(factor)));
    const which = sides.map(({ side }) => side).sort();
    if (which.join() !== 'left,right' || alike.size !== 1)
      refuse(`${of} has no left and right factor of one matrix`);
  }
};

/** Checks that a matrix's codes and scales have the same blocks and source. */
const checkQuantised = ({ tensors }: PlannedShard, refuse: Refuse): void => {
  const parts = tensors.flatMap(({ expression }) => (expression.kind === 'quantise' ? [expression] : []));
  for (const [of, both] of groupBy(parts, (one) => one.of)) {
    const alike = new Set(both.map(({ part: _part, base: _base, ...matrix }) => JSON.stringify(matrix)));
    if (alike.size !== 1 || new Set(both.map(({ part }) => part)).size !== both.length)
      refuse(`${of} has no codes and scales of one matrix`);
  }
};

/** Checks that the parts of a tensor have the same dtype and shape, and together the tensor's size. */
const checkParts = (tensors: readonly PlannedTensor[], refuse: Refuse): void => {
  for (const [name, parts] of groupBy(tensors, nameInFile)) {
    const [{ dtype, part }] = parts as [PlannedTensor];
    if (part === undefined) continue;
    if (!name.isWellFormed() || name === '__metadata__') refuse('no tensor may have this name');
    const isAlike = (one: PlannedTensor) =>
      one.dtype === dtype && one.part?.shape.join() === part.shape.join();
    const elements = elementCount(part.shape);
    const bytes = parts.reduce((total, { begin, end }) => total + end - begin, 0);
    if (!parts.every(isAlike) || elements === undefined || byteLength(dtype, elements) !== bytes)
      refuse(`the parts of ${name} are not of its dtype and shape`);
  }
};

const checkLayout = ({ tensors, bytes, verbatim }: PlannedShard, refuse: Refuse): void => {
  checkParts(tensors, refuse);
  const header = writer.encodeHeader(tensorsInFile(tensors));
  if (header.length > writer.mostHeaderBytes) refuse('its header is longer than loaders read');
  let position = verbatim === undefined ? header.length : (tensors[0]?.begin ?? bytes);
  for (const { name, begin, end } of tensors) {
    if (begin !== position) refuse(`tensor ${name} does not begin where the one before it ends`);
    position = end;
  }
  if (position !== bytes) refuse('its tensors do not end where it does');
};
