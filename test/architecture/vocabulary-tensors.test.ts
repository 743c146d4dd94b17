import { describe, expect, it } from 'vitest';
import { describeArchitecture } from '../../src/core/models/architecture/architecture.js';
import { vocabularyTensors } from '../../src/core/models/architecture/vocabulary-tensors.js';
import type { CheckpointIndex } from '../../src/core/models/checkpoint/checkpoint.js';

const rowsIn = (type: string, shapes: Readonly<Record<string, readonly number[]>>) => {
  const tensors = new Map(
    Object.entries(shapes).map(([name, shape]) => [name, { name, dtype: 'F32', shape }]),
  );
  const checkpoint = {
    path: 'm',
    name: 'm',
    config: { model_type: type },
    tensors,
    sideFiles: [],
    warnings: [],
  };
  const found = checkpoint as unknown as CheckpointIndex;
  return vocabularyTensors(found, describeArchitecture(found));
};

describe('tensors of the vocabulary', () => {
  it.each([
    ['albert', 'albert.embeddings.word_embeddings.weight', 'predictions.bias'],
    ['xlm', 'transformer.embeddings.weight', 'pred_layer.proj.bias'],
  ])('include the bias of %s’s head, though no list has its name', (type, embeddings, bias) => {
    const found = rowsIn(type, { [embeddings]: [33, 16], [bias]: [33], 'predictions.dense.bias': [16] });
    expect(found).toEqual({ rows: 33, names: new Set([embeddings, bias]), unmovable: [] });
  });

  it('cannot be moved where tokens are columns', () => {
    const embeddings = 'mobilebert.embeddings.word_embeddings.weight';
    const columns = 'cls.predictions.dense.weight';
    const found = rowsIn('mobilebert', { [embeddings]: [33, 16], [columns]: [8, 33] });
    expect(found).toEqual({ rows: 33, names: new Set([embeddings]), unmovable: [columns] });
  });

  it('are not guessed by a length that is also the width', () => {
    const embeddings = 'albert.embeddings.word_embeddings.weight';
    const found = rowsIn('albert', { [embeddings]: [16, 16], 'predictions.LayerNorm.bias': [16] });
    expect(found).toEqual({ rows: 16, names: new Set([embeddings]), unmovable: [] });
  });
});
