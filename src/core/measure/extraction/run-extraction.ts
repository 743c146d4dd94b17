import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { version } from '../../base/files/version.js';
import { type Factors, factoriseMatrix } from '../../engine/compute/measures/factorise.js';
import type { InputFiles } from '../../engine/input-files.js';
import { hashOpenFile } from '../../engine/output/checksums.js';
import { orNoDirectories, withFile } from '../../engine/output/durable.js';
import { checkOutput } from '../../engine/output/output.js';
import { openStaging } from '../../engine/output/staging.js';
import { type Progress, Run, type RunControls } from '../../engine/run.js';
import { failureOf } from '../../engine/threads/errors.js';
import type { Factor } from '../../methods/operations/means/factor.js';
import { adapterWeightsName } from '../../models/adapters/peft-config.js';
import { factorNames, wholeName } from '../../models/adapters/tensor-names.js';
import { writer } from '../../models/checkpoint/containers/containers.js';
import { checkSpace } from '../../models/checkpoint/files/disk-space.js';
import type { Location } from '../../native/job.js';
import { sourcesOfOperand } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import type { Dtype } from '../../tensor/dtype.js';
import { bytesOfTensor, elementsOf } from '../../tensor/reference.js';
import { extractionMethod, writeAdapterFiles } from './adapter-files.js';
import type { Extraction, ExtractionResult } from './extraction.js';
import { loadedNames } from './loaded-name.js';
import { nonFiniteError, squaresOf } from './measure-changes.js';
import type { ExtractionPlan, PlannedFactors } from './plan-extraction.js';
import { lossOf, summarise } from './summarise.js';

export interface ExtractionOptions extends RunControls {
  /** Directory to create. */
  out: string;
  /** Replace an existing output of layerloom. Default false: throws OUTPUT_EXISTS. */
  force?: boolean | undefined;
}

/**
 * Extracts an adapter. The output appears whole or not at all.
 *
 * @throws an OUTPUT_… code, INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, WRITE_FAILED, DISK_SPACE,
 * MEMORY_NEEDED, NON_FINITE, NOTHING_TO_EXTRACT, INVALID_PARAMETER, INSTRUCTION_SET, INTERRUPTED
 */
export const runExtraction = (plan: ExtractionPlan, options: ExtractionOptions): Promise<ExtractionResult> =>
  orNoDirectories(() => extracted(plan, options));

const extracted = async (plan: ExtractionPlan, options: ExtractionOptions): Promise<ExtractionResult> => {
  await using run = new Run(options);
  const output = await checkOutput(plan, options.out, options.force ?? false);
  run.fitMemory(plan.factors.map(leftFactorOf));
  const sources = [
    ...plan.factors.flatMap(({ change }) => sourcesOfOperand(change)),
    ...plan.norms.flatMap(({ change }) => sourcesOfOperand(change)),
  ];
  const inputs = await run.open(plan.inputs, sources);
  const recipe = { base: plan.base.model, model: plan.expert.model, ...plan.wanted };
  const staged = { layerloom: version, method: extractionMethod, recipe, inputs: inputs.observed };
  const staging = await openStaging(output, { ...staged, shards: [], files: [] }, false);
  try {
    await checkSpace(dirname(output.path), output.path, 2 * mostBytes(plan));
    const scratchPath = join(staging.directory, 'factors');
    const scratch = await open(scratchPath, 'w+');
    let [extraction, bytes]: [Extraction | undefined, number] = [undefined, 0];
    try {
      const { factors, squares } = await measure(run, plan, inputs, scratch, scratchPath);
      const broken = [
        ...plan.factors.filter(({ name }) => valueAt(factors, name).nonFinite > 0),
        ...plan.norms.filter(({ name }) => !Number.isFinite(valueAt(squares, name))),
      ];
      if (broken.length > 0) throw await nonFiniteError(plan, broken, options);
      if ([...factors.values()].every(({ rank }) => rank === 0))
        throw new LayerloomError('NOTHING_TO_EXTRACT', {
          expert: plan.expert.checkpoint.path,
          base: plan.base.checkpoint.path,
          tensors: plan.factors.length,
        });
      extraction = summarise(plan, factors, squares);
      bytes = await assemble(
        run,
        plan,
        inputs,
        factors,
        scratch,
        join(staging.checkpoint, adapterWeightsName),
      );
    } finally {
      await scratch.close();
    }
    await inputs.verify();
    const weights = join(staging.checkpoint, adapterWeightsName);
    const sha256 = await withFile(weights, 'r', ({ fd }) => hashOpenFile(run.pool, weights, fd));
    const shards = [{ file: adapterWeightsName, bytes, ...(sha256 === undefined ? {} : { sha256 }) }];
    await writeAdapterFiles(plan, extraction, { ...staged, shards }, staging.checkpoint);
    run.pool.throwIfStopped();
    const warnings = await staging.commit();
    return {
      out: output.path,
      ...extraction,
      bytes,
      ...run.cost,
      warnings: [...plan.warnings, ...run.warnings, ...lossOf(extraction), ...staging.warnings, ...warnings],
    };
  } catch (error) {
    await staging.discard();
    throw run.reasonOf(error, { state: `nothing was written at ${output.path}`, out: output.path });
  }
};

const leftFactorOf = ({ name, shape, rank, base, expert }: PlannedFactors) => ({
  name,
  shape: [shape[0], rank],
  expression: {
    kind: 'factor',
    ...{ of: name, side: 'left', shape },
    terms: [
      { source: expert, coefficient: 1, weight: 1 },
      { source: base, coefficient: -1, weight: -1 },
    ],
  } satisfies Factor<Operand>,
});

