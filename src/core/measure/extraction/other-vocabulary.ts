import { valueAt } from '../../base/errors/lookup.js';
import { vocabularyEdits } from '../../models/checkpoint/config/token-ids.js';
import type { Model } from '../../plan/compile/inputs/compatible.js';

/** Returns embeddings and heads that have more rows than the base's, for added tokens. */
export const resizedIn = (base: Model, { checkpoint, architecture }: Model): readonly string[] =>
  [...checkpoint.tensors].flatMap(
    ([
      name,
      {
        shape: [rows, ...width],
      },
    ]) => {
      const role = architecture.places.get(name)?.role;
      const [before, ...widthBefore] = base.checkpoint.tensors.get(name)?.shape ?? [];
      const isResized =
        (role === 'embedding' || role === 'head') &&
        width.length === 1 &&
        width.join() === widthBefore.join() &&
        rows !== before;
      return isResized ? [name] : [];
    },
  );

/** Gives embeddings and heads the expert's shapes, so that the rest can be compared. */
export const withShapesOf = <Base extends Model>(
  base: Base,
  { checkpoint: { tensors } }: Model,
  resized: readonly string[],
): Base => {
  const { checkpoint } = base;
  const shapeOf = (of: typeof tensors, name: string) => valueAt(of, name).shape;
  const [first = ''] = resized;
  const [[from = 0], [to = 0]] = [shapeOf(checkpoint.tensors, first), shapeOf(tensors, first)];
  const { config } = checkpoint;
  return {
    ...base,
    checkpoint: {
      ...checkpoint,
      tensors: new Map([
        ...checkpoint.tensors,
        ...resized.map((name) => {
          const reference = valueAt(checkpoint.tensors, name);
          return [name, { ...reference, shape: shapeOf(tensors, name) }] as const;
        }),
      ]),
      config: config && { ...config, ...vocabularyEdits(config, { from, to, idOf: (id) => id }) },
    },
  };
};