const roomOf = ({ shape, rank, dtype }: PlannedFactors): { left: number; right: number } => ({
  left: bytesOfTensor(dtype, [shape[0], rank]),
  right: bytesOfTensor(dtype, [rank, shape[1]]),
});

const mostBytes = ({ factors, saved }: ExtractionPlan): number =>
  factors.map(roomOf).reduce((total, { left, right }) => total + left + right, 0) +
  saved.reduce((total, { dtype, shape }) => total + bytesOfTensor(dtype, shape), 0);

const roomsOf = (
  factors: readonly PlannedFactors[],
): ReadonlyMap<string, { left: number; right: number }> => {
  let position = 0;
  return new Map(
    factors.map((one) => {
      const { left, right } = roomOf(one);
      const room = { left: position, right: position + left };
      position += left + right;
      return [one.name, room] as const;
    }),
  );
};

const measure = async (
  run: Run,
  plan: ExtractionPlan,
  inputs: InputFiles,
  scratch: FileHandle,
  file: string,
): Promise<{ factors: Map<string, Factors>; squares: Map<string, number> }> => {
  const rooms = roomsOf(plan.factors);
  const [factors, squares] = [new Map<string, Factors>(), new Map<string, number>()];
  const bytesOf = (one: Parameters<typeof elementsOf>[0]) => 4 * elementsOf(one);
  const total = [...plan.factors, ...plan.norms].reduce((sum, { shape }) => sum + bytesOf(shape), 0);
  let done = 0;
  const { energy, seed } = plan.wanted;
  const tasks = [
    ...plan.factors.map((one) => ({
      elements: elementsOf(one.shape),
      run: async () => {
        const { name, shape, change, rank, dtype, transposed } = one;
        const room = valueAt(rooms, name);
        const at = (begin: number): Location => ({ fd: scratch.fd, begin });
        const target = { tensor: name, seed: String(seed), shape, matrix: change, rank, share: energy };
        const to = { dtype, transposed, left: at(room.left), right: at(room.right) };
        factors.set(name, await factoriseMatrix(run.pool, inputs, { ...target, ...to }, file));
        done += bytesOf(shape);
      },
    })),
    ...plan.norms.map((one) => ({
      elements: elementsOf(one.shape),
      run: async () => {
        squares.set(one.name, await squaresOf(run, inputs, one));
        done += bytesOf(one.shape);
      },
    })),
    // Largest matrices first, so that no thread ends with a large one.
  ].sort((a, b) => b.elements - a.elements);
  const progress = (): Progress => ({ phase: 'extraction', done, total });
  await run.reporting(progress, () => run.pool.eachInLanes(tasks, (task) => task.run()));
  return { factors, squares };
};

interface Piece {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly bytes: number;
  readonly source: Location;
  readonly from: string;
}

/** @returns the file's size in bytes */
const assemble = async (
  run: Run,
  plan: ExtractionPlan,
  inputs: InputFiles,
  factors: ReadonlyMap<string, Factors>,
  scratch: FileHandle,
  path: string,
): Promise<number> => {
  const rooms = roomsOf(plan.factors);
  const loaded = loadedNames(plan.expert.checkpoint.config);
  const piece = (
    name: string,
    dtype: Dtype,
    shape: readonly number[],
    source: Location,
    from: string,
  ): Piece => ({ name, dtype, shape, source, from, bytes: bytesOfTensor(dtype, shape) });
  const pieces = [
    ...plan.factors.flatMap(({ name, shape: [rows, columns], dtype, transposed, embedding }) => {
      const { rank } = valueAt(factors, name);
      if (rank === 0) return [];
      const names = factorNames(loaded(name.replace(/\.weight$/, '')), embedding);
      const at = (begin: number): Location => ({ fd: scratch.fd, begin });
      const { left, right } = valueAt(rooms, name);
      return transposed
        ? [
            piece(names.a, dtype, [rank, rows], at(left), name),
            piece(names.b, dtype, [columns, rank], at(right), name),
          ]
        : [
            piece(names.a, dtype, [rank, columns], at(right), name),
            piece(names.b, dtype, [rows, rank], at(left), name),
          ];
    }),
    ...plan.saved.map(({ name, dtype, shape, source }) =>
      piece(wholeName(loaded(name)), dtype, shape, { fd: inputs.fdOf(source), begin: source.begin }, name),
    ),
  ].sort(writer.compare);
  const header = writer.encodeHeader(pieces);
  const bytes = pieces.reduce((position, one) => position + one.bytes, header.length);
  await withFile(path, 'w+', async (file) => {
    await file.truncate(bytes);
    await file.writeFile(header);
    let begin = header.length;
    const jobs = pieces.map((one) => {
      const to = { fd: file.fd, begin };
      begin += one.bytes;
      return { kind: 'copy', source: one.source, to, first: 0, count: one.bytes } as const;
    });
    const result = await run.pool.run(jobs);
    if (!result.ok) {
      const { from, dtype } = itemAt(pieces, result.job);
      const inputOf = plan.saved.find(({ name }) => name === from);
      const files = [inputOf === undefined ? path : inputs.pathOf(inputOf.source)];
      throw failureOf(result.status, { tensor: from, dtype, file: path }, files);
    }
    await file.sync();
  });
  return bytes;
};
